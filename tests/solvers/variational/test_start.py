"""Starting values of the variational solver."""

import numpy as np
import pytest

from sklearn_mirt import ResponseData
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models.item_design import ItemDesign
from sklearn_mirt.solvers.variational.solver import VariationalSolver

pytestmark = pytest.mark.filterwarnings("ignore")


def test_more_dimensions_than_respondents_have_a_start():
    data = ResponseData.from_wide(make_responses(2, 30, 1, random_state=0).responses)
    design = ItemDesign(np.zeros(30, int), np.array(["all"]), np.zeros(30))
    mean = VariationalSolver().solve(data, 3, design).abilities.mean
    assert mean.shape == (2, 3) and np.isfinite(mean).all()
