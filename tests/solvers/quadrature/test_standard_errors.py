"""Standard errors of derived item parameters."""

import numpy as np
import pytest

from sklearn_mirt import ExactModel, fit_quadrature
from sklearn_mirt.datasets import make_responses

pytestmark = pytest.mark.filterwarnings("ignore")


def test_errors_of_discrimination_and_difficulty_by_hand():
    table = make_responses(300, 5, 1, random_state=0).responses
    fit = fit_quadrature(table, model=ExactModel())
    a, d = fit.slopes[:, 0], fit.intercepts
    np.testing.assert_allclose(fit.mdisc, np.abs(a))
    np.testing.assert_allclose(fit.mdiff, -d / np.abs(a))
    np.testing.assert_array_equal(fit.ceiling, 1)
    errors = fit.derived_standard_errors()
    covariances = np.array(fit.item_covariances())
    np.testing.assert_allclose(errors["mdisc"], np.sqrt(covariances[:, 0, 0]))
    change = np.column_stack([d / a**2, -1 / a])
    variance = np.einsum("jp,jpq,jq->j", change, covariances, change)
    np.testing.assert_allclose(errors["mdiff"], np.sqrt(variance))
