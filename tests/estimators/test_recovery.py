"""Recovery of simulated abilities."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


NAN = np.nan


def test_four_dimensions_need_no_grid():
    """The cost of a grid of nodes grows with the power of the dimensions."""
    X = make_responses(100, 1000, 4, random_state=0).responses
    mirt = MIRTTransformer(4, max_iter=15).fit(X)
    assert mirt.solver_ == "variational"
    assert np.linalg.matrix_rank(mirt.slopes_, tol=1.0) == 4


def asked_by_ability(seed, dependence):
    """Truth, and answers: 30% filled, stronger models asked harder items."""
    truth = make_responses(60, 300, 1, random_state=seed)
    hard = -truth.intercepts / truth.intercepts.std()
    chance = 1 / (1 + np.exp(1 - dependence * truth.abilities * hard))
    asked = np.random.default_rng(seed).random(chance.shape) < chance
    return truth, np.where(asked, truth.responses, NAN)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_abilities_of_a_sparse_table_are_not_biased_as_averages_are(seed):
    """Stronger models are asked harder items, which lowers their averages."""
    truth, X = asked_by_ability(seed, 1)
    ability = MIRTTransformer(1).fit(X).abilities_[:, 0]
    right_order = spearmanr(ability, truth.abilities[:, 0])[0]
    assert right_order > 0.93
    assert right_order > spearmanr(np.nanmean(X, 1), truth.abilities[:, 0])[0] + 0.03


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_an_adaptive_test_does_not_hide_who_is_able(seed):
    """Strong models see almost only hard items, and are right no more often."""
    truth, X = asked_by_ability(seed, 2)
    fit, positive = (
        MIRTTransformer(1, positive_slopes=sign).fit(X) for sign in (False, True)
    )
    assert spearmanr(np.nanmean(X, 1), truth.abilities[:, 0])[0] < 0.75
    assert spearmanr(fit.abilities_[:, 0], truth.abilities[:, 0])[0] > 0.9
    assert fit.lower_bounds_[-1] > positive.lower_bounds_[-1] - 1
