"""Fewer passes: squared extrapolation of what is small, the abilities and the prior.

After two passes x0 -> x1 -> x2 the fit jumps to

    x0 + 2 s (x1 - x0) + s^2 v,    v = x2 - 2 x1 + x0,    s = |x1 - x0| / |v|

(Varadhan & Roland 2008, Scandinavian Journal of Statistics 35, scheme S3), from where a
pass brings the items along. The slow directions of the fit are those of the learned
prior and of the abilities, so nothing of the size of the items has to be extrapolated.

Tried on real matrices and no better: Anderson's combination of 5 or 10 passes, a step
length for each of the two parts, logarithms of the prior's covariances, and a start
from a fit to every fourth item.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_mirt.models.priors import GroupPrior

_FIRST_LIMIT = 4.0


@dataclass(eq=False)
class Extrapolation:
    """Proposes jumps and remembers where to return to.

    Parameters
    ----------
    landing : FitState or None
        State that the last jump left, until its success is known.
    points : list of ndarray
        What is extrapolated, of the states since the last jump.
    limit : float
        Largest length of a jump.
    at_limit : bool
        Whether the last jump was of this length.
    """

    landing: Any = None
    points: list = field(default_factory=list)
    limit: float = _FIRST_LIMIT
    at_limit: bool = False

    def touch_down(self, state):
        """Count from `state`, the first after a jump, if the jump proves good."""
        self.points = [_vector(state)]

    def propose(self, state):
        """Return a jump from `state` after every second plain pass, else `state`."""
        if self.landing is not None:  # the last jump has gained
            self.landing = None
            if self.at_limit:
                self.limit *= 2
        self.points.append(_vector(state))
        if len(self.points) < 3:
            return state
        x0, x1, x2 = self.points
        self.points = []
        step, turn = x1 - x0, x2 - 2 * x1 + x0
        length = float(np.linalg.norm(step)) / max(float(np.linalg.norm(turn)), 1e-300)
        length = min(length, self.limit)
        if length <= 1:
            return state
        jumped = _moved(state, x0 + 2 * length * step + length**2 * turn)
        if jumped is None:
            return state
        self.at_limit = length == self.limit
        self.landing = state
        return jumped

    def undo(self):
        """Return the state before the last jump, and be more careful."""
        state, self.landing = self.landing, None
        self.limit = max(self.limit / 2, 2.0)
        self.points = []
        return state

    def copy(self):
        """Return an extrapolation that stays when this one changes."""
        return replace(self, points=list(self.points))


def _vector(state):
    parts = (state.mean, state.prior.means, state.prior.covariances)
    return np.concatenate([part.ravel() for part in parts])


def _moved(state, vector):
    """State with the abilities and prior of `vector`; None if that is no prior."""
    parts, start = [], 0
    for part in (state.mean, state.prior.means, state.prior.covariances):
        parts.append(vector[start : start + part.size].reshape(part.shape))
        start += part.size
    mean, prior = parts[0], GroupPrior(*parts[1:])
    if np.linalg.eigvalsh(prior.covariances).min() < 1e-5:
        return None
    return replace(state, mean=mean, prior=prior, jumped=True, divergence=np.inf)
