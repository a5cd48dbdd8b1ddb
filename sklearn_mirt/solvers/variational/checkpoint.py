"""A fit of shards on disk, from which it goes on as if it had never stopped.

The folder holds `checkpoint.npz`, all that is of the size of the items, and beside it
one folder of ability files for each state that it speaks of. It is replaced in one
step, after what it speaks of has been written.
"""

import copy
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import replacing, whole_folder
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.solvers.variational.acceleration import Extrapolation
from sklearn_mirt.solvers.variational.solver import Loop

FILE = "checkpoint.npz"
SECONDS = 60.0  # between two checkpoints: what a crash may cost

_STATE = ("inverse", "center", "mean", "covariance", "divergence", "jumped")


class Checkpoint:
    """Saves a fit of shards and sets it going again.

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

    def watch(self, fit):
        """Remember where the fit stands, and save it from time to time."""
        loop = copy.copy(fit.loop)
        if loop.jumps is not None:
            landing = loop.jumps.landing
            loop.jumps = copy.deepcopy(loop.jumps, {id(landing): landing})
        self._seen = fit.state, loop, list(fit.trace)
        if time.monotonic() - self._last >= SECONDS:
            self.save(fit)

    def save(self, fit):
        """Save the fit as it was last watched."""
        if self._seen is None:
            return
        state, loop, trace = self._seen
        stored: dict[int, str] = {}
        state = self._store(state, fit.runner, stored)
        loop.kept = self._store(loop.kept, fit.runner, stored)
        told = {"about": self._about, "trace": trace, "n_iter": loop.n_iter}
        told["learn_prior"] = loop.learn_prior
        if loop.jumps is not None:
            loop.jumps.landing = self._store(loop.jumps.landing, fit.runner, stored)
            told |= {f"jumps_{k}": v for k, v in loop.jumps.memory().items()}
            told |= _told("landing", loop.jumps.landing)
        told |= _told("state", state) | _told("kept", loop.kept)
        with replacing(self._file, force=True) as scratch:
            with open(scratch, "wb") as file:
                np.savez(file, **told)
        for folder in self.folder.glob("*abilities-*"):
            if folder.name not in stored.values():
                shutil.rmtree(folder)
        # what is in files need not be computed again when a worker is lost
        fit.state, fit.loop.kept = state, loop.kept
        if loop.jumps is not None:
            fit.loop.jumps.landing = loop.jumps.landing
        self._last = time.monotonic()

    def _store(self, state, runner, stored):
        """Return the state with its abilities in files of this folder."""
        if state is None:
            return None
        first = state.abilities[0]
        if getattr(first, "path", Path()).parent.parent == self.folder:
            stored[id(state.abilities)] = first.path.parent.name
            return state
        name = f"abilities-{time.time_ns()}-{self._count}"
        self._count += 1
        with whole_folder(self.folder / name) as folder:
            files = runner.store(state.abilities, folder)
        files = [file.moved(self.folder / name) for file in files]
        stored[id(files)] = name
        return replace(state, abilities=files)

    def load(self, fit, state_type, ability_type):
        """Set the fit going where it was saved; return whether it was.

        Raises
        ------
        ValueError
            What was saved is another fit.
        """
        from sklearn_mirt.solvers.runners.streaming import StateFile

        if not self._file.exists():
            return False
        with np.load(self._file) as told:
            if str(told["about"]) != self._about:
                raise ValueError(
                    f"{self._file} is of another fit: {told['about']}, not "
                    f"{self._about}; give another checkpoint_dir or remove it"
                )

            def state(role):
                if f"{role}_abilities" not in told:
                    return None
                files = [
                    StateFile(ability_type, self.folder / str(name))
                    for name in told[f"{role}_abilities"]
                ]
                parts = {name: told[f"{role}_{name}"] for name in _STATE}
                parts |= {n: parts[n].item() for n in ("divergence", "jumped")}
                prior = GroupPrior(told[f"{role}_means"], told[f"{role}_covariances"])
                return state_type(abilities=files, prior=prior, **parts)

            jumps = None
            if "jumps_limit" in told:
                names = [name for name in told if name.startswith("jumps_")]
                jumps = Extrapolation.recalled(
                    {n.removeprefix("jumps_"): told[n] for n in names}
                )
                jumps.landing = state("landing")
            fit.state = state("state")
            fit.trace = told["trace"].tolist()
            fit.loop = Loop(
                jumps, int(told["n_iter"]), state("kept"), bool(told["learn_prior"])
            )
        return True


def _told(role, state):
    """Arrays of a state, under names that begin with its role."""
    if state is None:
        return {}
    parts = {name: getattr(state, name) for name in _STATE}
    parts |= {"means": state.prior.means, "covariances": state.prior.covariances}
    parts["abilities"] = [
        f"{file.path.parent.name}/{file.path.name}" for file in state.abilities
    ]
    return {f"{role}_{name}": part for name, part in parts.items()}
