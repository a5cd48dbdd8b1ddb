"""Guessing floors: known or estimated."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def test_a_known_guessing_floor_stays_as_it_is(table):
    """A floor that is given is not estimated."""
    floors = np.linspace(0, 0.5, 60)
    mirt = MIRTTransformer(guessing=floors).fit(table)
    assert_array_equal(mirt.guessing_, floors)
    assert np.all(mirt.expected_scores(table) >= floors)


def test_learned_guessing_does_not_differ_between_runs_nor_reach_one():
    """Elsewhere guessing differs widely between runs, and comes close to 1."""
    X = make_responses(300, 20, 1, random_state=0).responses
    found = []
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(300)
        mirt = MIRTTransformer(
            1, solver="quadrature", item_model="3pl", random_state=seed
        )
        found.append(mirt.fit(X[rows]).guessing_)
    assert np.ptp(found, axis=0).max() < 1e-6
    assert 0 < np.min(found) and np.max(found) < 0.4
