"""Agreement with fits of R mirt to the LSAT section 7 data, which are shipped."""

import json
from pathlib import Path

import numpy as np
import pytest

from sklearn_mirt import (
    ExactModel,
    ExactSettings,
    fit_quadrature,
    global_fit,
    item_fit,
    item_zh,
    score_respondents,
    sum_score_table,
)
from sklearn_mirt.datasets import load_lsat7
from sklearn_mirt.models.item_models import ThreePL

SAMPLES = Path(__file__).parents[2] / "samples"
GOLDEN = json.loads((SAMPLES / "golden_lsat7.json").read_text(encoding="utf-8"))
RUNS = GOLDEN["runs"]
GRID = ExactSettings(nodes="grid", node_limit=6.0)


def published(name):
    return np.array(GOLDEN["published"][name]["value"])


def stored(run, *names):
    return np.array([[item[name] for name in names] for item in run["items"]])


@pytest.fixture(scope="module")
def data():
    return load_lsat7().responses


@pytest.fixture(scope="module")
def fit(data):
    return fit_quadrature(data, settings=GRID)


@pytest.mark.parametrize(("name", "item_model"), [("2PL", "2pl"), ("Rasch", "rasch")])
def test_likelihood_and_parameters_in_one_dimension(data, name, item_model):
    run = RUNS[name]
    settings = ExactSettings(nodes="grid", node_limit=6.0, standard_errors=False)
    fit = fit_quadrature(
        data, model=ExactModel(item_model=item_model), settings=settings
    )
    assert fit.converged
    assert fit.n_parameters == run["n_parameters"]
    np.testing.assert_allclose(fit.log_likelihood, run["log_likelihood"], atol=1e-3)
    np.testing.assert_allclose(fit.aic, run["AIC"], atol=2e-3)
    np.testing.assert_allclose(fit.bic, run["BIC"], atol=2e-3)
    np.testing.assert_allclose(fit.slopes, stored(run, "a1"), atol=2e-3)
    np.testing.assert_allclose(np.array(fit.extras), stored(run, "d"), atol=2e-3)
    if name == "Rasch":
        variance = fit.ability_covariance[0, 0]
        np.testing.assert_allclose(variance, run["ability_variance"], atol=2e-3)


def test_the_published_likelihood(fit):
    wanted = published("2PL: log-likelihood")
    np.testing.assert_allclose(fit.log_likelihood, wanted, atol=1e-3)


def test_one_slope_for_all_items_is_the_rasch_model(data):
    """The common slope of the 1PL is the standard deviation of the Rasch model."""
    fit = fit_quadrature(data, model=ExactModel(item_model="rasch"), settings=GRID)
    slope, *intercepts = published("1PL: common slope, intercepts")
    spread = np.sqrt(fit.ability_covariance[0, 0])
    np.testing.assert_allclose(spread, slope, atol=1e-3)
    found = np.ravel(fit.extras)
    np.testing.assert_allclose(found, intercepts, atol=1e-3)
    np.testing.assert_allclose(found, published("Rasch: intercepts"), atol=1e-3)


def test_two_missing_cells(data):
    gaps = data.copy()
    gaps[0, 0] = gaps[1, 1] = np.nan
    fit = fit_quadrature(gaps, settings=GRID)
    wanted = published("2PL, two cells missing: a1, d, g, u of each item")
    wanted = wanted[:20].reshape(5, 4)
    np.testing.assert_allclose(fit.slopes[:, 0], wanted[:, 0], atol=2e-3)
    np.testing.assert_allclose(np.ravel(fit.extras), wanted[:, 1], atol=2e-3)


def test_two_dimensions(data):
    run = RUNS["2PL, two dimensions"]
    fit = fit_quadrature(data, model=ExactModel(n_dims=2), settings=GRID)
    np.testing.assert_allclose(fit.log_likelihood, run["log_likelihood"], atol=1e-3)
    scaled = ((fit.slopes / 1.702) ** 2).sum(1)
    found = scaled / (1 + scaled)
    np.testing.assert_allclose(found, run["communality"], atol=2e-3)


def test_confirmatory(data):
    run = RUNS["2PL, confirmatory"]
    q_matrix = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]])
    model = ExactModel(n_dims=2, q_matrix=q_matrix)
    fit = fit_quadrature(data, model=model, settings=GRID)
    np.testing.assert_allclose(fit.log_likelihood, run["log_likelihood"], atol=1e-3)
    np.testing.assert_allclose(fit.slopes, stored(run, "a1", "a2"), atol=2e-3)


def test_standard_errors(fit):
    found = fit.parameter_table()["standard_error"]
    wanted = np.ravel(RUNS["2PL"]["standard_errors"])
    np.testing.assert_allclose(found, wanted, atol=1e-3)


@pytest.mark.parametrize("method", ["EAP", "MAP"])
def test_scores_of_response_patterns(fit, method):
    table = RUNS["2PL"][f"scores_{method}"]
    patterns = np.array([[int(c) for c in pattern] for pattern in table], dtype=float)
    mean, standard_error = np.array(list(table.values())).T
    scores = score_respondents(fit, patterns, method=method.lower())
    np.testing.assert_allclose(scores.mean[:, 0], mean, atol=1e-4)
    np.testing.assert_allclose(scores.standard_errors[:, 0], standard_error, atol=1e-4)


def test_sum_scores(fit):
    table = sum_score_table(fit)
    mean = published("2PL: sum scores, theta")
    standard_error = published("2PL: sum scores, SE")
    expected = published("2PL: sum scores, expected")
    np.testing.assert_allclose(table.mean[:, 0], mean, atol=1e-3)
    np.testing.assert_allclose(table.standard_errors[:, 0], standard_error, atol=1e-3)
    np.testing.assert_allclose(table.expected, expected, atol=0.01)


def test_fit_statistics(data, fit):
    wanted = RUNS["2PL"]["M2"]
    found = global_fit(fit, data)
    names = {
        "M2": "statistic", "df": "df", "p": "p_value", "RMSEA": "rmsea",
        "RMSEA_5": "rmsea_low", "RMSEA_95": "rmsea_high", "SRMSR": "srmsr",
        "TLI": "tli", "CFI": "cfi",
    }  # fmt: skip
    for theirs, ours in names.items():
        np.testing.assert_allclose(getattr(found, ours), wanted[theirs], atol=1e-3)
    items = item_fit(fit, data)
    np.testing.assert_allclose(items.statistic, published("2PL: S_X2"), atol=0.01)
    np.testing.assert_array_equal(items.df, 2)
    np.testing.assert_allclose(item_zh(fit, data), published("2PL: Zh"), atol=0.01)


def test_three_parameters_reach_at_least_their_maximum(data):
    model = ExactModel(item_model=ThreePL(guessing_prior=None))
    fit = fit_quadrature(data, model=model, settings=GRID)
    assert -1e-4 < fit.log_likelihood - RUNS["3PL"]["log_likelihood"] < 2e-3
    # guessing at its bound is not determined, and says so
    at_bound = fit.guessing < 1e-4
    table = fit.parameter_table()
    guessing = table["parameter"] == "guessing"
    assert at_bound.any()
    assert not table["determined"][guessing][at_bound].any()
