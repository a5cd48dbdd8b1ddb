"""A fit of shards on disk, from which it continues as if it had never stopped.

The folder holds `checkpoint.npz`, all that is of the size of the items, and beside it
one folder of ability files for each state in it. It is replaced in one step, after
these files have been written.
"""

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import replacing, whole_folder
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.solvers.kernels.respondent_blocks import AbilityState
from sklearn_mirt.solvers.runners.streaming import StateFile
from sklearn_mirt.solvers.variational.acceleration import Extrapolation
from sklearn_mirt.solvers.variational.by_respondents import RespondentFitState
from sklearn_mirt.solvers.variational.loop import Position

FILE = "checkpoint.npz"
SECONDS = 60.0  # between two checkpoints: what a crash may cost

_OF_STATE = ("inverse", "center", "mean", "covariance", "divergence", "jumped")


class Checkpoint:
    """Saves a fit of shards, and lets another one continue from there.

    Parameters
    ----------
    folder : path-like
        Made where it does not exist. With Dask, all workers must see it.
    about : dict
        What a fit must have in common with the one that was saved; JSON.
    """

    def __init__(self, folder, about):
        self.folder = Path(folder).absolute()
        self._about = json.dumps(about, sort_keys=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = self.folder / FILE
        self._last = time.monotonic()
        self._count, self._seen = 0, None

    def watch(self, ascent):
        """Remember where a fit stands before a pass, and save it from time to time."""
        self._seen = ascent.fit.state, ascent.position.copy()
        if time.monotonic() - self._last >= SECONDS:
            self.save(ascent)

    def save(self, ascent):
        """Save the fit as it was last watched."""
        if self._seen is None:
            return
        state, position = self._seen
        runner, stored = ascent.fit.problem.runner, dict[int, list]()
        state = self._store(state, runner, stored)
        position.kept = self._store(position.kept, runner, stored)
        arrays = {"about": self._about, "trace": position.trace}
        arrays |= {"n_iter": position.n_iter, "learn_prior": position.learn_prior}
        arrays |= _arrays_of("state", state) | _arrays_of("kept", position.kept)
        if jumps := position.jumps:
            jumps.landing = self._store(jumps.landing, runner, stored)
            arrays |= _arrays_of("landing", jumps.landing)
            parts = {"points": jumps.points, "limit": jumps.limit}
            parts["at_limit"] = jumps.at_limit
            arrays |= {f"jumps_{name}": part for name, part in parts.items()}
        with replacing(self._file, force=True) as scratch:
            with open(scratch, "wb") as file:
                np.savez(file, **arrays)
        in_use = {files[0].path.parent for files in stored.values()}
        for folder in set(self.folder.glob("*abilities-*")) - in_use:
            shutil.rmtree(folder)
        # what is in files need not be computed again when a worker is lost
        self._seen = state, position
        ascent.fit.state, ascent.position = state, position.copy()
        self._last = time.monotonic()

    def _store(self, state, runner, stored):
        """Return the state with its abilities in files of this folder.

        `stored` has the files of lists of abilities that other states share, by id.
        """
        if state is None:
            return None
        files = stored.get(id(state.abilities), state.abilities)
        if getattr(files[0], "path", Path()).parent.parent != self.folder:
            place = self.folder / f"abilities-{time.time_ns()}-{self._count}"
            self._count += 1
            with whole_folder(place) as folder:
                files = runner.store(files, folder)
            files = [file.moved(place) for file in files]
        stored[id(state.abilities)] = files
        return replace(state, abilities=files)

    def load(self, ascent):
        """Set a fit where another was saved; return whether it was.

        Raises
        ------
        ValueError
            What was saved is another fit.
        """
        if not self._file.exists():
            return False
        with np.load(self._file) as file:
            arrays = {name: x if x.ndim else x.item() for name, x in file.items()}
        if arrays["about"] != self._about:
            raise ValueError(
                f"{self._file} is of another fit: {arrays['about']}, not "
                f"{self._about}; give another checkpoint_dir or remove it"
            )
        jumps = None
        if parts := _part("jumps", arrays):
            landing, points = self._state_of("landing", arrays), parts.pop("points")
            jumps = Extrapolation(landing, list(points), **parts)
        ascent.fit.state = self._state_of("state", arrays)
        ascent.position = Position(
            jumps,
            arrays["n_iter"],
            self._state_of("kept", arrays),
            arrays["learn_prior"],
            arrays["trace"].tolist(),
        )
        return True

    def _state_of(self, role, arrays):
        """Return the state in one role; None where there was none."""
        parts = _part(role, arrays)
        if not parts:
            return None
        prior = GroupPrior(parts.pop("means"), parts.pop("covariances"))
        places = [self.folder / name for name in parts.pop("abilities")]
        files = [StateFile(AbilityState, place) for place in places]
        return RespondentFitState(abilities=files, prior=prior, **parts)


def _arrays_of(role, state):
    """Return the arrays of a state, under names that begin with its role."""
    if state is None:
        return {}
    parts = {name: getattr(state, name) for name in _OF_STATE}
    parts |= {"means": state.prior.means, "covariances": state.prior.covariances}
    parts["abilities"] = [
        f"{file.path.parent.name}/{file.path.name}" for file in state.abilities
    ]
    return {f"{role}_{name}": part for name, part in parts.items()}


def _part(role, arrays):
    """Return the arrays whose names begin with a role, without it."""
    start = f"{role}_"
    return {n.removeprefix(start): v for n, v in arrays.items() if n.startswith(start)}
