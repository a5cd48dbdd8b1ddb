"""scikit-learn's own checks of the selector and the scorers.

The checks feed tables of real numbers; a test-only layer turns them into scores in
[0, 1] cell by cell, all else is the estimator.
"""

import pytest
from adapted_scorers import ADAPTED, Selector
from sklearn.utils.estimator_checks import parametrize_with_checks
from strict_checks import STRICT

pytestmark = pytest.mark.filterwarnings("ignore")


def expected_failures(estimator):
    """scikit-learn's check of sparse tables wants one prediction per row."""
    if isinstance(estimator, Selector):
        return {}
    reason = "predict returns a column for each score"
    return dict.fromkeys(
        ("check_estimator_sparse_array", "check_estimator_sparse_matrix"), reason
    )


@parametrize_with_checks(ADAPTED, expected_failed_checks=expected_failures, **STRICT)
def test_sklearn_checks(estimator, check):
    check(estimator)
