"""Where blocks run: a function of one block, mapped over blocks and summed in order."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

RUNS = 64  # enough for any number of cores to share evenly


def dask_client():
    """Return the client of joblib's Dask backend where that is active, else None."""
    return getattr(get_active_backend()[0], "client", None)


def n_threads(n_jobs):
    """Return joblib's number of jobs, as threads of this process.

    Its Dask backend counts the workers of a cluster; None is then one thread, on the
    workers too.
    """
    if n_jobs is None and dask_client() is not None:
        return 1
    return effective_n_jobs(n_jobs)


def runs(blocks, most=RUNS):
    """Return at most `most` runs of neighbouring blocks: the tree that sums follow."""
    edges = [len(blocks) * k // most for k in range(most + 1)]
    return [blocks[a:b] for a, b in pairwise(edges) if a < b]


class LocalRunner:
    """Threads of this process; the block functions release the GIL.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, as in joblib: None is 1 unless in a
        ``joblib.parallel_config``, -1 all cores. It changes the time, never the result.
    """

    def __init__(self, n_jobs=None):
        self.n_jobs = n_threads(n_jobs)
        self._pool = None

    @contextmanager
    def running(self):
        """Hold the threads, and BLAS at one thread inside each of them."""
        with threadpool_limits(limits=1, user_api="blas"):
            if self.n_jobs == 1:
                yield self
                return
            with ThreadPoolExecutor(self.n_jobs) as self._pool:
                try:
                    yield self
                finally:
                    self._pool = None

    def map(self, function, blocks, *shared):
        """Yield function(block, *shared) for each block, in order."""
        if self._pool is None or len(blocks) == 1:
            return (function(block, *shared) for block in blocks)
        return self._pool.map(lambda block: function(block, *shared), blocks)

    def map_reduce(self, function, blocks, *shared):
        """Return the sum of function(block, *shared) over blocks.

        Each of at most 64 runs of neighbouring blocks is added up where it is computed,
        in place, and the sums of the runs in their order: the result depends on the
        blocks only, few results wait for their turn, and threads meet seldom.
        """

        def add_up(run):
            total = function(run[0], *shared)
            for block in run[1:]:
                total += function(block, *shared)
            return total

        parts = self.map(add_up, runs(blocks))
        total = next(parts)
        for part in parts:
            total += part
        return total
