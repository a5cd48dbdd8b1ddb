"""The way up: passes of a fit until its bound settles.

The bound of a state becomes known during the next pass. Two steps are not an exact
ascent: a jump of the acceleration, and the empirical-Bayes step, which is shrunk. When
the bound falls, the fit returns to the state before.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from sklearn_mirt.solvers.base import Fit
from sklearn_mirt.solvers.variational.acceleration import Extrapolation

_NEAR = 1e-4  # gain, in nats per answer, after which a fall means the summit


class Outcome(Enum):
    """What a pass has found about the state before it."""

    BEGAN = "the first state: the items do not know any answer yet"
    LANDED = "a state after a jump: its bound is not known"
    ROSE = "a bound above the last one"
    SETTLED = "a bound above the last one by less than the tolerance"
    RETURNED = "the last jump has lost: the fit is back where it jumped from"
    HELD = "the bound fell: the fit is back, and the prior is held from now on"
    SUMMIT = "the bound fell near the summit: the fit is back there and ends"


@dataclass(eq=False)
class Position:
    """Where a fit stands on its way, besides its state.

    Parameters
    ----------
    jumps : Extrapolation or None
        None where passes are not extrapolated, or no longer.
    n_iter : int
        Number of passes so far.
    kept : FitState or None
        State of the last bound in the trace, to which a fit returns.
    learn_prior : bool
        Whether passes estimate the prior. With the prior held every step is an exact
        ascent.
    trace : list of float
        Bounds, from the first state that knows the answers.
    """

    jumps: Extrapolation | None = None
    n_iter: int = 0
    kept: Any = None
    learn_prior: bool = True
    trace: list[float] = field(default_factory=list)

    def copy(self):
        """Return a position that stays when this one changes."""
        jumps = self.jumps and self.jumps.copy()
        return replace(self, jumps=jumps, trace=list(self.trace))

    def last_gain(self):
        """Return the last step of the trace; infinite where there is none."""
        return self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else np.inf

    def falls(self, bound):
        """Return whether a bound is below the last one."""
        return bool(self.trace) and bound < self.trace[-1]


@dataclass(eq=False)
class Ascent:
    """Drives a fit up to its summit.

    Parameters
    ----------
    fit : Fit
        Its state is the first one.
    max_iter : int
        Largest number of passes.
    tol : float
        Stop when a pass raises the bound by less, in nats per answer.
    plain_passes : int or inf
        Passes before the first jump; infinite for none.
    callback : callable, default=None
        Called as ``callback(n, bound)`` with each bound of the trace.
    before_pass : callable, default=None
        Called as ``before_pass(ascent)``.
    """

    fit: Fit
    max_iter: int
    tol: float
    plain_passes: float = np.inf
    callback: Callable | None = None
    before_pass: Callable | None = None
    position: Position = field(init=False)

    def __post_init__(self):
        jumps = Extrapolation() if np.isfinite(self.plain_passes) else None
        self.position = Position(jumps)

    def run(self):
        """Pass until the bound settles; return whether it did."""
        outcome = None
        while self.position.n_iter < self.max_iter and outcome is not Outcome.SETTLED:
            if self.before_pass is not None:
                self.before_pass(self)
            outcome = self.step()
            if outcome is Outcome.SUMMIT:
                return True
        return self._finish() or outcome is Outcome.SETTLED

    def step(self):
        """Do one pass; return its :class:`Outcome`."""
        position, before = self.position, self.fit.state
        bound = self.fit.pass_(position.learn_prior)
        position.n_iter += 1
        if position.n_iter == 1:
            return Outcome.BEGAN
        if position.jumps is not None and before.jumped:
            position.jumps.touch_down(self.fit.state)
            return Outcome.LANDED
        if position.falls(bound):
            return self._fall()
        position.kept = before
        if self._record(bound):
            return Outcome.SETTLED
        if position.jumps is not None and position.n_iter > self.plain_passes:
            self.fit.state = position.jumps.propose(self.fit.state)
        return Outcome.ROSE

    def _fall(self):
        """Return to the state before the last jump, or else to the highest."""
        fit, position = self.fit, self.position
        if position.jumps is not None and position.jumps.landing is not None:
            fit.state = position.jumps.undo()
            return Outcome.RETURNED
        fit.state = position.kept
        near = position.last_gain() < _NEAR * fit.n_answers
        if near or not position.learn_prior:
            return Outcome.SUMMIT
        position.learn_prior, position.jumps = False, None
        position.trace.pop()  # the next pass finds it again
        return Outcome.HELD

    def _record(self, bound):
        """Add a bound to the trace; return whether its gain is under the tolerance."""
        position = self.position
        position.trace.append(bound)
        if self.callback is not None:
            self.callback(len(position.trace), bound)
        return position.last_gain() < self.tol * self.fit.n_answers

    def _finish(self):
        """Evaluate the last state, and keep the higher one; return as `_record`."""
        fit, position = self.fit, self.position
        if position.jumps is not None and fit.state.jumped:
            fit.state = position.jumps.undo()
        bound = fit.evaluate()
        if position.falls(bound):
            fit.state = position.kept
            return False
        return self._record(bound)
