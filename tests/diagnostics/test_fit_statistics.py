"""Fit statistics of exact fits: global, by item, by respondent, nested models."""

from itertools import product

import numpy as np
import pytest
from short_tests import simulate

from sklearn_mirt.diagnostics.global_fit import global_fit, likelihood_ratio
from sklearn_mirt.diagnostics.item_fit import item_fit, item_zh
from sklearn_mirt.diagnostics.margins import Margins
from sklearn_mirt.diagnostics.respondent_fit import person_zh
from sklearn_mirt.models.item_models import NormalPrior
from sklearn_mirt.solvers.quadrature.fit import fit_quadrature
from sklearn_mirt.solvers.quadrature.model import ExactModel
from sklearn_mirt.solvers.quadrature.respondent_scores import (
    item_log_tables,
    node_weights,
)


@pytest.fixture(scope="module")
def data():
    return simulate()[0]


@pytest.fixture(scope="module")
def fitted(data):
    return fit_quadrature(data)


def test_nested_models_need_more_parameters(data, fitted):
    rasch = fit_quadrature(data, model=ExactModel(item_model="rasch"))
    assert likelihood_ratio(rasch, fitted).df == 7
    with pytest.raises(ValueError, match="Swap them"):
        likelihood_ratio(fitted, rasch)


def test_statistics_do_not_reject_the_true_model(data, fitted):
    found = global_fit(fitted, data)
    assert found.df == 8 + 28 - 16
    assert found.p_value > 0.001
    assert found.rmsea_low <= found.rmsea <= found.rmsea_high
    items = item_fit(fitted, data)
    assert (items.p_value > 1e-4).all()
    assert np.abs(item_zh(fitted, data)).max() < 15


def test_global_fit_rejects_a_missing_dimension():
    data, _, _ = simulate(n=1500, n_items=10, n_dims=2, seed=2)
    fit = fit_quadrature(data)
    assert global_fit(fit, data).p_value < 1e-6


def test_person_fit_singles_out_a_reversed_respondent(fitted, data):
    easy = np.argsort(-fitted.intercepts)
    odd = np.zeros(8)
    odd[easy[4:]] = 1.0
    zh = person_zh(fitted, np.concatenate([data, odd[None]]))
    assert zh[-1] < np.quantile(zh[:-1], 0.02)


def test_missing_answers_have_no_limited_information_statistic(data, fitted):
    gaps = data.copy()
    gaps[4, 2] = np.nan
    with pytest.raises(ValueError, match="row 4 has no answer to item 2"):
        global_fit(fitted, gaps)


def test_covariance_margins_by_brute_force():
    """Xi of M2 against the multinomial covariance over all patterns."""
    data = np.random.default_rng(1).integers(0, 3, (200, 3)) * 1.0
    model = ExactModel(item_model="graded", slope_prior=NormalPrior(1.0, 0.5))
    fit = fit_quadrature(data, model=model)
    tables, weights = item_log_tables(fit), node_weights(fit)
    patterns = np.array(list(product(range(3), repeat=3)))
    probability = np.array(
        [
            weights @ np.exp(sum(t[k] for t, k in zip(tables, row, strict=True)))
            for row in patterns
        ]
    )
    for kind in ("M2", "M2*", "C2"):
        margins = Margins(fit, kind)
        rows = np.stack([margins.observed(row[None]) for row in patterns])
        mean = probability @ rows
        wanted = (rows * probability[:, None]).T @ rows - np.outer(mean, mean)
        np.testing.assert_allclose(margins.expected, mean, atol=1e-12)
        np.testing.assert_allclose(margins.covariance(), wanted, atol=1e-12)
