"""Where replicates run: in threads, or on the workers of a Dask cluster."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from threadpoolctl import threadpool_limits

from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.solvers.runners.threads import dask_client, n_threads


def finished_in_order(function, tasks, n_jobs, progress=None):
    """Return function(task) of each task; after an interruption, of the first ones.

    Threads, as the work releases the interpreter's lock; or the workers of a cluster,
    where joblib's Dask backend is active.
    """
    done = []
    try:
        with _submitting(function, n_jobs) as submit:
            for result in [submit(task) for task in tasks]:
                done.append(result.result())
                if progress is not None:
                    progress(len(done), len(tasks))
    except KeyboardInterrupt:
        if len(done) < 3:
            raise
        warnings.warn(
            f"Interrupted: {len(done)} of {len(tasks)} replicates are kept",
            ResponseDataWarning,
            stacklevel=4,
        )
    return done


@contextmanager
def _submitting(function, n_jobs):
    """Yield a function that takes a task and returns the future of its result."""
    client = dask_client()
    if client is not None:
        # once to each worker, with the data that it refits
        sent = client.scatter([function], broadcast=True, hash=False)[0]
        yield lambda task: client.submit(_on_worker, sent, task, pure=False)
        return
    with threadpool_limits(limits=1, user_api="blas"):
        pool = ThreadPoolExecutor(n_threads(n_jobs))
        try:
            yield partial(pool.submit, function)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _on_worker(function, task):
    with threadpool_limits(limits=1, user_api="blas"):
        return function(task)
