"""Two respondents side by side; rotation and alignment of fitted estimators."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sklearn_mirt import (
    MIRTClassifier,
    MIRTTransformer,
    align_fits,
    benchmirt_pair_comparison,
    compare_respondents,
)
from sklearn_mirt.datasets import make_responses


@pytest.fixture(scope="module")
def fitted():
    data = make_responses(30, 120, 2, random_state=0)
    return MIRTTransformer(2).fit(data.responses), data.responses


def test_items_as_clusters_give_the_paired_t_test(fitted):
    model, X = fitted
    table = compare_respondents(model, X, 0, 1)
    row = table.loc[("dim1", "all")]
    want = stats.ttest_rel(X[1], X[0])
    assert row["t"] == pytest.approx(want.statistic)
    assert row["p"] == pytest.approx(want.pvalue)
    interval = want.confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    difference = X[1] - X[0]
    assert row["effect_size"] == pytest.approx(
        difference.mean() / difference.std(ddof=1)
    )


def test_clusters_see_through_repeated_items(fitted):
    model, X = fitted
    groups = np.arange(120) // 10
    twice = X.copy()
    twice[:, :] = X[:, groups * 10]  # ten copies of one answer
    table = compare_respondents(model, twice, 0, 1, item_groups=groups)
    want = stats.ttest_rel(X[1, ::10], X[0, ::10])
    assert table.loc[("dim2", "all"), "t"] == pytest.approx(want.statistic)
    assert table.loc[("dim2", "all"), "n_groups"] == 12


def test_tails_are_those_of_the_slopes(fitted):
    model, X = fitted
    table = compare_respondents(model, X, 2, 3, tail=0.25, n_bins=4)
    order = np.argsort(model.slopes_[:, 1])
    for name, chosen in (("upper tail", order[-30:]), ("lower tail", order[:30])):
        row = table.loc[("dim2", name)]
        assert row["n_items"] == 30
        assert row["mean_first"] == pytest.approx(X[2, chosen].mean())
        assert row["difference"] == pytest.approx((X[3] - X[2])[chosen].mean())
    bins = table.loc["dim1"].filter(like="bin", axis=0)
    assert bins["n_items"].tolist() == [30] * 4
    assert (table["q"] >= table["p"]).all()


def test_benchmirt_takes_the_samples_for_independent(fitted):
    model, X = fitted
    table = benchmirt_pair_comparison(model, X, 0, 1, tail=0.5)
    chosen = np.argsort(model.slopes_[:, 0], kind="stable")[::-1][:60]
    want = stats.ttest_ind(X[1, chosen], X[0, chosen])
    row = table.loc[("dim1", "upper tail")]
    assert (row["t"], row["p"]) == pytest.approx((want.statistic, want.pvalue))
    pooled = np.sqrt((X[0, chosen].var(ddof=1) + X[1, chosen].var(ddof=1)) / 2)
    assert row["cohens_d"] == pytest.approx(row["difference"] / pooled)


def test_gaps_are_left_out_and_ties_stay_together(fitted):
    model, X = fitted
    gaps = X.copy()
    gaps[0, :40] = np.nan
    row = compare_respondents(model, gaps, 0, 1).loc[("dim1", "all")]
    assert row["n_items"] == 80
    assert row["difference"] == pytest.approx((X[1] - X[0])[40:].mean())
    one = model.rotate(None)
    one.slopes_ = np.ones_like(model.slopes_)
    bins = compare_respondents(one, X, 0, 1).loc["dim1"].filter(like="bin", axis=0)
    assert bins["n_items"].tolist() == [120]


def test_strangers_are_refused(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="no respondent 99"):
        compare_respondents(model, X, 0, 99)
    with pytest.raises(ValueError, match="with itself"):
        compare_respondents(model, X, 0, 0)
    with pytest.raises(ValueError, match="tail must be"):
        compare_respondents(model, X, 0, 1, tail=0.7)


# ---- rotation and alignment of estimators


@pytest.fixture(scope="module")
def fits():
    out = {}
    for d in range(1, 6):
        X = make_responses(40, 100, d, random_state=d).responses
        out[d] = MIRTTransformer(d).fit(X)
    return out


METHODS = ["oblimin", "quartimin", "promax", "varimax", "quartimax", "bifactor", None]


@given(d=st.integers(1, 5), method=st.sampled_from(METHODS))
def test_rotation_keeps_probabilities_and_alignment_undoes_it(fits, d, method):
    fit = fits[d]
    rotated = fit.rotate(method)
    before = fit.item_parameters_.probability(fit.abilities_)
    after = rotated.item_parameters_.probability(rotated.abilities_)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-10)
    spread = [
        np.einsum("jp,npq,jq->nj", m.slopes_, m.ability_covariances_, m.slopes_)
        for m in (fit, rotated)
    ]
    np.testing.assert_allclose(*spread, rtol=1e-6, atol=1e-10)
    (aligned,), congruence = align_fits(fit, rotated)
    for name in ("slopes_", "abilities_", "item_covariances_", "item_prior_means_"):
        got, want = getattr(aligned, name), getattr(fit, name)
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-8)
    np.testing.assert_allclose(congruence, 1, atol=1e-10)


def test_rotate_returns_a_copy(fits):
    fit = fits[2]
    slopes = fit.slopes_.copy()
    rotated = fit.rotate("varimax")
    assert rotated is not fit
    assert (rotated.rotation, fit.rotation) == ("varimax", "oblimin")
    np.testing.assert_array_equal(fit.slopes_, slopes)
    np.testing.assert_allclose(rotated.ability_correlation_, np.eye(2), atol=1e-12)
    assert abs(fit.ability_correlation_[0, 1]) > 1e-3


def test_positive_slopes_cannot_be_rotated():
    X = make_responses(20, 30, 1, random_state=0).responses
    fit = MIRTTransformer(1, positive_slopes=True).fit(X)
    with pytest.raises(ValueError, match="positive_slopes"):
        fit.rotate("varimax")


def test_fits_of_other_items_and_layouts_are_joined_by_id(fits):
    X = make_responses(40, 100, 2, random_state=2).responses
    rows, columns = (a.ravel() for a in np.indices(X.shape))
    pairs = np.column_stack([rows, columns])
    some = columns < 60
    long = MIRTClassifier(2).fit(pairs[some], X.ravel()[some])
    wide = fits[2]
    _, congruence = align_fits(wide, long)
    assert (congruence.to_numpy() > 0.95).all()
