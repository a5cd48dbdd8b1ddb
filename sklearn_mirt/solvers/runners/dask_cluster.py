"""Blocks on the workers of a Dask cluster; only sums and small tables travel."""

import asyncio
import copy
import operator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache, reduce
from pathlib import Path

from threadpoolctl import ThreadpoolController

from sklearn_mirt.solvers.runners.streaming import SHARD_RUNS, opened, write_state
from sklearn_mirt.solvers.runners.threads import loaded, runs


class DaskRunner:
    """A ShardRunner over a Dask cluster, with the sums of the local ones.

    Blocks are loaded once, each by one worker, neighbours by the same, and stay there,
    as do the states that belong to them. What a sweep needs, `shared`, is a task of the
    graph: whatever a lost worker held is computed again from the blocks' files and
    those tasks, to the same bytes.

    Parameters
    ----------
    client : distributed.Client
    n_runs : int
        Runs of neighbouring blocks that are added up before they leave the cluster.

    Attributes
    ----------
    bytes_sent, bytes_received : int
        What was shared with each worker, times workers, and sums that came back.
    """

    def __init__(self, client, n_runs=SHARD_RUNS):
        self.client, self.n_runs = client, n_runs
        self.bytes_sent = self.bytes_received = 0

    @contextmanager
    def running(self):
        """Say so where the cluster is lost.

        Raises
        ------
        ConnectionError
            The scheduler no longer answers.
        """
        try:
            yield self
        except (asyncio.CancelledError, CancelledError, Exception) as error:
            cancelled = isinstance(error, asyncio.CancelledError | CancelledError)
            if not cancelled and self.client.status == "running":
                raise
            raise ConnectionError(
                "The Dask cluster was lost: its scheduler no longer answers"
            ) from error

    def persist(self, blocks):
        """Return futures of the blocks, loaded by the workers, neighbours by one."""
        workers = sorted(self.client.nthreads())
        if not workers:
            raise RuntimeError("The Dask cluster has no workers")
        parts = [
            self._map(loaded, part, workers=[worker], allow_other_workers=True)
            for worker, part in zip(workers, runs(blocks, len(workers)), strict=False)
        ]
        self._unpin(parts)
        return [future for part in parts for future in part]

    def _unpin(self, parts):
        """Let blocks that are lost be loaded anywhere.

        `allow_other_workers` is not enough: where all workers are lost at once, the
        scheduler offers blocks to the workers they were meant for only, which never
        come back, and waits for ever.
        """
        from distributed import wait

        wait([part[0] for part in parts])  # the scheduler knows of all the others, too
        keys = [future.key for part in parts for future in part]
        self.client.sync(
            self.client.scheduler.set_restrictions, worker=dict.fromkeys(keys, ())
        )

    def map_reduce(self, function, blocks, *shared):
        """Return the sum of function(block, *shared), in the order of `runs`."""
        functions, shared = [function] * len(blocks), self._share(shared)
        return self._add_up(self._map(_compute, functions, blocks, shared=shared))

    def sweep(self, function, blocks, states, *shared):
        """Return futures of new states, and a sum; as StreamingRunner does."""
        functions, shared = [function] * len(blocks), self._share(shared)
        pairs = self._map(_compute, functions, blocks, states, shared=shared)
        states = self._map(operator.itemgetter(0), pairs)
        return states, self._add_up(self._map(operator.itemgetter(1), pairs))

    def store(self, states, folder):
        """Write the states to a folder; return their :class:`StateFile` each."""
        folders, numbers = [Path(folder)] * len(states), range(len(states))
        return self.client.gather(self._map(write_state, folders, numbers, states))

    def _map(self, function, *values, **options):
        return self.client.map(function, *values, pure=False, **options)

    def _share(self, shared):
        self.bytes_sent += _nbytes(shared) * len(self.client.nthreads())
        return self.client.submit(_same, shared, pure=False)

    def _add_up(self, futures):
        parts = [
            run[0] if len(run) == 1 else self.client.submit(_sum, run, pure=False)
            for run in runs(futures, self.n_runs)
        ]
        parts = self.client.gather(parts)
        self.bytes_received += sum(_nbytes([part]) for part in parts)
        return _sum(parts)


@cache
def _libraries():
    return ThreadpoolController()  # finding them takes milliseconds


def _same(shared):
    return shared


def _compute(function, block, *state, shared):
    with _libraries().limit(limits=1, user_api="blas"):
        return function(loaded(block), *map(opened, state), *shared)


def _sum(parts):
    """Add in order, to a copy: the parts may be needed again."""
    return reduce(operator.iadd, parts[1:], copy.deepcopy(parts[0]))


def _nbytes(values):
    """Bytes of the arrays in values and their attributes."""
    total = 0
    for value in values:
        parts = [value, *getattr(value, "__dict__", {}).values()]
        total += sum(getattr(part, "nbytes", 0) for part in parts)
    return total
