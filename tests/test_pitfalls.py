"""What broke for users of other packages, one test per symptom.

The number in each docstring is the row of the project's list of pitfalls, which names
the issue it was seen in.
"""

import ast
import inspect
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from joblib import Parallel, delayed, parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate

import sklearn_mirt
from sklearn_mirt import (
    InformativeItemSelector,
    ItemParameters,
    MIRTClassifier,
    MIRTTransformer,
    ResponseData,
    read_responses,
)
from sklearn_mirt import metrics as mirt_metrics
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.selection.full_scores import compare_scores
from sklearn_mirt.solvers.kernels import compiling, cpu, elementwise

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
NAN = np.nan


@pytest.fixture(scope="module")
def table():
    return make_responses(30, 60, 2, random_state=0).responses


@pytest.fixture(scope="module")
def fitted(table):
    return MIRTTransformer().fit(table)


def finite(mirt):
    arrays = (mirt.slopes_, mirt.intercepts_, mirt.abilities_, mirt.item_covariances_)
    return all(np.isfinite(a).all() for a in arrays)


def long(table):
    i, j = np.nonzero(~np.isnan(table))
    return np.column_stack([i, j]), table[i, j]


# ------------------------------------------------------------------------------ data


def test_missing_answers_are_nan_and_nothing_is_imputed(table):
    """Row 1: an item or a respondent of missing answers only changes nothing."""
    X = [[1, NAN], [NAN, 0], [1, 1]]
    mirt = MIRTTransformer(1).fit(X)
    assert finite(mirt)
    assert np.isfinite(mirt.transform(X)).all()
    assert InformativeItemSelector(1, n_dims=1).fit(X).support_.sum() == 1
    X = np.where(np.random.default_rng(0).random(table.shape) < 0.3, NAN, table)
    alone = MIRTTransformer(1).fit(X)
    wide = MIRTTransformer(1).fit(np.column_stack([X, np.full(30, NAN)]))
    tall = MIRTTransformer(1).fit(np.vstack([X, np.full(60, NAN)]))
    for other in (wide, tall):
        assert_allclose(other.slopes_[:60], alone.slopes_, atol=1e-12)
        assert_allclose(other.abilities_[:30], alone.abilities_, atol=1e-12)
    with pytest.raises(ValueError, match="is -1; scores must lie in"):
        MIRTTransformer(1).fit([[1, -1], [-1, 0], [1, 1]])


def test_a_row_without_answers_neither_crashes_nor_is_dropped(table):
    """Row 2."""
    X = table.copy()
    X[5] = NAN
    X[:, 7] = NAN
    message = r"1 respondent\(s\) without answers: 5; 1 item\(s\) without answers: 7"
    with pytest.warns(ResponseDataWarning, match=message):
        mirt = MIRTTransformer().fit(X)
    assert_array_equal(mirt.abilities_[5], [0, 0])
    assert_allclose(mirt.ability_covariances_[5], mirt.ability_correlation_)
    assert_allclose(mirt.ability_posteriors_.standard_errors[5], [1, 1])
    assert mirt.transform(X).shape == (30, 2)
    assert finite(mirt)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_scoring_with_gaps_works_in_every_number_of_dimensions(table, d):
    """Row 3."""
    mirt = MIRTTransformer(d, max_iter=20).fit(table[:, :5])
    scores = mirt.score_abilities([[1, 1, 1, 1, NAN]])
    assert np.isfinite(scores.mean).all()
    assert np.all(scores.standard_errors > 0)


def test_items_that_all_answer_alike_are_named_and_stay_finite(table):
    """Row 4."""
    X = table.copy()
    X[:, 0], X[:, 1] = 1, 0
    mirt = MIRTTransformer().fit(X)
    alike = np.flatnonzero(np.ptp(X, axis=0) == 0)
    assert mirt.constant_items_.tolist() == alike.tolist()
    assert {0, 1} <= set(alike)
    assert finite(mirt)
    assert mirt.intercepts_[0] > mirt.intercepts_.max() - 1e-9
    assert mirt.intercepts_[1] < mirt.intercepts_.min() + 1e-9
    assert np.abs(mirt.intercepts_).max() < 8
    assert mirt.item_parameters_.mdisc[:2].max() < 2


def test_ids_and_answers_are_not_paired_by_position(table):
    """Row 5."""
    frame = pd.DataFrame(table, columns=[f"q{j}" for j in range(60)])
    cells = frame.stack().rename_axis(["r", "i"]).reset_index(name="y")
    other = cells.sample(frac=1, random_state=0)
    one = MIRTClassifier().fit(cells[["r", "i"]], cells["y"])
    two = MIRTClassifier().fit(other[["r", "i"]], other["y"])
    assert_array_equal(one.items_, two.items_)
    assert_array_equal(one.slopes_, two.slopes_)
    groups = {f"q{j}": j % 3 for j in range(60)}
    shuffled = pd.Series(groups).sample(frac=1, random_state=1)
    assert_array_equal(
        MIRTTransformer(item_groups=groups).fit(frame).slopes_,
        MIRTTransformer(item_groups=shuffled).fit(frame).slopes_,
    )


def test_errored_answers_do_not_vanish_from_the_denominator(tmp_path):
    """Row 6: 2 of 8 or 2 of 6, as whoever reads the log has to say."""
    scores = [1, 1, 0, 0, 0, 0, None, None]
    lines = [json.dumps({"doc_id": k, "acc": s}) for k, s in enumerate(scores)]
    (tmp_path / "samples_arc.jsonl").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="there is no score .*errors='missing'"):
        read_responses(tmp_path)
    for errors, n_answers in (("missing", 6), ("wrong", 8)):
        loaded = read_responses(tmp_path, errors=errors)
        assert loaded.data.n_observed == n_answers
        assert loaded.data.respondent_means()[0] == pytest.approx(2 / n_answers)
        assert loaded.n_errors == loaded.provenance["n_errors"].sum() == 2


def test_absent_entries_of_a_sparse_table_are_missing_not_wrong():
    """Row 7."""
    with pytest.raises(ValueError, match="zeros have probably been eliminated"):
        MIRTTransformer(1).fit(sparse.csr_matrix([[1, 0], [0, 1]]))
    X = sparse.csr_matrix(([1, 0, 1.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 3))
    data = ResponseData.from_wide(X)
    assert_array_equal(data.to_wide(), [[1, 0, NAN], [NAN, 1, NAN]])


def test_the_callers_frame_is_not_changed(table):
    """Row 12."""
    frame = pd.DataFrame(table).astype("boolean")
    before = frame.copy(deep=True)
    mirt = MIRTTransformer().fit(frame)
    mirt.transform(frame)
    mirt.score(frame)
    pd.testing.assert_frame_equal(frame, before)
    cells = frame.stack().rename_axis(["r", "i"]).reset_index(name="y")
    before = cells.copy(deep=True)
    MIRTClassifier(1).fit(cells[["r", "i"]], cells["y"]).predict(cells[["r", "i"]])
    pd.testing.assert_frame_equal(cells, before)


# ------------------------------------------------------------------------- estimation


def test_the_model_with_all_answers_right_ranks_first(table):
    """Row 14."""
    X = np.vstack([table, np.ones(60), np.zeros(60)])
    mirt = MIRTTransformer(1).fit(X)
    assert mirt.abilities_[:, 0].argmax() == 30
    assert mirt.abilities_[:, 0].argmin() == 31
    two = MIRTTransformer(2).fit(X)
    assert np.all(two.slopes_.mean(axis=0) > 0)
    strength = (two.slopes_**2).sum(axis=0)
    assert strength[0] >= strength[1]


@pytest.mark.parametrize("rotation", ["oblimin", "promax", "varimax"])
def test_rotated_parameters_predict_the_same_answers(table, rotation):
    """Row 15."""
    plain = MIRTTransformer(2, rotation=None).fit(table)
    turned = MIRTTransformer(2, rotation=rotation).fit(table)
    assert not np.allclose(plain.slopes_, turned.slopes_, atol=1e-3)
    assert_allclose(
        turned.item_parameters_.probability(turned.abilities_),
        plain.item_parameters_.probability(plain.abilities_),
        atol=1e-10,
    )


def test_one_metric_everywhere_and_it_is_the_logit(table, fitted):
    """Row 16."""
    data = make_responses(400, 300, 1, slopes=np.full((300, 1), 1.3), random_state=0)
    mirt = MIRTTransformer(1).fit(data.responses)
    assert mirt.slopes_.mean() == pytest.approx(
        1.3, rel=0.1
    )  # 0.76 on the probit scale
    for turned in (None, "varimax", "promax"):
        two = fitted.rotate(turned)
        scores = two.transform(table)
        eta = scores @ two.slopes_.T + two.intercepts_
        p = two.item_parameters_.probability(scores)
        assert_allclose(p, 1 / (1 + np.exp(-eta)))
        assert_allclose(scores, two.abilities_, atol=0.01)


def test_a_perfectly_ordered_table_needs_no_second_try():
    """Row 17."""
    for X in (np.tri(3), np.tri(3)[::-1], 1 - np.tri(3), np.tri(8)):
        assert finite(MIRTTransformer(2).fit(X))


def test_ability_is_a_number_however_long_the_test():
    """Row 18."""
    X = np.tile([[1.0, 0.0]], (2, 2500))
    mirt = MIRTTransformer(1).fit(X)
    assert np.isfinite(mirt.transform(X)).all()
    assert np.isfinite(mirt.score_samples(X)).all()
    # expected a posteriori on nodes, where exp(-746) is 0
    X = make_responses(20, 2000, 1, random_state=0).responses
    exact = MIRTTransformer(1, solver="quadrature", item_model="rasch", max_iter=2)
    exact.fit(X)
    assert exact.score_samples(X).mean() < -746
    assert_allclose(exact.transform(X), exact.abilities_)
    assert np.all(exact.ability_posteriors_.standard_errors > 0)


def test_four_dimensions_need_no_grid():
    """Row 19."""
    X = make_responses(100, 1000, 4, random_state=0).responses
    mirt = MIRTTransformer(4, max_iter=15).fit(X)
    assert mirt.abilities_.shape == (100, 4)


def test_an_item_that_one_in_a_hundred_gets_right_does_not_stall_the_rest():
    """Row 20."""
    X = make_responses(100, 80, 1, random_state=0).responses
    X[:, 0] = np.arange(100) == 50
    mirt = MIRTTransformer(1).fit(X)
    assert mirt.converged_
    expected = mirt.item_parameters_.probability(mirt.abilities_)
    assert expected[:, 0].mean() < 0.06
    assert mirt.intercepts_.argmin() == 0


def test_difficulty_is_one_number_and_moves_with_the_intercept_only(fitted):
    """Row 21."""
    items = fitted.item_parameters_
    assert items.mdiff.shape == items.mdisc.shape == (60,)
    assert_allclose(items.mdiff * items.mdisc, -items.intercepts)
    # where the line through the origin along a_j meets probability one half
    point = items.mdiff[:, None] * items.slopes / items.mdisc[:, None]
    assert_allclose(np.diagonal(items.probability(point)), 0.5)


def test_an_item_that_better_models_fail_has_a_negative_slope_unless_told():
    """Row 22."""
    X = make_responses(60, 80, 1, random_state=0).responses
    X[:, ::4] = 1 - X[:, ::4]
    signed = MIRTTransformer(1).fit(X).slopes_[:, 0]
    assert signed[::4].max() < 0.1
    assert signed[::4].mean() < -0.5
    kept = MIRTTransformer(1, positive_slopes=True).fit(X).slopes_[:, 0]
    assert kept.min() == 0
    assert kept[::4].max() < 0.3


def test_a_known_guessing_floor_stays_as_it_is(table):
    """Row 24."""
    floors = np.linspace(0, 0.5, 60)
    mirt = MIRTTransformer(guessing=floors).fit(table)
    assert_array_equal(mirt.guessing_, floors)
    assert np.all(mirt.expected_scores(table) >= floors)


def test_learned_guessing_does_not_differ_between_runs_nor_reach_one():
    """Row 24."""
    X = make_responses(300, 20, 1, random_state=0).responses
    found = []
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(300)
        mirt = MIRTTransformer(
            1, solver="quadrature", item_model="3pl", random_state=seed
        )
        found.append(mirt.fit(X[rows]).guessing_)
    assert np.ptp(found, axis=0).max() < 1e-6
    assert 0 < np.min(found) and np.max(found) < 0.4


# ------------------------------------------------------------------------- prediction


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
    """Row 30."""
    table = table[:, :15] if "solver" in options else table
    X, y = long(table)
    p = MIRTClassifier(**options).fit(X, y).predict_proba(X)
    assert mirt_metrics.cell_auc(y, p) > 0.75
    mirt = MIRTTransformer(**options).fit(table)
    assert_allclose(mirt.transform(table), mirt.abilities_, atol=0.01)
    assert_allclose(mirt.expected_scores(table).ravel(), p[:, 1], atol=0.01)


def test_all_right_and_all_wrong_give_finite_abilities(fitted):
    """Row 31."""
    scores = fitted.score_abilities(np.vstack([np.ones(60), np.zeros(60)]))
    assert np.isfinite(scores.mean).all()
    assert np.abs(scores.mean).max() < 6
    assert np.all(scores.standard_errors > 0.05)
    assert np.all(scores.mean[0] > scores.mean[1])


@pytest.fixture(scope="module")
def old_and_new():
    X = make_responses(90, 200, 1, random_state=0).responses
    return X[:80], X[80:]


def test_my_own_model_is_scored_from_a_small_benchmark(old_and_new):
    """Row 32: fit, select, score what was never asked everything."""
    train, new = old_and_new
    selector = InformativeItemSelector(40, n_dims=1).fit(train)
    answers = np.where(selector.get_support(), new, NAN)
    scores, errors = selector.scorer().predict(answers, return_std=True)
    assert np.all(errors[:, 0] < 0.06)
    assert np.all(np.abs(scores[:, 0] - new.mean(axis=1)) < 3 * errors[:, 0])


def test_a_small_subset_says_that_it_cannot_resolve_a_small_difference(old_and_new):
    """Row 35: two models of whom one is three points better."""
    train, new = old_and_new
    pair = np.vstack([new[0], new[0]])
    pair[1, np.flatnonzero(pair[1] == 0)[:6]] = 1
    found = {}
    for n_items in (20, 190):
        selector = InformativeItemSelector(n_items, n_dims=1).fit(train)
        answers = np.where(selector.get_support(), pair, NAN)
        result = compare_scores(selector.scorer(), answers, 1, 0)
        found[n_items] = (result["std"][0], result["wrong_order"][0])
    assert found[20][0] > 0.03 > 3 * found[190][0]
    assert found[20][1] > 0.1 > 10 * found[190][1]


def asked_by_ability(seed, dependence):
    """Truth, and answers: 30% filled, stronger models asked harder items."""
    truth = make_responses(60, 300, 1, random_state=seed)
    hard = -truth.intercepts / truth.intercepts.std()
    chance = 1 / (1 + np.exp(1 - dependence * truth.abilities * hard))
    asked = np.random.default_rng(seed).random(chance.shape) < chance
    return truth, np.where(asked, truth.responses, NAN)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_abilities_of_a_sparse_table_are_not_biased_as_averages_are(seed):
    """Row 36."""
    truth, X = asked_by_ability(seed, 1)
    ability = MIRTTransformer(1).fit(X).abilities_[:, 0]
    right_order = spearmanr(ability, truth.abilities[:, 0])[0]
    assert right_order > 0.93
    assert right_order > spearmanr(np.nanmean(X, 1), truth.abilities[:, 0])[0] + 0.03


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_an_adaptive_test_does_not_hide_who_is_able(seed):
    """Row 36: strong models see almost only hard items, and are right no more often."""
    truth, X = asked_by_ability(seed, 2)
    fit, positive = (
        MIRTTransformer(1, positive_slopes=sign).fit(X) for sign in (False, True)
    )
    assert spearmanr(np.nanmean(X, 1), truth.abilities[:, 0])[0] < 0.75
    assert spearmanr(fit.abilities_[:, 0], truth.abilities[:, 0])[0] > 0.9
    assert fit.lower_bounds_[-1] > positive.lower_bounds_[-1] - 1


# --------------------------------------------------------------- scikit-learn contract


def test_a_grid_search_reaches_every_setting(table):
    """Row 40."""
    X, y = long(table)
    grid = {"n_dims": [1, 2], "tol": [1e-2], "item_groups": [None, np.arange(60) % 2]}
    search = GridSearchCV(
        MIRTClassifier(), grid, cv=KFold(2, shuffle=True), error_score="raise"
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    wide = GridSearchCV(MIRTTransformer(tol=1e-2), {"n_dims": [1, 2]}, cv=2)
    assert wide.fit(table).best_estimator_.slopes_.shape[0] == 60


def test_missing_targets_can_be_scored(table):
    """Row 42."""
    X, y = long(table)
    y = y.copy()
    y[::5] = NAN
    scores = cross_validate(
        MIRTClassifier(1, tol=1e-3),
        X,
        y,
        cv=mirt_metrics.CellKFold(3),
        scoring=dict(
            loss=mirt_metrics.neg_log_loss_scorer, auc=mirt_metrics.auc_scorer
        ),
        error_score="raise",
    )
    assert np.isfinite(scores["test_loss"]).all()
    assert np.isfinite(scores["test_auc"]).all()


def test_cells_can_be_cross_validated():
    """Row 43."""
    X, y = long(make_responses(20, 30, 1, random_state=0).responses)
    scores = cross_val_score(
        MIRTClassifier(1), X, y, cv=KFold(10, shuffle=True, random_state=42)
    )
    assert scores.shape == (10,)
    assert scores.mean() > 0.6


def test_item_metadata_is_not_split_where_there_are_as_many_items_as_models():
    """Row 44."""
    X = make_responses(40, 40, 1, random_state=0).responses
    for estimator in (MIRTTransformer, MIRTClassifier):
        assert set(inspect.signature(estimator.fit).parameters) <= {
            "self",
            "X",
            "y",
            "sample_weight",
        }
    mirt = MIRTTransformer(1, item_groups=np.arange(40) % 2)
    scores = cross_val_score(mirt, X, cv=4, error_score="raise")
    assert np.isfinite(scores).all()


def test_transform_of_a_row_does_not_depend_on_its_batch(table, fitted):
    """Row 46."""
    before = pickle.dumps(fitted)
    assert_allclose(fitted.transform(table[:1]), fitted.transform(table)[:1], atol=1e-7)
    assert_array_equal(fitted.transform(table), fitted.transform(table))
    assert pickle.dumps(fitted) == before


def test_only_public_names_of_scikit_learn_are_used():
    """Row 47."""
    for path in Path(sklearn_mirt.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn."):
                names = [*node.module.split("."), *(a.name for a in node.names)]
                assert not [n for n in names if n.startswith("_")], (path, names)


# ----------------------------------------------------------------- compiled, parallel


def test_no_place_for_the_compiled_code_is_no_reason_to_fail(monkeypatch):
    """Row 48."""
    njit = compiling.numba.njit

    def without_cache(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    monkeypatch.setattr(compiling.numba, "njit", without_cache)
    double = compiling.jit(_double)
    assert double(21) == 42


def _double(x):
    return 2 * x


def test_a_second_fit_compiles_nothing(table):
    """Row 50."""
    functions = {**vars(cpu), **vars(elementwise)}
    kernels = [f for f in functions.values() if hasattr(f, "signatures")]
    assert len(kernels) > 5
    for dtype in ("float32", "float64"):
        MIRTTransformer(dtype=dtype, max_iter=3).fit(table)
    compiled = [len(f.signatures) for f in kernels]
    for d, n in ((1, 20), (3, 25)):
        for dtype in ("float32", "float64"):
            mirt = MIRTTransformer(d, dtype=dtype, max_iter=3).fit(table[:n])
            mirt.transform(table)
    assert [len(f.signatures) for f in kernels] == compiled


def test_a_second_process_compiles_nothing(tmp_path):
    """Row 50."""
    code = """if True:
        import numpy as np
        from sklearn_mirt import MIRTTransformer
        from sklearn_mirt.solvers.kernels import elementwise

        mirt = MIRTTransformer(1, max_iter=3).fit(np.tri(6))
        stats = [f.stats for f in vars(elementwise).values() if hasattr(f, "stats")]
        hits, misses = (
            sum(sum(getattr(s, name).values()) for s in stats)
            for name in ("cache_hits", "cache_misses")
        )
        print(hits, misses)
    """
    run = [sys.executable, "-W", "ignore", "-c", code]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    hits, compiled = map(int, first.stdout.split())
    assert hits == 0 and compiled > 3
    hits, compiled = map(int, second.stdout.split())
    assert hits > 3 and compiled == 0


def test_a_pickle_holds_arrays_and_nothing_compiled(table):
    """Row 51."""
    X, y = long(table)
    for fit in (MIRTTransformer().fit(table), MIRTClassifier().fit(X, y)):
        stored = pickle.dumps(fit)
        assert b"numba" not in stored
        assert b"llvm" not in stored
        for name, value in vars(fit).items():
            assert isinstance(
                value, np.ndarray | int | float | str | bool | type(None)
            ), name


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_fits_run_side_by_side(table, backend):
    """Row 52."""
    X, y = long(table)
    clf = MIRTClassifier(1, max_iter=5, n_jobs=2)
    alone = cross_val_score(clf, X, y, cv=2)
    with parallel_config(backend, n_jobs=2):
        assert_array_equal(cross_val_score(clf, X, y, cv=2), alone)


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork here"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fit_in_a_forked_process_after_a_fit_does_not_hang(table):
    """Row 52."""
    context = multiprocessing.get_context("fork")
    MIRTTransformer(1, n_jobs=2, max_iter=5).fit(table)
    child = context.Process(target=_fit_in_child, args=(table,))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def _fit_in_child(table):
    MIRTTransformer(1, n_jobs=2, max_iter=5).fit(table)


def test_the_result_is_the_same_for_any_number_of_threads():
    """Row 53."""
    X = make_responses(80, 3000, 2, random_state=0).responses
    one, four = (MIRTTransformer(n_jobs=n, max_iter=6).fit(X) for n in (1, 4))
    assert_array_equal(one.slopes_, four.slopes_)
    assert_array_equal(one.lower_bounds_, four.lower_bounds_)


def test_read_only_memory_maps_can_be_fitted(tmp_path):
    """Row 54."""
    X = make_responses(400, 400, 1, random_state=0).responses
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    fits = Parallel(2, backend="threading")(
        delayed(_slopes)(table) for table in (X, mapped)
    )
    assert_array_equal(*fits)


def _slopes(X):
    return MIRTTransformer(1, max_iter=4).fit(X).slopes_


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.float32),
        lambda X: X.astype(bool),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    ],
    ids=["int8", "float32", "bool", "Fortran", "strided"],
)
def test_no_type_or_layout_of_input_gives_a_typing_error(table, fitted, change):
    """Row 55."""
    mirt = MIRTTransformer().fit(change(table))
    assert_array_equal(mirt.slopes_, fitted.slopes_)
    assert_array_equal(mirt.transform(change(table)), fitted.transform(table))


def test_properties_have_no_deadline():
    """Row 57."""
    assert settings.default.deadline is None


def test_item_parameters_say_what_their_numbers_mean():
    """Row 23."""
    items = ItemParameters(
        np.array([[2.0]]), np.array([-1.0]), np.zeros(1), np.zeros((1, 2, 2)), ["q"]
    )
    # a theta + d, not a (theta - d)
    assert items.logit([[1.0]])[0, 0] == 1.0
    assert items.mdiff[0] == 0.5
