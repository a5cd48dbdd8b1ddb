"""Predictions of fitted models, for the rows of the fit and for other rows."""

import pickle

import pytest
from numpy.testing import assert_allclose, assert_array_equal
from response_tables import long

from sklearn_mirt import MIRTClassifier, MIRTTransformer
from sklearn_mirt import metrics as mirt_metrics

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.parametrize(
    "options",
    [
        {"n_dims": 1},
        {"n_dims": 2},
        {"n_dims": 3},
        {"n_dims": 1, "solver": "quadrature", "item_model": "rasch"},
        {"n_dims": 1, "solver": "quadrature", "item_model": "1pl"},
        {"n_dims": 1, "solver": "quadrature", "item_model": "2pl"},
        {"n_dims": 1, "solver": "quadrature", "item_model": "3pl"},
        {"n_dims": 2, "solver": "quadrature"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_every_model_predicts_and_agrees_with_its_fit(table, options):
    """Elsewhere the multidimensional model cannot predict."""
    table = table[:, :15] if "solver" in options else table
    X, y = long(table)
    p = MIRTClassifier(**options).fit(X, y).predict_proba(X)
    assert mirt_metrics.cell_auc(y, p) > 0.75
    mirt = MIRTTransformer(**options).fit(table)
    assert_allclose(mirt.transform(table), mirt.abilities_, atol=0.01)
    assert_allclose(mirt.expected_scores(table).ravel(), p[:, 1], atol=0.01)


def test_transform_of_a_row_does_not_depend_on_its_batch(table, fitted):
    """Nor does it change the fitted model."""
    before = pickle.dumps(fitted)
    assert_allclose(fitted.transform(table[:1]), fitted.transform(table)[:1], atol=1e-7)
    assert_array_equal(fitted.transform(table), fitted.transform(table))
    assert pickle.dumps(fitted) == before
