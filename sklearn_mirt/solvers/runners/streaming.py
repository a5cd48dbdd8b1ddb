"""Blocks that are read anew in each pass, and states that live with their blocks."""

import itertools
import weakref
from operator import iadd
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import ScratchFolder
from sklearn_mirt.solvers.runners.threads import LocalRunner, loaded, runs

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

        def add_up(run):
            kept, total = [], None
            for block, state in run:
                state, part = function(loaded(block), opened(state), *shared)
                kept.append(self._keep(state))
                total = part if total is None else iadd(total, part)
            return kept, total

        pairs = runs(list(zip(blocks, states, strict=True)), self.n_runs)
        kept, total = [], None
        for states_of_run, part in self._map(add_up, pairs):
            kept += states_of_run
            total = part if total is None else iadd(total, part)
        return kept, total

    def store(self, states, folder):
        """Write the states to a folder; return their :class:`StateFile` each."""

        def write(numbered):
            return write_state(folder, *numbered)

        return list(self._map(write, list(enumerate(states))))

    def _keep(self, state):
        if self._states is None or state is None:
            return state
        path = Path(self._states.name) / f"{next(self._count)}.npz"
        return _Scratch.write(state, path).keep(self._states)


class StateFile:
    """A state on disk.

    Parameters
    ----------
    kind : type
        Class of the state; its attributes are arrays.
    path : Path
    """

    def __init__(self, kind, path):
        self._kind, self.path = kind, Path(path)

    @classmethod
    def write(cls, state, path):
        """Write a state."""
        with open(path, "wb") as file:
            np.savez(file, **vars(state))
        return cls(type(state), path)

    def load(self):
        """Return the state."""
        with np.load(self.path) as arrays:
            return self._kind(**arrays)

    def moved(self, folder):
        """Return the same file after its folder got another name."""
        return StateFile(self._kind, Path(folder) / self.path.name)


class _Scratch(StateFile):
    """A state on disk that goes with the last reference to it."""

    def keep(self, folder):
        self._folder = folder  # it must not go before its last file
        weakref.finalize(self, Path.unlink, self.path, missing_ok=True)
        return self


def write_state(folder, number, state):
    """Write one of the states of a folder; return its StateFile."""
    return StateFile.write(opened(state), Path(folder) / f"state-{number:05d}.npz")


def opened(state):
    """Return a state, read if it is a file."""
    return state.load() if isinstance(state, StateFile) else state
