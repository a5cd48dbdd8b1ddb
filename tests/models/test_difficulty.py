"""Intercepts and the difficulty derived from them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_mirt import ItemParameters, MIRTTransformer
from sklearn_mirt.datasets import make_responses

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(scope="module")
def table():
    return make_responses(30, 60, 2, random_state=0).responses


@pytest.fixture(scope="module")
def fitted(table):
    return MIRTTransformer().fit(table)


def test_difficulty_is_one_number_and_moves_with_the_intercept_only(fitted):
    """A difficulty per dimension would have no clear meaning."""
    items = fitted.item_parameters_
    assert items.mdiff.shape == items.mdisc.shape == (60,)
    assert_allclose(items.mdiff * items.mdisc, -items.intercepts)
    # where the line through the origin along a_j meets probability one half
    point = items.mdiff[:, None] * items.slopes / items.mdisc[:, None]
    assert_allclose(np.diagonal(items.probability(point)), 0.5)


def test_item_parameters_say_what_their_numbers_mean():
    """The logit is a theta + d, not a (theta - d)."""
    items = ItemParameters(
        np.array([[2.0]]), np.array([-1.0]), np.zeros(1), np.zeros((1, 2, 2)), ["q"]
    )
    # a theta + d, not a (theta - d)
    assert items.logit([[1.0]])[0, 0] == 1.0
    assert items.mdiff[0] == 0.5
