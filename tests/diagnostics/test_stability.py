"""Refits from other starts and to halves of the items."""

import numpy as np

from sklearn_mirt import MIRTTransformer, dimension_stability
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.diagnostics.stability import item_halves


def test_real_dimensions_replicate_and_surplus_ones_do_not():
    data = make_responses(80, 600, 2, random_state=0)
    model = MIRTTransformer(3).fit(data.responses)
    table = dimension_stability(model, data.responses, n_starts=2, n_splits=2)
    assert table["replicates"].tolist() == [True, True, False]
    assert (table["halves"] <= table["ceiling"] + 0.02).all()


def test_halves_are_disjoint_and_balanced():
    groups = np.repeat(["a", "b"], [31, 20])
    X = make_responses(30, 51, 1, random_state=0).responses
    model = MIRTTransformer(1, item_groups=groups).fit(X)
    result = item_halves(model, X, n_splits=2)
    for first, second in result.halves:
        np.testing.assert_array_equal(np.sort(np.r_[first, second]), np.arange(51))
        assert abs((groups[first] == "a").sum() - (groups[second] == "a").sum()) <= 1
    assert result.abilities.shape == (2, 2, 30, 1)
