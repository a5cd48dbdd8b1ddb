"""Bootstrap: determinism, interruption, what each interval answers, coverage."""

import warnings

import numpy as np
import pytest
from scipy import stats

from sklearn_mirt import MIRTTransformer, ResponseData
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.diagnostics import bootstrap as module
from sklearn_mirt.diagnostics.bootstrap import bootstrap, combined_intervals
from sklearn_mirt.diagnostics.correlations import (
    Scales,
    adjusted,
    fisher_errors,
    fisher_interval,
    fisher_p_values,
    pearson,
)
from sklearn_mirt.exceptions import ResponseDataWarning


@pytest.fixture(scope="module")
def fitted():
    data = make_responses(40, 160, 2, n_groups=4, random_state=0)
    model = MIRTTransformer(2, item_groups=data.item_groups).fit(data.responses)
    return model, data


@pytest.fixture(scope="module")
def over_items(fitted):
    model, data = fitted
    return bootstrap(model, data.responses, n_replicates=40)


def test_replicates_are_the_same_for_any_number_of_threads(fitted, over_items):
    model, data = fitted
    for n_jobs in (1, 3):
        other = bootstrap(model, data.responses, n_replicates=5, n_jobs=n_jobs)
        # and the first ones do not depend on how many there are
        np.testing.assert_array_equal(other.abilities, over_items.abilities[:5])
        np.testing.assert_array_equal(other.correlations, over_items.correlations[:5])


def test_errors_of_abilities_are_near_the_posterior_ones(fitted, over_items):
    model, _ = fitted
    ratio = over_items.ability_errors() / model.ability_posteriors_.standard_errors
    assert 0.9 < np.median(ratio) < 1.4


def test_intervals_cover_the_abilities_of_a_simulation(fitted, over_items):
    model, data = fitted
    truth = data.abilities - data.abilities.mean(0)
    truth = np.linalg.solve(np.linalg.cholesky(truth.T @ truth / len(truth)), truth.T).T
    order = [
        int(np.abs(np.corrcoef(t, model.abilities_.T)[0, 1:]).argmax()) for t in truth.T
    ]
    table = over_items.ability_table()
    covered = []
    for k, d in enumerate(order):
        low, high = table[f"low_dim{d + 1}"], table[f"high_dim{d + 1}"]
        covered.append((low <= truth[:, k]) & (truth[:, k] <= high))
    assert 0.85 < np.mean(covered) <= 1


def test_ranks_have_intervals_and_ties(fitted, over_items):
    model, _ = fitted
    table = over_items.rank_table(0)
    assert table["rank"].tolist() == sorted(table["rank"])
    assert (table["low_rank"] <= table["rank"]).all()
    assert (table["rank"] <= table["high_rank"]).all()
    assert table["ability"].is_monotonic_decreasing
    tied = over_items.tied(0)
    assert not tied.diagonal().any()
    np.testing.assert_array_equal(tied, tied.T)
    np.testing.assert_array_equal(table["n_tied"].loc[model.respondents_], tied.sum(1))
    best, worst = table.index[0], table.index[-1]
    place = {r: i for i, r in enumerate(model.respondents_)}
    assert not tied[place[best], place[worst]]


def test_correlations_have_intervals_for_both_populations(fitted, over_items):
    model, data = fitted
    others = bootstrap(
        model, data.responses, resample="respondents", n_replicates=12, max_iter=15
    )
    both = combined_intervals(over_items, others)
    one = over_items.correlation_table()
    assert both.index.tolist() == sorted(set(data.item_groups))
    np.testing.assert_array_equal(both["r_dim1"], one["r_dim1"])
    assert (both["low_dim1"] <= one["low_dim1"]).all()
    assert (both["high_dim1"] >= one["high_dim1"]).all()
    table = others.mdisc_table()
    assert (table["low"] < table["mdisc"]).all()
    assert (table["mdisc"] < table["high"]).all()
    with pytest.raises(ValueError, match="resample='items'"):
        others.ability_table()
    with pytest.raises(ValueError, match="resample='respondents'"):
        over_items.mdisc_table()


def test_whole_families_are_drawn(fitted):
    families = np.repeat(["x", "y", "z"], [2, 3, 5])
    members = module._families(np.arange(10), families)
    assert len(members) == 3
    for seed in range(20):
        drawn = module._drawn_families(members, np.random.default_rng(seed))
        counts = np.bincount(drawn, minlength=10)
        assert (
            len(set(counts[:2])) == len(set(counts[2:5])) == len(set(counts[5:])) == 1
        )
    with pytest.raises(ValueError, match="at least two"):
        module._families(np.arange(3), ["a", "a", "a"])
    with pytest.raises(ValueError, match="respondent_groups has 2 values"):
        module._families(np.arange(3), ["a", "b"])


def test_items_are_drawn_within_their_group():
    groups = np.array([0, 1, 1, 0, 2, 1])
    for seed in range(10):
        drawn = module._drawn_items(groups, np.random.default_rng(seed))
        assert np.bincount(groups[drawn]).tolist() == [2, 3, 1]


def test_an_interruption_keeps_what_was_done(fitted):
    model, data = fitted
    calls = []

    def progress(done, total):
        calls.append((done, total))
        if done == 4:
            raise KeyboardInterrupt

    with pytest.warns(ResponseDataWarning, match="4 of 50 replicates"):
        partial = bootstrap(
            model, data.responses, n_replicates=50, max_iter=2, progress=progress
        )
    assert partial.n_replicates == 4
    assert calls == [(k, 50) for k in range(1, 5)]

    def at_once(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bootstrap(model, data.responses, n_replicates=9, max_iter=2, progress=at_once)


def test_other_data_are_refused(fitted):
    model, data = fitted
    with pytest.raises(ValueError, match="other items than the fit"):
        bootstrap(model, data.responses[:, :50])
    with pytest.raises(ValueError, match="resample must be"):
        bootstrap(model, data.responses, resample="cells")


@pytest.mark.slow
def test_fits_by_quadrature_can_be_resampled():
    data = make_responses(250, 12, 1, random_state=0)
    model = MIRTTransformer(1).fit(data.responses)
    assert model.solver_ == "quadrature"
    result = bootstrap(model, data.responses, n_replicates=5)
    ratio = result.ability_errors() / model.ability_posteriors_.standard_errors
    assert 0.5 < np.median(ratio) < 2
    rasch = MIRTTransformer(1, item_model="rasch").fit(data.responses)
    with pytest.raises(ValueError, match="two-parameter model"):
        bootstrap(rasch, data.responses)


# ---- correlations


def test_pearson_is_that_of_scipy_with_gaps():
    rng = np.random.default_rng(0)
    theta, means = rng.standard_normal((30, 2)), rng.random((30, 3))
    means[rng.random(means.shape) < 0.3] = np.nan
    r = pearson(theta, means)
    for g in range(3):
        seen = ~np.isnan(means[:, g])
        for k in range(2):
            want = stats.pearsonr(theta[seen, k], means[seen, g]).statistic
            assert r[g, k] == pytest.approx(want, abs=1e-12)
    constant = np.column_stack([np.ones(30), np.full(30, np.nan)])
    assert np.isnan(pearson(theta, constant)).all()


def test_errors_of_correlations_are_those_of_normal_theory_and_of_clusters():
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((4000, 1))
    means = 0.6 * theta + 0.8 * rng.standard_normal((4000, 1))
    error, dof = fisher_errors(theta, means)
    assert error[0, 0] == pytest.approx(1 / np.sqrt(4000), rel=0.05)
    assert dof[0] == 3999
    # every respondent four times over: clusters see through it
    four = np.tile(np.arange(1000), 4)
    error, dof = fisher_errors(theta[four], means[four], four)
    assert error[0, 0] == pytest.approx(1 / np.sqrt(1000), rel=0.1)
    assert dof[0] == 999


def test_p_values_are_uniform_under_the_null():
    rng = np.random.default_rng(0)
    theta, means = rng.standard_normal((30, 1)), rng.standard_normal((30, 2000))
    r = pearson(theta, means)
    error, dof = fisher_errors(theta, means)
    p = fisher_p_values(r, error, dof[:, None])
    assert 0.03 < np.mean(p < 0.05) < 0.08
    low, high = fisher_interval(r, error, dof[:, None])
    assert 0.92 < np.mean((low < 0) & (high > 0)) < 0.97


def test_adjusted_p_values_leave_gaps():
    p = np.array([[0.01, np.nan], [0.02, 0.5]])
    q = adjusted(p)
    assert np.isnan(q[0, 1])
    want = stats.false_discovery_control([0.01, 0.02, 0.5], method="by")
    np.testing.assert_allclose(q[~np.isnan(q)], want)


def test_scales_average_over_parts():
    X = np.array([[1, 0, 1, np.nan], [0, 0, np.nan, 1]])
    data = ResponseData.from_wide(X)
    scales = Scales(
        np.array([0, 0, 1, 1]), np.array([[True, True], [False, True]]), ["all", "b"]
    )
    np.testing.assert_allclose(scales.means(data), [[2 / 3, 1], [1 / 3, 1]])
    halves = scales.take(np.array([0, 2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        means = halves.means(data.take(items=np.array([0, 2])))
    np.testing.assert_allclose(means, [[1, 1], [0, np.nan]])
