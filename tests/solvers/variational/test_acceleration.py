"""Extrapolation of the passes of the variational solver."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.solvers.variational.acceleration import Extrapolation

pytestmark = pytest.mark.filterwarnings("ignore")


@dataclass(frozen=True)
class _State:
    mean: np.ndarray
    prior: GroupPrior
    jumped: bool = False
    divergence: float = 0.0


def _state(value, variance=1.0):
    prior = GroupPrior(np.zeros((1, 2)), variance * np.eye(2)[None])
    return _State(np.full((3, 1), value), prior)


def test_no_jump_where_steps_turn_round_or_the_prior_would_be_none():
    turning = [_state(v) for v in (0.0, 1.0, 0.1)]
    falling = [_state(0.0, v) for v in (1.0, 0.6, 0.25)]
    for states in (turning, falling):
        jumps = Extrapolation()
        assert [jumps.propose(state) for state in states] == states
        assert jumps.landing is None
    shrinking = [_state(v) for v in (0.0, 1.0, 1.5)]
    jumps = Extrapolation()
    jumped = [jumps.propose(state) for state in shrinking][-1]
    assert jumped.jumped and jumps.landing is shrinking[-1]
    np.testing.assert_allclose(jumped.mean, 2.0)  # where halving steps end


def test_a_fit_that_ends_on_a_jump_goes_back_to_firm_ground():
    table = make_responses(400, 300, 2, random_state=0).responses
    bounds = [
        MIRTTransformer(2, max_iter=n, tol=0.0).fit(table).lower_bounds_
        for n in range(6, 12)
    ]
    for trace in bounds:
        assert (np.diff(trace) >= -1e-9 * np.abs(trace[-1])).all()
    assert all(a[-1] <= b[-1] + 1e-9 for a, b in pairwise(bounds))
