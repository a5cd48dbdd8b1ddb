"""Warm starts of exact fits."""

import numpy as np
import pytest

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_second_exact_fit_starts_where_the_first_ended():
    table = make_responses(300, 8, 2, random_state=0).responses
    mirt = MIRTTransformer(2, solver="quadrature", warm_start=True).fit(table)
    first, passes = mirt.expected_scores(table), mirt.n_iter_
    mirt.fit(table)
    np.testing.assert_allclose(mirt.expected_scores(table), first, atol=1e-3)
    assert mirt.n_iter_ <= passes
