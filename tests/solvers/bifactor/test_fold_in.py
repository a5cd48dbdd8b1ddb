"""Abilities of new respondents in the bifactor model."""

import numpy as np
import pytest

from sklearn_mirt.datasets import make_responses
from sklearn_mirt.solvers.bifactor.fit import fit_bifactor

pytestmark = pytest.mark.filterwarnings("ignore")


def test_one_step_of_scoring_goes_most_of_the_way():
    answers = make_responses(60, 40, 1, random_state=0).responses
    model = fit_bifactor(answers, np.arange(40) % 2, n_dims=1)
    one, many = (model.fold_in(answers, max_iter=n)[0] for n in (1, 50))
    assert 0 < np.abs(one - many).max() < np.abs(many).max()
