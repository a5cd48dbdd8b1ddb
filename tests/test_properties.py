"""What must hold of every table, however ugly: properties over generated ones.

Sizes are tiny, so that 50 examples of each cost little; `make nightly` tries 1,000.
"""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

from sklearn_mirt import (
    AdditiveClassifier,
    FullScoreRegressor,
    GroupMeanScoreClassifier,
    InformativeItemSelector,
    ItemMeanClassifier,
    ItemParameters,
    MeanScoreClassifier,
    MIRTClassifier,
    MIRTTransformer,
    RawMeanScorer,
    ResponseData,
    StratifiedMeanScorer,
    metrics,
)
from sklearn_mirt.data.checks import encode_ids
from sklearn_mirt.data.files.write import guarded_text
from sklearn_mirt.metrics.splitters import CellKFold, ItemKFold, RespondentKFold
from sklearn_mirt.models.item_bank_file import load_item_bank, save_item_bank
from sklearn_mirt.models.rotation.apply import congruence

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
NAN = np.nan
FITTED = ("slopes_", "intercepts_", "abilities_", "item_covariances_")
SCORES = st.sampled_from([0.0, 0.0, 1.0, 1.0, 0.5, NAN])
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=7)


def _constant(X):
    X[0] = 1.0
    X[:, -1] = 0.0
    return X


def _separable(X):
    return np.tri(*X.shape)


def _disconnected(X):
    row, column = (np.arange(n) % 2 for n in X.shape)
    return np.where(row[:, None] == column, X, NAN)


def _one_cell(X):
    out = np.full(X.shape, NAN)
    out[-1, 0] = 1.0
    return out


def _repeated(X):
    return np.tile(X[:1], (len(X), 1))


UGLY = [
    *(lambda X: X, _constant, _separable, _disconnected, _one_cell, _repeated),
    *(lambda X: np.full(X.shape, 0.5), lambda X: np.where(X == 0, 1e-30, X)),
]


@st.composite
def tables(draw, shapes=SHAPES, answered=True):
    """Tables of answers, ugly ones among them; at least one cell is answered."""
    X = draw(hnp.arrays(np.float64, shapes, elements=SCORES))
    X = draw(st.sampled_from(UGLY))(X.copy())
    if answered:
        assume(not np.isnan(X).all())
    return X


def fit(X, n_dims=1, **options):
    """Return a short fit; its trace may end before it has converged."""
    options = {"solver": "variational", "max_iter": 6, **options}
    return MIRTTransformer(min(n_dims, len(X)), **options).fit(X)


def cells(X):
    i, j = np.nonzero(~np.isnan(X))
    return np.column_stack([i, j]), X[i, j]


def has_one_first_direction(X):
    """Whether respondents differ most in one direction.

    Where they differ in none, or in several alike, as in an identity matrix, several
    fits are equally good, and rounding says which of them is found.
    """
    rate = np.nanmean(X, axis=0)
    spread = np.sqrt(np.maximum(rate * (1 - rate), 0.01))
    Z = np.nan_to_num((X - rate) / spread)
    values = np.linalg.eigvalsh(Z @ Z.T)
    return values[-1] > np.append(0, values)[-2] + 0.1


def direction(slopes, others):
    """-1 where slopes that add up to 0 leave the sign to rounding, and it differs."""
    undecided = abs(slopes.sum()) < 1e-8 * np.abs(slopes).sum()
    return -1 if undecided and (slopes * others).sum() < 0 else 1


# -------------------------------------------------------------------------- the fits


@given(tables(), st.integers(1, 4))
def test_every_table_has_a_finite_fit_whose_bound_never_falls(X, n_dims):
    mirt = fit(X, n_dims, max_iter=12)
    for name in FITTED:
        assert np.isfinite(getattr(mirt, name)).all(), name
    gains = np.diff(mirt.lower_bounds_)
    assert np.all(gains >= -1e-9 * np.abs(mirt.lower_bounds_[:-1]).max(initial=1))


@given(tables(), st.integers(1, 2))
def test_every_table_has_a_finite_exact_fit(X, n_dims):
    n_dims = min(n_dims, *X.shape)
    mirt = fit(X, n_dims, solver="quadrature", max_iter=4)
    for name in FITTED:
        assert np.isfinite(getattr(mirt, name)).all(), name
    assert np.all(np.linalg.eigvalsh(mirt.ability_covariances_) > 0)


@given(tables(), st.randoms(use_true_random=False))
def test_permuted_columns_permute_the_result(X, random):
    """To 1e-8, after undoing the permutation."""
    assume(has_one_first_direction(X))
    order = np.array(random.sample(range(X.shape[1]), X.shape[1]))
    one, two = fit(X), fit(X[:, order])
    turn = direction(one.slopes_[order], two.slopes_)
    assert_allclose(two.slopes_ * turn, one.slopes_[order], atol=1e-8)
    assert_allclose(two.intercepts_, one.intercepts_[order], atol=1e-8)
    assert_allclose(two.standard_errors_, one.standard_errors_[order], atol=1e-8)
    assert_allclose(two.abilities_ * turn, one.abilities_, atol=1e-8)


@given(tables(), st.randoms(use_true_random=False))
def test_permuted_rows_permute_the_abilities(X, random):
    assume(has_one_first_direction(X))
    order = np.array(random.sample(range(len(X)), len(X)))
    one, two = fit(X), fit(X[order])
    turn = direction(one.slopes_, two.slopes_)
    assert_allclose(two.abilities_ * turn, one.abilities_[order], atol=1e-8)
    assert_allclose(two.slopes_ * turn, one.slopes_, atol=1e-8)


@given(tables(), st.integers(1, 3))
def test_names_change_nothing(X, n_dims):
    named = pd.DataFrame(
        X,
        [f"respondent {k}" for k in range(len(X))],
        [f"item {k}" for k in range(X.shape[1])],
    )
    one, two = fit(X, n_dims), fit(named, n_dims)
    for name in FITTED:
        assert_array_equal(getattr(one, name), getattr(two, name))


@given(tables(), st.booleans())
def test_what_nobody_answered_changes_nothing_else(X, item):
    assume(has_one_first_direction(X))
    axis = 1 if item else 0
    wider = np.insert(X, X.shape[axis], NAN, axis=axis)
    one, two = fit(X), fit(wider)
    n, m = X.shape
    assert_allclose(two.abilities_[:n], one.abilities_, atol=1e-8)
    assert_allclose(two.slopes_[:m], one.slopes_, atol=1e-8)
    assert_allclose(two.intercepts_[:m], one.intercepts_, atol=1e-8)


@pytest.mark.slow
@given(tables(), st.integers(1, 3))
def test_two_runs_and_two_threads_give_the_same_bytes(X, n_dims):
    runs = [fit(X, n_dims, n_jobs=n) for n in (1, 1, 2)]
    with ThreadPoolExecutor(2) as pool:
        runs += pool.map(lambda X: fit(X, n_dims), [X, X])
    for name in FITTED:
        assert len({getattr(run, name).tobytes() for run in runs}) == 1, name


@given(tables(answered=False))
def test_the_input_is_never_changed(X):
    before, frame = X.copy(), pd.DataFrame(X)
    copy = frame.copy(deep=True)
    for table in (X, frame):
        try:
            fit(table).transform(table)
        except ValueError as error:
            assert "no answers" in str(error)
    assert_array_equal(X, before)
    pd.testing.assert_frame_equal(frame, copy)


@given(tables(), tables())
def test_an_ability_does_not_depend_on_the_other_rows(X, other):
    mirt = fit(X)
    width = X.shape[1]
    new = np.full((len(other), width), NAN)
    new[:, : other.shape[1]] = other[:, :width]
    together = mirt.transform(new)
    for row, found in zip(new, together, strict=True):
        assert_allclose(mirt.transform(row[None])[0], found, atol=1e-9)


@given(tables(), st.data())
def test_more_right_answers_never_lower_an_ability(X, data):
    mirt = fit(X, positive_slopes=True)
    row = data.draw(st.integers(0, len(X) - 1))
    item = data.draw(st.integers(0, X.shape[1] - 1))
    lower, higher = X[row].copy(), X[row].copy()
    lower[item], higher[item] = 0.0, 1.0
    low, high = mirt.transform(np.stack([lower, higher]))[:, 0]
    assert high >= low - 1e-9


@given(tables())
def test_the_long_and_the_wide_layout_are_one_fit(X):
    pairs, y = cells(X)
    assume(np.isin(y, (0, 1)).all())
    clf = MIRTClassifier(1, solver="variational", max_iter=6).fit(pairs, y)
    seen = ~np.isnan(X)
    mirt = fit(X[seen.any(1)][:, seen.any(0)])
    for name in FITTED:
        assert_allclose(getattr(clf, name), getattr(mirt, name), atol=1e-9)


@given(tables(), st.integers(1, 3))
def test_a_pickle_scores_as_the_fit(X, n_dims):
    mirt = fit(X, n_dims)
    twin = pickle.loads(pickle.dumps(mirt))
    assert twin.transform(X).tobytes() == mirt.transform(X).tobytes()


@given(tables(), st.integers(2, 3), st.sampled_from(["varimax", "promax", None]))
def test_rotating_a_fit_moves_no_probability(X, n_dims, method):
    assume(len(X) >= n_dims)
    mirt = fit(X, n_dims)
    turned = mirt.rotate(method)
    p, q = (m.item_parameters_.probability(m.abilities_) for m in (mirt, turned))
    assert_allclose(p, q, atol=1e-10)


@given(tables(), st.sampled_from(["bank.json", "bank.parquet"]))
def test_a_saved_bank_scores_as_the_fit(tmp_path_factory, X, name):
    mirt = fit(X)
    path = tmp_path_factory.mktemp("bank") / name
    loaded = load_item_bank(save_item_bank(mirt, path)).items
    for field in ("slopes", "intercepts", "guessing", "covariances"):
        wanted = getattr(mirt.item_parameters_, field)
        assert getattr(loaded, field).tobytes() == wanted.tobytes()


# ----------------------------------------------------------------------- predictions


@given(tables(), st.sampled_from([0, 1, 2, 3, 4]))
def test_predictions_are_probabilities_for_known_and_unknown_ids(X, which):
    clf = [
        MIRTClassifier(1, solver="variational", max_iter=4),
        MeanScoreClassifier(),
        GroupMeanScoreClassifier(),
        ItemMeanClassifier(),
        AdditiveClassifier(),
    ][which]
    pairs, y = cells(X)
    clf.fit(pairs, y)
    for asked in (pairs, pairs + 100, np.column_stack([pairs[:, 0], pairs[:, 1] + 9])):
        p = clf.predict_proba(asked)
        assert np.all((p >= 0) & (p <= 1))
        assert_allclose(p.sum(1), 1)


@given(
    hnp.arrays(float, (4, 3), elements=st.floats(-5, 5)),
    hnp.arrays(float, 4, elements=st.floats(-9, 9)),
    hnp.arrays(float, 4, elements=st.floats(0, 0.9)),
    hnp.arrays(float, (2, 3), elements=st.floats(-5, 5)),
)
def test_a_probability_lies_between_the_floor_and_one(slopes, intercepts, floor, theta):
    none = np.zeros((4, 4, 4))
    items = ItemParameters(slopes, intercepts, floor, none, np.arange(4))
    p = items.probability(theta)
    assert np.all((p >= floor) & (p <= 1))
    better = items.probability(theta + np.where(slopes[0] > 0, 1.0, -1.0))
    assert np.all(better[:, 0] >= p[:, 0])
    sloped = items.mdisc > 0
    wanted = -intercepts[sloped]
    assert_allclose(items.mdisc[sloped] * items.mdiff[sloped], wanted, atol=1e-9)


# ------------------------------------------------------------- selection and scoring


WIDE = hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6)


@given(tables(WIDE), st.sampled_from(["stratified", "random", "information"]))
def test_a_choice_is_a_prefix_of_every_larger_choice(X, strategy):
    kept = np.flatnonzero(~np.isnan(X).all(0))
    chosen = [
        InformativeItemSelector(n, strategy=strategy, n_dims=1).fit(X)
        for n in (len(kept), max(1, len(kept) // 2))
    ]
    whole, part = (selector.ranking_ for selector in chosen)
    assert set(whole) == set(kept)
    assert_array_equal(part, whole[: len(part)])
    assert_array_equal(np.flatnonzero(chosen[1].support_), np.sort(part))
    assert_array_equal(chosen[1].transform(X), X[:, np.sort(part)])


@given(tables(WIDE), st.booleans())
def test_scores_of_whole_rows_are_their_means(X, calibrate):
    X = np.where(np.isnan(X), 0.5, X)
    groups = np.arange(X.shape[1]) % 2
    wanted = [X.mean(1), *(X[:, groups == g].mean(1) for g in range(2))]
    for scorer in (
        FullScoreRegressor(1, item_groups=groups, calibrate=calibrate),
        RawMeanScorer(item_groups=groups),
        StratifiedMeanScorer(item_groups=groups),
    ):
        scores, errors = scorer.fit(X).predict(X, return_std=True)
        assert_allclose(scores, np.column_stack(wanted), atol=1e-12)
        assert_allclose(errors, 0, atol=1e-12)


@given(tables(WIDE), st.data())
def test_scores_of_parts_are_scores_with_finite_errors(X, data):
    kept = np.flatnonzero(~np.isnan(X).all(0))
    few = data.draw(st.lists(st.sampled_from(kept.tolist()), unique=True))
    answers = np.full(X.shape, NAN)
    answers[:, few] = X[:, few]
    for scorer in (FullScoreRegressor(1), RawMeanScorer()):
        scores, errors = scorer.fit(X).predict(answers, return_std=True)
        assert np.all((scores >= 0) & (scores <= 1))
        assert np.all(np.isfinite(errors) & (errors >= 0))


# ------------------------------------------------------------------ data and metrics


@given(tables(answered=False), st.integers(1, 4))
def test_repeats_that_are_counted_are_weights(X, n_repeats):
    pairs, y = cells(X)
    assume(len(y))
    long = np.repeat(pairs, n_repeats, axis=0), np.repeat(y, n_repeats)
    counted = ResponseData.from_long(*long[0].T, long[1], aggregate="count")
    weighted = ResponseData.from_long(*pairs.T, y, weights=np.full(len(y), n_repeats))
    for one, two in zip(counted.cells(), weighted.cells(), strict=True):
        assert_array_equal(one, two)


IDS = st.one_of(st.text(max_size=3), st.integers(-9, 9), st.booleans())


@given(st.lists(IDS, min_size=1, max_size=8))
def test_codes_of_ids_lead_back_to_the_ids(ids):
    codes, unique = encode_ids(np.array([*ids, None], object)[:-1], "item")
    assert [unique[code] for code in codes] == ids
    assert len(set(unique)) == len(unique)


LABELS = hnp.arrays(float, 8, elements=st.sampled_from([0.0, 1.0]))
PROBABILITIES = hnp.arrays(float, 8, elements=st.floats(0.01, 0.99))
WEIGHTS = hnp.arrays(float, 8, elements=st.floats(0.1, 9))


@given(LABELS, PROBABILITIES, WEIGHTS)
def test_auc_is_about_order_alone_and_the_unit_of_weights_is_free(y, p, weight):
    assume(0 < y.sum() < 8)
    auc = metrics.cell_auc(y, p)
    assert 0 <= auc <= 1
    stretched = expit(2 * logit(p))
    assume(len(np.unique(stretched)) == len(np.unique(p)))
    assert metrics.cell_auc(y, stretched) == pytest.approx(auc, abs=1e-12)
    assert metrics.cell_auc(1 - y, p) == pytest.approx(1 - auc, abs=1e-12)
    for metric in (metrics.cell_log_loss, metrics.cell_brier, metrics.cell_mae):
        one, ten = (metric(y, p, sample_weight=w * weight) for w in (1, 10))
        assert one == pytest.approx(ten)
        assert metric(1 - y, 1 - p) == pytest.approx(metric(y, p))


@given(
    hnp.arrays(float, (5, 3), elements=st.floats(-9, 9)),
    hnp.arrays(float, (5, 3), elements=st.floats(-9, 9)),
)
def test_congruence_is_a_symmetric_cosine(a, b):
    found = congruence(a, b)
    assert np.all(np.abs(found) <= 1)
    assert_allclose(found, congruence(b, a))
    assert_allclose(congruence(a, -b), -found)
    there = np.abs(a).max(0) > 1e-100
    assert_allclose(congruence(a, 3 * a)[there], 1)


@given(
    hnp.arrays(int, (12, 2), elements=st.integers(0, 5)),
    st.sampled_from([CellKFold, ItemKFold, RespondentKFold]),
)
def test_folds_hold_every_cell_out_once_and_divide_no_label(X, kind):
    column = {ItemKFold: 1, RespondentKFold: 0}.get(kind)
    assume(column is None or len(np.unique(X[:, column])) >= 2)
    held = []
    for train, test in kind(2).split(X):
        assert not set(train) & set(test)
        assert len(train) + len(test) == 12
        held += test.tolist()
        if column is not None:
            assert not set(X[train, column]) & set(X[test, column])
    assert sorted(held) == list(range(12))


@given(st.text())
def test_no_text_that_was_guarded_begins_a_formula(text):
    safe = guarded_text(text)
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert guarded_text(safe) == safe
    assert safe in (text, "'" + text)


@given(st.lists(IDS, min_size=1, max_size=5, unique_by=repr))
def test_a_warning_of_silent_items_names_one(ids):
    assume(len(set(ids)) == len(ids))
    X = np.full((2, len(ids) + 1), NAN)
    X[:, -1] = [0, 1]
    data = ResponseData.from_wide(X, items=[*ids, "answered"])
    assume("answered" not in ids)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MIRTTransformer(1, solver="variational", max_iter=2).fit(data)
    assert any(repr(ids[0]) in str(one.message) for one in caught)


def test_properties_have_no_deadline():
    """The first example of a property pays for a compilation."""
    assert settings.default.deadline is None
