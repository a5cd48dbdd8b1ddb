"""Tables of extremes: constant items, perfect order, very long tests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from response_tables import finite

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def test_items_that_all_answer_alike_are_named_and_stay_finite(table):
    """Elsewhere: nonsense without a warning, or a cryptic error."""
    X = table.copy()
    X[:, 0], X[:, 1] = 1, 0
    mirt = MIRTTransformer().fit(X)
    alike = np.flatnonzero(np.ptp(X, axis=0) == 0)
    assert mirt.constant_items_.tolist() == alike.tolist()
    assert {0, 1} <= set(alike)
    assert finite(mirt)
    assert mirt.intercepts_[0] > mirt.intercepts_.max() - 1e-9
    assert mirt.intercepts_[1] < mirt.intercepts_.min() + 1e-9
    assert np.abs(mirt.intercepts_).max() < 8
    assert mirt.item_parameters_.mdisc[:2].max() < 2


def test_a_perfectly_ordered_table_needs_no_second_try():
    """Elsewhere training ends in NaN, and users retry until it works."""
    for X in (np.tri(3), np.tri(3)[::-1], 1 - np.tri(3), np.tri(8)):
        assert finite(MIRTTransformer(2).fit(X))
        one = MIRTTransformer(1).fit(X)
        assert_array_equal(one.abilities_[:, 0].argsort(), X.sum(axis=1).argsort())


@pytest.mark.slow
def test_ability_is_a_number_however_long_the_test():
    """The exponential of the log-likelihood of a long test underflows."""
    X = np.tile([[1.0, 0.0]], (2, 2500))
    mirt = MIRTTransformer(1).fit(X)
    assert np.isfinite(mirt.transform(X)).all()
    assert np.isfinite(mirt.score_samples(X)).all()
    # expected a posteriori on nodes, where exp(-746) is 0
    X = make_responses(20, 2000, 1, random_state=0).responses
    exact = MIRTTransformer(1, solver="quadrature", item_model="rasch", max_iter=2)
    exact.fit(X)
    assert exact.score_samples(X).mean() < -746
    assert_allclose(exact.transform(X), exact.abilities_)
    assert np.all(exact.ability_posteriors_.standard_errors > 0)


def test_an_item_that_one_in_a_hundred_gets_right_does_not_stall_the_rest():
    """A gradient step that is small enough for its intercept stalls all others."""
    X = make_responses(100, 80, 1, random_state=0).responses
    X[:, 0] = np.arange(100) == 50
    mirt = MIRTTransformer(1).fit(X)
    assert mirt.converged_
    expected = mirt.item_parameters_.probability(mirt.abilities_)
    assert expected[:, 0].mean() < 0.06
    assert mirt.intercepts_.argmin() == 0


def test_all_right_and_all_wrong_give_finite_abilities(fitted):
    """The likelihood alone would put them at infinity."""
    scores = fitted.score_abilities(np.vstack([np.ones(60), np.zeros(60)]))
    assert np.isfinite(scores.mean).all()
    assert np.abs(scores.mean).max() < 6
    assert np.all(scores.standard_errors > 0.05)
    assert np.all(scores.mean[0] > scores.mean[1])
