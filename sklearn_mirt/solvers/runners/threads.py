"""Where blocks run: a function of one block, mapped over blocks and summed in order."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from itertools import pairwise
from operator import iadd

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
    n_runs : int, default=64
        Runs of neighbouring blocks that are added up by one thread.
    """

    def __init__(self, n_jobs=None, n_runs=RUNS):
        self.n_jobs, self.n_runs = n_threads(n_jobs), n_runs
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

    def map_reduce(self, function, blocks, *shared):
        """Return the sum of function(block, *shared) over blocks, opened if need be.

        Each of the runs of neighbouring blocks is added up where it is computed, in
        place, and the sums of the runs in their order: the result depends on the blocks
        only, few results wait for their turn, and threads meet seldom.
        """
        return self._add_up(lambda block: function(loaded(block), *shared), blocks)

    def _add_up(self, compute, blocks, add=iadd):
        """Return the sum of compute(block) over runs of blocks; `add` is in place."""

        def of_run(run):
            return reduce(add, map(compute, run))

        return reduce(add, self._map(of_run, runs(blocks, self.n_runs)))

    def _map(self, function, parts):
        """Yield function(part) for each part, in order."""
        if self._pool is None or len(parts) == 1:
            return map(function, parts)
        return self._pool.map(function, parts)


def loaded(block):
    """Return a block, read if it is a file."""
    return block.load() if hasattr(block, "load") else block
