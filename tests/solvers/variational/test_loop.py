"""Each transition of the way up, by a fit whose bounds are given."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.solvers.variational.loop import Ascent, Outcome


@dataclass(frozen=True, eq=False)
class State:
    """A state that knows its bound; one number stands for abilities and prior."""

    bound: float
    mean: np.ndarray
    prior: GroupPrior
    divergence: float = np.inf
    jumped: bool = False


def state(bound, position=0.0):
    prior = GroupPrior(np.zeros((1, 2)), np.eye(2)[None])
    return State(bound, np.full(3, position), prior)


class ScriptedFit:
    """Passes lead to states of given bounds, whose positions come closer and closer."""

    n_answers = 10.0

    def __init__(self, *bounds):
        self.states = [state(b, 1 - 0.5**k) for k, b in enumerate(bounds)]
        self.state = self.states.pop(0)
        self.held = []

    def pass_(self, learn_prior):
        before, self.state = self.state, self.states.pop(0)
        self.held.append(not learn_prior)
        return before.bound

    def evaluate(self):
        return self.state.bound


def ascent(*bounds, n_passes=1, jumps=False, **options):
    """An ascent over states of given bounds, some steps on, and its last outcome."""
    options = {"tol": 0.0, "max_iter": 100} | options
    up = Ascent(ScriptedFit(*bounds), plain_passes=0 if jumps else np.inf, **options)
    outcomes = [up.step() for _ in range(n_passes)]
    return up, outcomes[-1]


def test_the_first_pass_says_nothing():
    up, outcome = ascent(-9.0, -5.0)
    assert outcome is Outcome.BEGAN
    assert up.position.trace == [] and up.position.kept is None


def test_a_higher_bound_is_recorded_and_its_state_kept():
    up, outcome = ascent(-9.0, -5.0, -4.0, -3.0, n_passes=3)
    assert outcome is Outcome.ROSE
    assert up.position.trace == [-5.0, -4.0]
    assert up.position.kept.bound == -4.0  # the bound of the state now is not known


def test_a_small_gain_settles():
    up, outcome = ascent(-9.0, -5.0, -4.0, -3.0, n_passes=3, tol=0.2)
    assert outcome is Outcome.SETTLED  # 1 is less than 0.2 for each of 10 answers
    assert up.position.trace == [-5.0, -4.0]


def test_a_fall_holds_the_prior():
    up, outcome = ascent(-9.0, -5.0, -4.0, -6.0, -3.0, n_passes=4)
    assert outcome is Outcome.HELD
    assert up.fit.state.bound == -4.0 and not up.position.learn_prior
    assert up.position.trace == [-5.0]  # the next pass finds -4 again
    up.fit.states = [state(-3.5)]
    assert up.step() is Outcome.ROSE
    assert up.fit.held[-1] and up.position.trace == [-5.0, -4.0]


@pytest.mark.parametrize("learn_prior, bound", [(True, -5.0 + 1e-4), (False, -4.0)])
def test_a_fall_near_the_summit_or_with_the_prior_held_ends_there(learn_prior, bound):
    up, _ = ascent(-9.0, -5.0, bound, -6.0, n_passes=3)
    up.position.learn_prior = learn_prior
    up.fit.states = [state(-3.0)]
    assert up.step() is Outcome.SUMMIT
    assert up.fit.state.bound == bound
    assert up.position.trace == [-5.0, bound]


def test_after_two_plain_passes_it_jumps_and_lands():
    up, outcome = ascent(-9.0, -5.0, -4.0, -3.0, -2.5, n_passes=4, jumps=True)
    assert outcome is Outcome.ROSE
    assert up.fit.state.jumped and up.position.jumps.landing.bound == -2.5
    np.testing.assert_allclose(up.fit.state.mean, 1.0)  # where halving steps end
    up.fit.states = [state(-2.0), state(-1.9)]
    assert up.step() is Outcome.LANDED
    assert up.position.trace == [-5.0, -4.0, -3.0]
    assert up.step() is Outcome.ROSE
    assert up.position.trace[-1] == -2.0
    assert up.position.jumps.landing is None


def test_a_jump_that_loses_is_undone():
    up, _ = ascent(-9.0, -5.0, -4.0, -3.0, -2.5, n_passes=4, jumps=True)
    up.fit.states = [state(-7.0), state(-6.0)]
    assert up.step() is Outcome.LANDED
    assert up.step() is Outcome.RETURNED
    assert up.fit.state.bound == -2.5 and up.position.learn_prior
    assert up.position.jumps.landing is None


# ------------------------------------------------------------------------- whole runs


def test_a_run_ends_where_the_bound_settles():
    calls = []
    options = {"tol": 0.05, "callback": lambda *call: calls.append(call)}
    up, _ = ascent(-9.0, -5.0, -4.0, -3.9, **options)
    up.fit.states.append(state(-3.85))
    assert up.run()
    assert up.position.trace == [-5.0, -4.0, -3.9, -3.85]  # the last one evaluated
    assert calls == list(enumerate(up.position.trace, start=1))


def test_a_run_out_of_passes_evaluates_the_last_state():
    up, _ = ascent(-9.0, -5.0, -4.0, -3.0, max_iter=3)
    assert not up.run()
    assert up.position.n_iter == 3
    assert up.position.trace == [-5.0, -4.0, -3.0]


def test_a_last_state_that_is_lower_is_left():
    up, _ = ascent(-9.0, -5.0, -4.0, -6.0, max_iter=3)
    assert not up.run()
    assert up.position.trace == [-5.0, -4.0]
    assert up.fit.state.bound == -4.0


def test_a_run_that_ends_on_a_jump_returns_from_it():
    up, _ = ascent(-9.0, -5.0, -4.0, -3.0, -2.5, n_passes=4, jumps=True, max_iter=4)
    assert up.fit.state.jumped
    assert not up.run()
    assert not up.fit.state.jumped
    assert up.position.trace == [-5.0, -4.0, -3.0, -2.5]


def test_a_copy_of_a_position_stays():
    up, _ = ascent(-9.0, -5.0, -4.0, -3.0, -2.5, n_passes=3, jumps=True)
    before = up.position.copy()
    same = replace(before, jumps=replace(before.jumps))
    up.step()
    assert before.trace == same.trace == [-5.0, -4.0]
    assert len(before.jumps.points) == 2 and before.jumps.landing is None
    assert up.position.jumps.landing is not None
