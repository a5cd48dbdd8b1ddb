"""Blocks that are read in each pass, and states that are kept with their blocks."""

import itertools
import weakref
from operator import iadd
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import ScratchFolder
from sklearn_mirt.solvers.runners.threads import LocalRunner, loaded

SHARD_RUNS = 16  # of shards: as many sums leave a cluster in a pass


class StreamingRunner(LocalRunner):
    """Threads of this process over blocks that are opened one at a time.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, each with one open block.
    scratch : path-like, default=None
        Folder in which a folder is made for the states of the blocks; None keeps the
        states in memory.
    n_runs : int, default=16
        Runs of neighbouring blocks that are added up by one thread.
    """

    bytes_sent = bytes_received = 0  # to and from other processes

    def __init__(self, n_jobs=None, scratch=None, n_runs=SHARD_RUNS):
        super().__init__(n_jobs, n_runs)
        self._states = None
        if scratch is not None:
            self._states = ScratchFolder(".states-", scratch)
        self._count = itertools.count()

    def persist(self, blocks):
        """Return the blocks as they are: they are opened when they are needed."""
        return list(blocks)

    def sweep(self, function, blocks, states, *shared):
        """Return new states of the blocks, and a sum over blocks.

        Parameters
        ----------
        function : callable
            function(block, state, *shared) returns a new state and what is summed.
        blocks, states : list
            Blocks, opened by their method `load` if they have one, and one state, or
            None, for each.

        Returns
        -------
        states : list
            What the next sweep takes as its states.
        total : object
            Sum in the order of :meth:`map_reduce`.
        """

        def compute(pair):
            block, state = pair
            state, part = function(loaded(block), opened(state), *shared)
            return [self._keep(state)], part

        pairs = list(zip(blocks, states, strict=True))
        return self._add_up(compute, pairs, _add_pairs)

    def store(self, states, folder):
        """Write the states to a folder; return their :class:`StateFile` each."""
        numbered = list(enumerate(states))
        return list(self._map(lambda pair: write_state(folder, *pair), numbered))

    def _keep(self, state):
        if self._states is None or state is None:
            return state
        path = Path(self._states.name) / f"{next(self._count)}.npz"
        return _Scratch.write(state, path).keep(self._states)


class StateFile:
    """A state on disk.

    Parameters
    ----------
    state_type : type
        Class of the state; its attributes are arrays.
    path : Path
    """

    def __init__(self, state_type, path):
        self._type, self.path = state_type, Path(path)

    @classmethod
    def write(cls, state, path):
        """Write a state."""
        with open(path, "wb") as file:
            np.savez(file, **vars(state))
        return cls(type(state), path)

    def load(self):
        """Return the state."""
        with np.load(self.path) as arrays:
            return self._type(**arrays)

    def moved(self, folder):
        """Return the same file after its folder got another name."""
        return StateFile(self._type, Path(folder) / self.path.name)


class _Scratch(StateFile):
    """A state on disk that goes with the last reference to it."""

    def keep(self, folder):
        self._folder = folder  # it must not go before its last file
        weakref.finalize(self, Path.unlink, self.path, missing_ok=True)
        return self


def _add_pairs(total, pair):
    return iadd(total[0], pair[0]), iadd(total[1], pair[1])


def write_state(folder, number, state):
    """Write one of the states of a folder; return its StateFile."""
    return StateFile.write(opened(state), Path(folder) / f"state-{number:05d}.npz")


def opened(state):
    """Return a state, read if it is a file."""
    return state.load() if isinstance(state, StateFile) else state
