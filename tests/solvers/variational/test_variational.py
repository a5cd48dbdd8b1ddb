"""The variational solver: against the plain numpy reference, and by its properties."""

import warnings

import numpy as np
import pandas as pd
import pytest
import reference_variational as reference
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from variational_problems import (
    NAN,
    as_dense,
    as_sparse,
    design_of,
    same_signs,
    simulated,
    solve,
)

from sklearn_mirt import MIRTTransformer, ResponseData
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.models.prediction import expected_scores
from sklearn_mirt.solvers.kernels.cpu import CpuKernels
from sklearn_mirt.solvers.variational.fold_in import fold_in

# -------------------------------------------------------------------- the reference

CASES = {
    "complete": {},
    "one dimension": {"d": 1},
    "three dimensions": {"d": 3},
    "more respondents than items": {"n": 70, "j": 20},
    "few missing cells": {"missing": 0.2},
    "missing cells": {"missing": 0.4},
    "missing cells, one dimension": {"missing": 0.4, "d": 1},
    "missing cells and floors": {"missing": 0.4, "guessing": "by item"},
    "weights": {"weighted": True},
    "fractions": {"graded": True},
    "groups": {"groups": 3},
    "floor": {"guessing": 0.2},
    "floors by item": {"guessing": "by item"},
    "everything": {
        "d": 3,
        "missing": 0.2,
        "weighted": True,
        "graded": True,
        "groups": 4,
        "guessing": "by item",
    },
}


@pytest.mark.parametrize("storage", [as_dense, as_sparse])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_passes_are_those_of_the_reference(case, storage):
    case = dict(case)
    n_groups, guessing = case.pop("groups", 1), case.pop("guessing", 0.0)
    y, weight = simulated(**case)
    n_items, d = y.shape[1], case.get("d", 2)
    if isinstance(guessing, str):  # includes items without any floor
        guessing = np.linspace(0, 0.3, n_items)
    groups = np.arange(n_items) % n_groups
    ours = solve(storage(y, weight), d, design_of(n_items, groups, guessing), 12)
    # the reference divides by the floor's share, where a floor of 0 is 1
    theirs = reference.fit_variational(
        y, weight, d, groups, guessing, max_iter=12, tol=-1.0
    )
    signs = same_signs(ours.abilities.mean, theirs["ability_mean"])
    ends = np.append(signs, 1.0)
    assert_allclose(ours.trace, theirs["bounds"], rtol=1e-9)
    assert_allclose(ours.abilities.mean * signs, theirs["ability_mean"], atol=1e-6)
    assert_allclose(
        ours.abilities.covariances * np.outer(signs, signs),
        theirs["ability_cov"],
        atol=1e-6,
    )
    assert_allclose(ours.items.mean * ends, theirs["item_mean"], atol=1e-6)
    assert_allclose(
        ours.items.covariances * np.outer(ends, ends), theirs["item_cov"], atol=1e-6
    )
    assert_allclose(ours.prior.means * ends, theirs["prior_mean"], atol=1e-6)
    assert_allclose(
        expected_scores(ours.items, ours.abilities),
        reference.predict(theirs, guessing),
        atol=1e-6,
    )


@pytest.mark.parametrize("guessing", [0.0, 0.25])
@pytest.mark.parametrize("storage", [as_dense, as_sparse])
def test_the_bound_is_that_of_the_state_returned(storage, guessing):
    y, weight = simulated(missing=0.2, weighted=True, graded=True)
    design = design_of(60, np.arange(60) % 2, guessing)
    fit = solve(storage(y, weight), 2, design, 200, tol=1e-7)
    bound = reference._bound(
        y,
        weight,
        fit.abilities.mean,
        fit.abilities.covariances,
        fit.items.mean,
        fit.items.covariances,
        fit.prior.means[design.groups],
        fit.prior.covariances[design.groups],
        guessing,
    )
    assert_allclose(fit.trace[-1], bound, rtol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_fold_in_is_that_of_the_reference(d, guessing):
    y, weight = simulated(d=d, missing=0.3, weighted=True)
    fit = solve(as_dense(y, weight), d, design_of(60, guessing=guessing), 30)
    new, w = simulated(9, d=d, missing=0.5, graded=True, weighted=True, seed=1)
    new[4], w[4] = NAN, 0.0
    mean, covariance = reference.fold_in(
        new, w, fit.items.mean, fit.items.covariances, guessing, n_iter=2000
    )
    for storage in (as_dense, as_sparse):
        found = fold_in(storage(new, w), fit.items, np.eye(d))
        assert_allclose(found.mean, mean, atol=1e-6)
        assert_allclose(found.covariances, covariance, atol=1e-6)
        assert_array_equal(found.mean[4], np.zeros(d))
        assert_allclose(found.covariances[4], np.eye(d))


# -------------------------------------------------------------------------- the bound

REAL = ["abortion", "alpaca_eval2", "arc_mixtral_family", "bfcl_v1", "data_math"]
REAL += ["data_read", "deayala", "environment", "jailbreakbench", "lsat6", "lsat7"]
REAL += ["livecodebench_2024", "mmlu_pro", "mobility", "nlu_test_sets", "openllm_v1"]
REAL += ["psn_irt", "sat12", "slf", "speechmap_criticism", "verbagg", "xstest"]


def some_of(folder, n_rows=120, n_columns=250):
    """A corner of a response set, graded scores brought to [0, 1]."""
    table = pd.read_csv(folder / "responses.csv.gz", index_col=0, nrows=1500)
    table = table.select_dtypes("number").iloc[:, :n_columns]
    # spread over the rows: some files are sorted by response pattern
    table = table.iloc[np.unique(np.linspace(0, len(table) - 1, n_rows).astype(int))]
    X = table.to_numpy(dtype=float)
    return (X - np.nanmin(X)) / (np.nanmax(X) - np.nanmin(X))


@pytest.mark.parametrize("name", REAL)
@pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning")
def test_the_bound_never_falls_on_real_answers(real_data, name):
    X = some_of(real_data(name))
    n_dims = min(3, len(X))
    data = ResponseData.from_wide(X)
    fits = [
        solve(data, n_dims, design_of(X.shape[1]), 60, tol=1e-6, **options)
        for options in ({"accelerate": False}, {"accelerate": True})
    ]
    for fit in fits:
        assert np.all(np.diff(fit.trace) >= 0)
        assert np.isfinite(fit.abilities.mean).all()
        assert np.isfinite(fit.items.mean).all()
    plain, jumping = (fit.trace[-1] for fit in fits)
    assert_allclose(jumping, plain, rtol=5e-3)


def test_a_pass_of_the_reference_never_falls_either_so_no_bound_was_dropped():
    y, weight = simulated(missing=0.2)
    fit = solve(as_dense(y, weight), 2, design_of(60), 25)
    assert len(fit.trace) == 25
    assert np.all(np.diff(fit.trace) > 0)


@pytest.mark.parametrize("guessing", [0.0, 0.2])
def test_slopes_stay_positive_where_asked_and_the_bound_rises(guessing):
    y, weight = simulated(30, 80, 2)
    y[:, ::4] = 1 - y[:, ::4]  # items that better respondents fail
    free = solve(as_dense(y, weight), 2, design_of(80, guessing=guessing), 60)
    design = design_of(80, guessing=guessing, positive_slopes=True)
    kept = solve(as_dense(y, weight), 2, design, 60)
    assert free.items.slopes.min() < -0.2
    assert kept.items.slopes.min() >= 0
    assert np.count_nonzero(kept.items.slopes == 0) > 0
    assert np.all(np.diff(kept.trace) >= 0)
    assert kept.trace[-1] < free.trace[-1]


# ------------------------------------------------------------- same result, other way


@pytest.mark.parametrize("fuse_from", [0, np.inf])
def test_any_number_of_threads_gives_the_same_bytes(fuse_from, monkeypatch):
    monkeypatch.setattr(CpuKernels, "block_cells", 2**14)
    monkeypatch.setattr(CpuKernels, "fuse_from", fuse_from)
    X = make_responses(150, 2500, 2, missing=0.1, random_state=0).responses
    for data in (
        ResponseData.from_wide(X),
        as_sparse(X, ~np.isnan(X)),
    ):
        assert len(data.blocks(2**14)) > 2
        fits = [
            solve(data, 2, design_of(data.n_items), 7, n_jobs=n, dtype="float32")
            for n in (1, 2, 3, 7)
        ]
        for fit in fits[1:]:
            assert_array_equal(fit.trace, fits[0].trace)
            assert_array_equal(fit.items.mean, fits[0].items.mean)
            assert_array_equal(fit.abilities.mean, fits[0].abilities.mean)
            assert_array_equal(fit.abilities.covariances, fits[0].abilities.covariances)


def test_two_fits_give_the_same_bytes():
    X = make_responses(40, 100, random_state=0).responses
    one, two = (MIRTTransformer(n_jobs=n).fit(X) for n in (1, 2))
    for name in ("slopes_", "intercepts_", "abilities_", "item_covariances_"):
        assert_array_equal(getattr(one, name), getattr(two, name))
    assert_array_equal(one.transform(X), two.transform(X))


def test_single_precision_predicts_like_double():
    X = make_responses(60, 400, 3, missing=0.1, random_state=0).responses
    single, double = (
        MIRTTransformer(3, dtype=dtype).fit(X) for dtype in ("float32", "float64")
    )
    assert_allclose(
        expected_scores(single.item_parameters_, single.ability_posteriors_),
        expected_scores(double.item_parameters_, double.ability_posteriors_),
        atol=1e-4,
    )


@pytest.fixture(scope="module")
def table():
    data = make_responses(40, 90, 2, missing=0.15, n_groups=3, random_state=3)
    return data.responses, data.item_groups


FITTED = ["abilities_", "ability_covariances_", "slopes_", "intercepts_"]
FITTED += ["item_covariances_", "ability_correlation_"]
BY_ITEM = {"slopes_", "intercepts_", "item_covariances_"}
BY_RESPONDENT = {"abilities_", "ability_covariances_"}


def assert_same_fit(one, two, rows=slice(None), items=slice(None), atol=1e-8):
    """`two` restricted to some rows and items is `one`."""
    for name in FITTED:
        a, b = getattr(one, name), getattr(two, name)
        b = b[items] if name in BY_ITEM else b[rows] if name in BY_RESPONDENT else b
        assert_allclose(b, a, atol=atol, err_msg=name)


def test_an_item_without_answers_changes_nothing_else(table):
    X, groups = table
    wider = np.insert(X, 30, NAN, axis=1)
    one = MIRTTransformer(item_groups=groups).fit(X)
    with pytest.warns(ResponseDataWarning, match=r"1 item\(s\) without answers: 30"):
        two = MIRTTransformer(item_groups=np.insert(groups, 30, groups[30])).fit(wider)
    assert_same_fit(one, two, items=np.arange(91) != 30)
    g = list(two.groups_).index(groups[30])
    assert_allclose(two.slopes_[30], two.item_prior_means_[g, :2])
    assert_allclose(two.item_covariances_[30], two.item_prior_covariances_[g])


def test_a_respondent_without_answers_changes_nothing_else(table):
    X, groups = table
    taller = np.insert(X, 7, NAN, axis=0)
    one = MIRTTransformer(item_groups=groups).fit(X)
    with pytest.warns(
        ResponseDataWarning, match=r"1 respondent\(s\) without answers: 7"
    ):
        two = MIRTTransformer(item_groups=groups).fit(taller)
    assert_same_fit(one, two, rows=np.arange(41) != 7)
    assert_array_equal(two.abilities_[7], [0, 0])
    assert_allclose(two.ability_covariances_[7], two.ability_correlation_)


def test_permuting_rows_and_columns_permutes_the_result(table):
    X, groups = table
    rng = np.random.default_rng(0)
    rows, items = rng.permutation(len(X)), rng.permutation(X.shape[1])
    one = MIRTTransformer(item_groups=groups).fit(X)
    two = MIRTTransformer(item_groups=groups[items]).fit(X[rows][:, items])
    assert_same_fit(one, two, rows=np.argsort(rows), items=np.argsort(items), atol=1e-7)


def test_names_of_rows_items_and_groups_change_nothing(table):
    X, groups = table
    plain = MIRTTransformer(item_groups=groups).fit(X)
    frame = pd.DataFrame(X).rename("row {}".format).rename("item {}".format, axis=1)
    names = {"group-0": "x", "group-1": "y", "group-2": "z"}
    named = MIRTTransformer(
        item_groups={c: names[g] for c, g in zip(frame, groups, strict=True)}
    ).fit(frame)
    for name in FITTED:
        assert_array_equal(getattr(named, name), getattr(plain, name))


def test_two_equal_answers_of_half_weight_are_one_answer(table):
    X, _ = table
    one = solve(as_dense(X, np.where(np.isnan(X), 0, 1.0)), 2, design_of(90), 20)
    i, j = np.nonzero(~np.isnan(X))
    half = ResponseData.from_long(
        np.tile(i, 2),
        np.tile(j, 2),
        np.tile(X[i, j], 2),
        weights=np.full(2 * len(i), 0.5),
        aggregate="count",
    )
    two = solve(half, 2, design_of(90), 20)
    assert_allclose(two.trace, one.trace, rtol=1e-12)
    assert_allclose(two.items.mean, one.items.mean, atol=1e-9)


def test_warm_start_goes_on_where_the_last_fit_stopped(table):
    X, _ = table
    mirt = MIRTTransformer(warm_start=True, max_iter=10, tol=1e-7)
    with pytest.warns(ConvergenceWarning):
        mirt.fit(X)
    first = mirt.lower_bounds_.copy()
    mirt.set_params(max_iter=300).fit(X)
    assert mirt.lower_bounds_[0] >= first[-1] * (1 + 1e-9)
    assert mirt.converged_
    cold = MIRTTransformer(max_iter=300, tol=1e-7).fit(X)
    assert mirt.n_iter_ < cold.n_iter_
    assert_allclose(mirt.lower_bounds_[-1], cold.lower_bounds_[-1], rtol=1e-4)
    again = mirt.fit(X)
    assert again.n_iter_ <= 3


def test_warm_start_is_left_aside_for_other_data(table):
    X, _ = table
    mirt = MIRTTransformer(warm_start=True).fit(X)
    mirt.fit(X[:, :50])
    cold = MIRTTransformer().fit(X[:, :50])
    assert_array_equal(mirt.slopes_, cold.slopes_)
    assert_array_equal(mirt.set_params(n_dims=1).fit(X[:, :50]).slopes_.shape, (50, 1))


def test_a_fit_that_stops_early_says_so(table):
    with pytest.warns(ConvergenceWarning, match="stopped after 3 passes"):
        mirt = MIRTTransformer(max_iter=3).fit(table[0])
    assert not mirt.converged_
    assert mirt.n_iter_ == len(mirt.lower_bounds_) == 3


# -------------------------------------------------------------------------- no NaN


def column_of(value, n=12, j=8):
    X = make_responses(n, j, random_state=0).responses
    X[:, 2] = value
    return X


UGLY = {
    "constant column": (column_of(1), 2),
    "constant row": (column_of(0).T, 2),
    "all-missing column": (column_of(NAN), 2),
    "all-missing row": (column_of(NAN).T, 2),
    "all right": (np.ones((6, 9)), 2),
    "all half right": (np.full((6, 9), 0.5), 2),
    "one respondent": (np.array([[1, 0, 1, 1, 0.0]]), 1),
    "one item": (np.array([[1, 0, 1, 1, 0.0]]).T, 1),
    "one item, two dimensions": (np.array([[1, 0, 1, 1, 0.0]]).T, 2),
    "one answer": (np.array([[NAN, NAN], [NAN, 1]]), 1),
    "Guttman 3 x 3": (np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1.0]]), 2),
    "Guttman 3 x 3, 3 dimensions": (np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1.0]]), 3),
    "Guttman 30 x 30": (np.tri(30), 2),
    "5000 items, one respondent": (np.tile([[1.0, 0.0]], 2500), 1),
    "5000 right answers": (np.ones((1, 5000)), 1),
    "two blocks": (np.kron(np.eye(2), np.ones((5, 5))), 2),
    "two blocks apart": (
        np.where(
            np.kron(np.eye(2), np.ones((6, 6))) > 0, np.tile(np.tri(6), (2, 2)), NAN
        ),
        2,
    ),
    "same row many times": (np.tile([[1, 0, 1, 1.0]], (20, 1)), 2),
    "99% missing": (
        np.where(np.arange(4000).reshape(40, 100) % 97 == 0, 1.0, NAN),
        2,
    ),
}


@pytest.mark.parametrize("X, n_dims", UGLY.values(), ids=UGLY)
@pytest.mark.parametrize("guessing", [None, 0.25])
def test_ugly_tables_give_finite_results(X, n_dims, guessing):
    mirt = MIRTTransformer(n_dims, guessing=guessing, max_iter=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ResponseDataWarning)
        abilities = mirt.fit(X).transform(X)
        scores = mirt.expected_scores(X)
        bounds = mirt.score_samples(X)
    for values in (abilities, scores, bounds, *(getattr(mirt, n) for n in FITTED)):
        assert np.isfinite(values).all()
    assert np.all(np.linalg.eigvalsh(mirt.item_covariances_) > 0)
    assert np.all(np.linalg.eigvalsh(mirt.ability_covariances_) > 0)
    assert np.all(np.diff(mirt.lower_bounds_) >= 0)
    assert np.all((scores >= 0) & (scores <= 1))
    assert np.abs(mirt.slopes_).max() < 50
