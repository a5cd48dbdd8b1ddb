"""Starting values of the quadrature solver."""

import numpy as np
import pytest

from sklearn_mirt import fit_quadrature
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.solvers.quadrature.model import ExactSettings
from sklearn_mirt.solvers.quadrature.start import choose_anchors

pytestmark = pytest.mark.filterwarnings("ignore")


def test_another_start_in_one_dimension_is_no_worse():
    table = make_responses(200, 6, 1, random_state=1).responses
    one, three = (
        fit_quadrature(table, settings=ExactSettings(n_starts=n)) for n in (1, 3)
    )
    assert three.log_likelihood >= one.log_likelihood - 1e-6


def test_items_without_slope_cannot_hold_the_axes():
    slopes = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_array_equal(choose_anchors(slopes), [5, 4])
    slopes[4:] = 0
    chosen = choose_anchors(slopes)
    assert len(set(chosen)) == 2 and max(chosen) < 4
    assert abs(np.linalg.det(slopes[chosen][:, :2])) > 0 or slopes[chosen].any(1).all()
