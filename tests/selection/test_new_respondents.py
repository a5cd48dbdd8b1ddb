"""Full scores of respondents who answered the selected items only."""

import numpy as np
import pytest

from sklearn_mirt import InformativeItemSelector
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.selection.full_scores import compare_scores

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


NAN = np.nan


@pytest.fixture(scope="module")
def old_and_new():
    X = make_responses(90, 200, 1, random_state=0).responses
    return X[:80], X[80:]


def test_my_own_model_is_scored_from_a_small_benchmark(old_and_new):
    """Fit, select items, and score a model that answered those alone."""
    train, new = old_and_new
    selector = InformativeItemSelector(40, n_dims=1).fit(train)
    answers = np.where(selector.get_support(), new, NAN)
    scores, errors = selector.scorer().predict(answers, return_std=True)
    assert np.all(errors[:, 0] < 0.06)
    assert np.all(np.abs(scores[:, 0] - new.mean(axis=1)) < 3 * errors[:, 0])


def test_a_small_subset_says_that_it_cannot_resolve_a_small_difference(old_and_new):
    """Of two models one is three points better."""
    train, new = old_and_new
    pair = np.vstack([new[0], new[0]])
    pair[1, np.flatnonzero(pair[1] == 0)[:6]] = 1
    found = {}
    for n_items in (20, 190):
        selector = InformativeItemSelector(n_items, n_dims=1).fit(train)
        answers = np.where(selector.get_support(), pair, NAN)
        result = compare_scores(selector.scorer(), answers, 1, 0)
        found[n_items] = (result["std"][0], result["wrong_order"][0])
    assert found[20][0] > 0.03 > 3 * found[190][0]
    assert found[20][1] > 0.1 > 10 * found[190][1]
