"""Exact fits: maxima, fixed values, bad input, scores."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2
from short_tests import simulate

from sklearn_mirt.diagnostics.global_fit import likelihood_ratio
from sklearn_mirt.exceptions import NotConvergedWarning, ResponseDataWarning
from sklearn_mirt.models.item_models import NormalPrior
from sklearn_mirt.solvers.quadrature.fit import fit_quadrature
from sklearn_mirt.solvers.quadrature.model import ExactModel, ExactSettings
from sklearn_mirt.solvers.quadrature.nodes import estimate_memory
from sklearn_mirt.solvers.quadrature.respondent_scores import (
    score_respondents,
    sum_score_table,
)


@pytest.fixture(scope="module")
def data():
    return simulate()[0]


@pytest.fixture(scope="module")
def fitted(data):
    return fit_quadrature(data)


def test_one_parameter_and_rasch_are_the_same_model(data):
    one = fit_quadrature(data, model=ExactModel(item_model="1pl"))
    rasch = fit_quadrature(data, model=ExactModel(item_model="rasch"))
    assert one.n_parameters == rasch.n_parameters == 9
    np.testing.assert_allclose(one.log_likelihood, rasch.log_likelihood, atol=1e-5)
    np.testing.assert_allclose(one.slopes, one.slopes[0, 0])
    variance = rasch.ability_covariance[0, 0]
    np.testing.assert_allclose(one.slopes[0, 0] ** 2, variance, rtol=1e-3)
    np.testing.assert_allclose(one.intercepts, rasch.intercepts, atol=1e-3)
    np.testing.assert_array_equal(rasch.slopes, 1.0)


def test_node_rules_reach_the_same_maximum(data, fitted):
    for nodes in ("gauss-hermite", "adaptive"):
        other = fit_quadrature(data, settings=ExactSettings(nodes=nodes))
        np.testing.assert_allclose(
            other.log_likelihood, fitted.log_likelihood, atol=1e-3
        )
        np.testing.assert_allclose(other.slopes, fitted.slopes, atol=2e-3)


def test_weights_are_repeated_respondents(data, fitted):
    twice = fit_quadrature(np.concatenate([data, data]))
    weighted = fit_quadrature(data, weights=np.full(len(data), 2.0))
    np.testing.assert_allclose(twice.log_likelihood, weighted.log_likelihood)
    np.testing.assert_allclose(twice.slopes, fitted.slopes, atol=1e-4)
    ratio = (
        fitted.parameter_table()["standard_error"]
        / weighted.parameter_table()["standard_error"]
    )
    np.testing.assert_allclose(ratio, np.sqrt(2.0), rtol=1e-3)


def test_order_of_respondents_does_not_matter(data, fitted):
    order = np.random.default_rng(0).permutation(len(data))
    other = fit_quadrature(data[order])
    np.testing.assert_allclose(other.slopes, fitted.slopes, rtol=1e-8)


def test_same_input_gives_the_same_bytes(data, fitted):
    again = fit_quadrature(data)
    assert again.free.tobytes() == fitted.free.tobytes()


def test_log_likelihood_never_falls_in_the_trace(fitted):
    assert np.all(np.diff(fitted.log_likelihoods) >= -1e-9)
    assert fitted.converged


def test_fixed_parameters_come_back_bit_equal(data):
    slopes = np.full((8, 1), np.nan)
    intercepts = np.full(8, np.nan)
    slopes[2], intercepts[5] = 0.1 + 0.2, 1.0 / 3.0
    guessing = np.zeros(8)
    guessing[0] = 0.1
    model = ExactModel(
        fixed={"slopes": slopes, "intercepts": intercepts}, guessing=guessing
    )
    fit = fit_quadrature(data, model=model)
    assert fit.slopes[2, 0] == 0.1 + 0.2
    assert fit.intercepts[5] == 1.0 / 3.0
    assert fit.guessing[0] == 0.1
    assert fit.n_parameters == 14
    table = fit.parameter_table()
    held = (table["item"] == 2) & (table["parameter"] == "slope1")
    assert table["standard_error"][held] == 0.0


def test_all_fixed_is_pure_scoring(data, fitted):
    known = {"slopes": fitted.slopes, "intercepts": fitted.intercepts}
    bank = fit_quadrature(data, model=ExactModel(fixed=known))
    assert bank.n_parameters == 0
    np.testing.assert_array_equal(bank.slopes, fitted.slopes)
    np.testing.assert_allclose(bank.log_likelihood, fitted.log_likelihood)


def test_exploratory_model_has_its_orientation_fixed():
    data, _, _ = simulate(n=800, n_items=12, n_dims=2)
    fit = fit_quadrature(data, model=ExactModel(n_dims=2))
    assert fit.n_parameters == 12 * 3 - 1
    assert fit.slopes[-1, 1] == 0.0
    assert (fit.slopes == 0.0).sum() == 1
    assert fit.determined.all()


def test_confirmatory_structure_and_correlation():
    rng = np.random.default_rng(3)
    theta = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 1500)
    q = np.repeat(np.eye(2), 6, axis=0)
    p = expit(1.5 * theta @ q.T + rng.normal(size=12))
    data = (rng.random(p.shape) < p) * 1.0
    fits = [
        fit_quadrature(
            data, model=ExactModel(n_dims=2, q_matrix=q, correlated=correlated)
        )
        for correlated in (False, True)
    ]
    np.testing.assert_array_equal(fits[0].slopes[q == 0], 0.0)
    table = fits[1].parameter_table()
    estimate, error = table["estimate"][-1], table["standard_error"][-1]
    assert table["parameter"][-1] == "correlation12"
    assert abs(estimate - 0.6) < 3 * error < 0.2
    test = likelihood_ratio(*fits)
    assert test.df == 1
    assert test.p_value < 1e-6
    np.testing.assert_allclose(test.p_value, chi2.sf(test.statistic, 1))


def test_three_parameters_recover_known_guessing():
    rng = np.random.default_rng(5)
    theta = rng.normal(size=(3000, 1))
    p = 0.25 + 0.75 * expit(1.5 * theta + rng.normal(size=10))
    data = (rng.random(p.shape) < p) * 1.0
    known = fit_quadrature(data, model=ExactModel(guessing=np.full(10, 0.25)))
    np.testing.assert_array_equal(known.guessing, 0.25)
    free = fit_quadrature(data, model=ExactModel(item_model="3pl"))
    assert abs(free.guessing.mean() - 0.25) < 0.05
    assert abs(known.slopes.mean() - 1.5) < 0.15
    # priors: the likelihood alone is that of the reported value, without the prior
    assert free.log_prior < 0.0


def test_several_starts_keep_the_best():
    data, _, _ = simulate(n=500, n_items=10, n_dims=2, seed=4)
    one = fit_quadrature(data, model=ExactModel(n_dims=2))
    many = fit_quadrature(
        data, model=ExactModel(n_dims=2), settings=ExactSettings(n_starts=3)
    )
    assert many.log_likelihood >= one.log_likelihood - 1e-6


# --- what the data do not determine --------------------------------------------------


def test_two_items_do_not_determine_their_slopes():
    data, _, _ = simulate(n=300, n_items=2)
    with pytest.warns(ResponseDataWarning, match="2 items cannot determine"):
        fit = fit_quadrature(data)
    table = fit.parameter_table()
    slopes = table["parameter"] == "slope1"
    assert np.isnan(table["standard_error"][slopes]).all()
    assert not table["determined"][slopes].any()


def test_perfectly_ordered_answers_give_finite_values_and_a_warning():
    data = np.tril(np.ones((3, 3)))
    with pytest.warns(ResponseDataWarning, match="only one observed answer"):
        fit = fit_quadrature(data)
    assert np.isfinite(fit.slopes).all()
    ability = np.sort(np.random.default_rng(0).normal(size=60))
    ordered = (ability[:, None] > np.linspace(-1.2, 1.2, 5)) * 1.0
    with pytest.warns(ResponseDataWarning, match="grow without bound"):
        fit = fit_quadrature(ordered)
    assert np.abs(fit.slopes).max() < 25.0


def test_known_slopes_of_any_size_are_left_alone(data):
    slopes = np.full((8, 1), np.nan)
    slopes[1] = 30.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResponseDataWarning)
        fit = fit_quadrature(data, model=ExactModel(fixed={"slopes": slopes}))
    assert fit.slopes[1, 0] == 30.0
    assert fit.log_prior == 0.0


def test_unconnected_parts_are_named():
    data, _, _ = simulate(n=60, n_items=6)
    data[:30, :3], data[30:, 3:] = np.nan, np.nan
    with pytest.warns(ResponseDataWarning, match="unconnected") as caught:
        fit_quadrature(
            data,
            model=ExactModel(slope_prior=NormalPrior(1.0, 0.5)),
            items=[f"q{j}" for j in range(6)],
        )
    text = str(caught[0].message)
    assert "2 unconnected parts" in text
    assert "items 'q3', 'q4', 'q5'" in text


def test_bad_input_says_what_to_do(data):
    with pytest.raises(ValueError, match="solver='variational'"):
        fit_quadrature(data, model=ExactModel(n_dims=4))
    with pytest.raises(ValueError, match=r"shape \(8, 2\); got \(8, 3\)"):
        fit_quadrature(data, model=ExactModel(n_dims=2, q_matrix=np.ones((8, 3))))
    q = np.ones((8, 2))
    q[3] = 0
    with pytest.raises(ValueError, match="all-zero row for items 3"):
        fit_quadrature(data, model=ExactModel(n_dims=2, q_matrix=q))
    with pytest.raises(ValueError, match="needs a q_matrix"):
        fit_quadrature(data, model=ExactModel(n_dims=2, correlated=True))
    with pytest.raises(ValueError, match="Item 0 has the score 2"):
        fit_quadrature(data + 2.0)
    with pytest.raises(MemoryError, match="29,791 nodes"):
        fit_quadrature(
            data,
            model=ExactModel(n_dims=3),
            settings=ExactSettings(n_points=31, max_memory=10**6),
        )


def test_gaps_between_categories_are_closed_with_a_warning():
    data = np.random.default_rng(0).choice([1.0, 2.0, 4.0], (200, 4))
    model = ExactModel(item_model="graded", slope_prior=NormalPrior(1.0, 0.5))
    with pytest.warns(ResponseDataWarning, match="merged"):
        fit = fit_quadrature(data, model=model)
    assert [len(e) for e in fit.extras] == [2] * 4
    with pytest.raises(ValueError, match="category 3, which the fit has not seen"):
        score_respondents(fit, np.array([[1.0, 2.0, 3.0, 4.0]]))


def test_too_few_iterations_warn(data):
    with pytest.warns(NotConvergedWarning, match="did not converge"):
        fit_quadrature(data, settings=ExactSettings(max_iter=1, n_em=0, tol=1e-12))


def test_errors_that_need_too_much_memory_are_left_out_with_a_warning(data):
    settings = ExactSettings(nodes="adaptive", max_memory=5_000)
    with pytest.warns(ResponseDataWarning, match="are left out"):
        fit = fit_quadrature(data, settings=settings)
    assert fit.information is None
    with pytest.raises(ValueError, match="no standard errors"):
        fit.parameter_table()


def test_memory_estimate_grows_with_nodes_and_patterns():
    counts = np.full(100, 2)
    small = estimate_memory(1000, 961, counts, 2)
    assert estimate_memory(1000, 3375, counts, 3) > small
    assert estimate_memory(20000, 961, counts, 2) > small


# --- scores ---------------------------------------------------------------------------


def test_thousands_of_items_do_not_underflow():
    rng = np.random.default_rng(0)
    n_items = 5000
    known = {
        "slopes": np.ones((n_items, 1)),
        "intercepts": rng.normal(size=n_items),
    }
    rows = np.stack(
        [np.tile([1.0, 0.0], n_items // 2), np.ones(n_items), np.zeros(n_items)]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResponseDataWarning)
        fit = fit_quadrature(rows, model=ExactModel(fixed=known))
    assert fit.adaptive
    assert np.isfinite(fit.log_likelihood)
    for method in ("eap", "map"):
        scores = score_respondents(fit, rows, method=method)
        assert np.isfinite(scores.mean).all()
        assert (scores.standard_errors > 0).all()
        middle, right, wrong = scores.mean[:, 0]
        assert wrong < -5 < middle < 5 < right
        np.testing.assert_allclose(scores.standard_errors[0, 0], 0.031, atol=0.002)


def test_methods_of_scoring(data, fitted):
    eap = score_respondents(fitted, data)
    mode = score_respondents(fitted, data, method="map")
    ml = score_respondents(fitted, data, method="ml", bounds=(-4.0, 4.0))
    sums = score_respondents(fitted, data, method="eapsum")
    assert np.corrcoef(eap.mean[:, 0], mode.mean[:, 0])[0, 1] > 0.995
    assert np.corrcoef(eap.mean[:, 0], sums.mean[:, 0])[0, 1] > 0.9
    right = data.all(1)
    assert right.any()
    np.testing.assert_array_equal(ml.mean[right], 4.0)
    assert np.isnan(ml.standard_errors[right]).all()
    assert np.isfinite(ml.standard_errors[~right & data.any(1)]).any()
    reliability = eap.empirical_reliability
    assert 0.4 < reliability[0] < 0.9


def test_posterior_mode_is_where_the_gradient_vanishes(data, fitted):
    scores = score_respondents(fitted, data[:20], method="map")
    p = expit(scores.mean @ fitted.slopes.T + fitted.intercepts)
    gradient = (data[:20] - p) @ fitted.slopes - scores.mean
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)
    information = (p * (1 - p)) @ fitted.slopes**2 + 1.0
    np.testing.assert_allclose(scores.standard_errors, 1 / np.sqrt(information))


def test_scores_of_a_row_do_not_depend_on_other_rows(data, fitted):
    gaps = data.copy()
    gaps[::3, 1] = np.nan
    for method in ("eap", "map", "ml", "eapsum"):
        together = score_respondents(fitted, gaps, method=method).mean
        alone = score_respondents(fitted, gaps[:1], method=method).mean
        np.testing.assert_allclose(together[:1], alone, atol=1e-9)


def test_a_respondent_without_answers_keeps_the_prior(fitted):
    nothing = np.full((1, 8), np.nan)
    for method in ("eap", "map", "eapsum"):
        scores = score_respondents(fitted, nothing, method=method)
        np.testing.assert_allclose(scores.mean, 0.0, atol=1e-12)
        np.testing.assert_allclose(scores.standard_errors, 1.0, atol=1e-6)
    assert np.isnan(score_respondents(fitted, nothing, method="ml").mean).all()


def test_sum_score_table(data, fitted):
    table = sum_score_table(fitted)
    assert np.all(np.diff(table.mean[:, 0]) > 0)
    np.testing.assert_allclose(table.expected.sum(), len(data))
    scores = score_respondents(fitted, data, method="eapsum")
    np.testing.assert_allclose(scores.mean, table.mean[data.sum(1).astype(int)])


# --- fit ----------------------------------------------------------------------


def test_information_criteria(data, fitted):
    deviance = -2 * fitted.log_likelihood
    np.testing.assert_allclose(fitted.aic, deviance + 2 * 16)
    np.testing.assert_allclose(fitted.bic, deviance + 16 * np.log(400))
    np.testing.assert_allclose(fitted.sabic, deviance + 16 * np.log(402 / 24))
