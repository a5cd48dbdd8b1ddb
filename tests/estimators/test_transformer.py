"""MIRTTransformer: a table in, abilities out, as scikit-learn's tools meet it."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_mirt import MIRTTransformer, ResponseData
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.metrics import HiddenCellScorer
from sklearn_mirt.models.rotation.criteria import ROTATION_METHODS

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]
NAN = np.nan


@pytest.fixture(scope="module")
def data():
    return make_responses(
        50, 120, 2, missing=0.1, n_groups=2, as_frame=True, random_state=0
    )


@pytest.fixture(scope="module", name="X")
def table(data):
    return data.responses


@pytest.fixture(scope="module")
def fitted(X):
    return MIRTTransformer().fit(X)


# --------------------------------------------------------------------- what is learned


def test_shapes_and_ids_of_what_is_fitted(X, fitted):
    n, j = X.shape
    assert fitted.slopes_.shape == (j, 2)
    assert fitted.intercepts_.shape == fitted.guessing_.shape == (j,)
    assert fitted.item_covariances_.shape == (j, 3, 3)
    assert fitted.abilities_.shape == (n, 2)
    assert fitted.ability_covariances_.shape == (n, 2, 2)
    assert fitted.ability_correlation_.shape == (2, 2)
    assert fitted.items_.tolist() == X.columns.tolist()
    assert fitted.respondents_.tolist() == X.index.tolist()
    assert set(fitted.item_groups_) == {"all"}
    assert fitted.n_iter_ == len(fitted.lower_bounds_)
    assert fitted.solver_ == "variational"
    assert fitted.converged_
    assert fitted.n_features_in_ == j
    assert_allclose(np.diagonal(fitted.ability_correlation_), 1)


def test_abilities_and_slopes_are_those_that_made_the_data(data, fitted):
    truth = data.abilities.to_numpy()
    r = np.corrcoef(fitted.abilities_.T, truth.T)[:2, 2:]
    best = np.abs(r).argmax(axis=1)
    assert sorted(best) == [0, 1]
    assert np.all(r[[0, 1], best] > 0.9)
    slopes = np.corrcoef(fitted.slopes_.T, data.slopes.to_numpy().T)[:2, 2:]
    assert np.all(slopes[[0, 1], best] > 0.8)


def test_transform_of_the_training_table_is_the_fitted_abilities(X, fitted):
    assert_allclose(fitted.transform(X), fitted.abilities_, atol=0.02)
    scored = fitted.score_abilities(X)
    assert scored.ids.tolist() == X.index.tolist()
    assert scored.standard_errors.shape == (50, 2)
    assert_allclose(scored.covariances, fitted.ability_covariances_, atol=0.01)


@pytest.mark.parametrize(
    "rotation", [None, *(m for m in ROTATION_METHODS if not m.startswith("target"))]
)
def test_no_rotation_changes_any_prediction(X, fitted, rotation):
    turned = MIRTTransformer(rotation=rotation).fit(X)
    assert_allclose(turned.expected_scores(X), fitted.expected_scores(X), atol=1e-6)
    assert_allclose(turned.score_samples(X), fitted.score_samples(X), atol=1e-6)
    assert np.all(turned.slopes_.mean(axis=0) > 0)


def test_expected_scores_fill_gaps_and_inverse_transform_knows_abilities(X, fitted):
    scores = fitted.expected_scores(X)
    assert scores.shape == X.shape
    assert np.isfinite(scores).all()
    hidden = HiddenCellScorer("auc")(fitted, X)
    assert hidden > 0.7
    known = fitted.inverse_transform(fitted.transform(X))
    # knowing the abilities exactly moves probabilities away from a half
    assert np.mean(np.abs(known - 0.5) >= np.abs(scores - 0.5) - 1e-12) == 1.0
    assert_allclose(known, scores, atol=0.1)


@pytest.mark.parametrize(
    "abilities", [np.zeros((3, 3)), np.zeros(2), np.full((2, 2), NAN)]
)
def test_inverse_transform_refuses_what_are_no_abilities(fitted, abilities):
    with pytest.raises(ValueError, match=r"abilities of shape|NaN"):
        fitted.inverse_transform(abilities)


def test_score_is_the_mean_bound_of_the_rows_and_tells_models_apart(X, fitted):
    rows = fitted.score_samples(X)
    assert rows.shape == (50,)
    assert np.all(rows < 0)
    assert fitted.score(X) == pytest.approx(rows.mean())
    shuffled = np.random.default_rng(0).permuted(X, axis=0)
    shuffled = pd.DataFrame(shuffled, columns=X.columns)
    assert fitted.score(shuffled) < fitted.score(X)
    assert fitted.score_samples(X * NAN)[0] == pytest.approx(0, abs=1e-9)


def test_more_right_answers_never_lower_an_ability_with_positive_slopes(X):
    mirt = MIRTTransformer(1, positive_slopes=True).fit(X)
    row = X.iloc[:1].to_numpy().copy()
    last = mirt.transform(row)[0, 0]
    for item in range(0, 120, 7):
        row[0, item] = 1
        now = mirt.transform(row)[0, 0]
        assert now >= last - 1e-7
        last = now


# ------------------------------------------------------------------ rows by themselves


def test_a_row_is_scored_by_itself(X, fitted):
    together = fitted.transform(X)
    for rows in ([0], [3, 1], list(range(49, -1, -1))):
        assert_allclose(fitted.transform(X.iloc[rows]), together[rows], atol=1e-7)
    again = fitted.transform(X)
    assert_array_equal(together, again)


def test_a_row_without_answers_is_an_average_respondent(X, fitted):
    empty = fitted.score_abilities(X.iloc[:2] * NAN)
    assert_array_equal(empty.mean, np.zeros((2, 2)))
    assert_allclose(empty.covariances[0], fitted.ability_correlation_)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_rows_with_gaps_are_scored_in_any_number_of_dimensions(X, d):
    mirt = MIRTTransformer(d, tol=1e-4).fit(X)
    part = X.iloc[:4].copy()
    part.iloc[:, 5:] = NAN
    few = mirt.score_abilities(part)
    assert few.mean.shape == (4, d)
    full = mirt.score_abilities(X.iloc[:4])
    assert np.all(np.linalg.det(few.covariances) > np.linalg.det(full.covariances))


# ------------------------------------------------------------------- forms of tables

FORMS = {
    "array": lambda X: X.to_numpy(),
    "float32": lambda X: X.to_numpy(np.float32),
    "Fortran": lambda X: np.asfortranarray(X.to_numpy()),
    "Float64": lambda X: X.astype("Float64"),
    "boolean": lambda X: X.astype("boolean"),
    "object": lambda X: X.astype(object).where(X.notna(), None),
    "lists": lambda X: X.to_numpy().tolist(),
    "polars": lambda X: pl.from_pandas(X),
    "int names": lambda X: X.set_axis(range(X.shape[1]), axis=1),
    "tuple names": lambda X: X.set_axis(
        pd.MultiIndex.from_product([["a", "b"], range(60)]), axis=1
    ),
    "repeated index": lambda X: X.set_axis([0] * len(X)),
    "sparse": lambda X: stored(X.to_numpy()),
    "ResponseData": ResponseData.from_wide,
}


def stored(values):
    i, j = np.nonzero(~np.isnan(values))
    return sparse.csr_array((values[i, j], (i, j)), shape=values.shape)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_table_gives_the_same_result(X, fitted, form):
    table = form(X)
    mirt = MIRTTransformer().fit(table)
    assert_allclose(mirt.slopes_, fitted.slopes_, atol=1e-10)
    assert_allclose(mirt.transform(table), fitted.transform(X), atol=1e-7)
    assert_allclose(
        mirt.transform(form(X.iloc[:2])), fitted.transform(X[:2]), atol=1e-7
    )


def test_a_table_may_be_scored_as_array_after_data_or_frame(X, fitted):
    by_data = MIRTTransformer().fit(ResponseData.from_wide(X))
    assert_allclose(by_data.transform(X.to_numpy()), fitted.transform(X), atol=1e-7)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = fitted.transform(X.to_numpy())
    assert_array_equal(found, fitted.transform(X))
    by_array = MIRTTransformer().fit(X.to_numpy())
    with pytest.warns(UserWarning, match="X has feature names"):
        found = by_array.transform(X)
    assert_array_equal(found, fitted.transform(X))


def test_columns_in_another_order_or_of_other_items_are_refused(X, fitted):
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="120 features"):
        fitted.transform(X.to_numpy()[:, :7])
    numbered = X.set_axis(range(120), axis=1)
    mirt = MIRTTransformer().fit(numbered)
    with pytest.raises(ValueError, match="got 119 where 0 was"):
        mirt.transform(numbered[numbered.columns[::-1]])
    with pytest.raises(ValueError, match="items differ"):
        fitted.transform(ResponseData.from_wide(X).take(items=slice(None, None, -1)))


def test_resampled_rows_are_welcome(X):
    sample = X.sample(60, replace=True, random_state=0)
    mirt = MIRTTransformer().fit(sample)
    assert mirt.abilities_.shape == (60, 2)
    rows = sample.index.to_numpy()
    for label in set(rows):  # equal rows have equal abilities
        same = mirt.abilities_[rows == label]
        assert_allclose(same, np.broadcast_to(same[0], same.shape), atol=1e-10)


def test_fit_leaves_table_and_parameters_as_they_were(data, X):
    before, groups = X.copy(), data.item_groups
    mirt = MIRTTransformer(item_groups=groups)
    parameters = mirt.get_params()
    mirt.fit(X).transform(X)
    pd.testing.assert_frame_equal(X, before)
    assert all(mirt.get_params()[name] is v for name, v in parameters.items())


# -------------------------------------------------------------------- groups and floors


def test_groups_may_be_given_by_id_in_any_order_or_in_column_order(data, X):
    by_column = data.item_groups.to_numpy()
    fits = [
        MIRTTransformer(item_groups=groups).fit(X)
        for groups in (
            by_column,
            by_column.tolist(),
            data.item_groups,
            data.item_groups[::-1],
            data.item_groups.to_dict() | {"an item that is not here": "x"},
        )
    ]
    for mirt in fits:
        assert_array_equal(mirt.slopes_, fits[0].slopes_)
        assert mirt.groups_.tolist() == ["group-0", "group-1"]
        assert_array_equal(mirt.item_groups_, by_column)
        assert mirt.item_prior_means_.shape == (2, 3)
    one = MIRTTransformer().fit(X)
    assert not np.allclose(one.slopes_, fits[0].slopes_)


def test_floors_may_be_given_for_all_by_item_or_by_group(data, X):
    groups = data.item_groups
    by_item = dict.fromkeys(X.columns[::-1], 0.2)
    fits = [
        MIRTTransformer(item_groups=groups, guessing=guessing).fit(X)
        for guessing in (
            0.2,
            [0.2] * 120,
            by_item,
            pd.Series(by_item),
            {"group-0": 0.2, "group-1": 0.2},
            pd.Series({"group-0": 0.2, "group-1": 0.2}),
        )
    ]
    for mirt in fits:
        assert_array_equal(mirt.guessing_, np.full(120, 0.2))
        assert_array_equal(mirt.slopes_, fits[0].slopes_)
    assert fits[0].expected_scores(X).min() > 0.2


# ------------------------------------------------------------------ scikit-learn tools


def test_output_is_named_in_pandas_and_polars(X):
    mirt = MIRTTransformer()
    names = ["mirttransformer0", "mirttransformer1"]
    table = mirt.set_output(transform="pandas").fit_transform(X)
    assert table.columns.tolist() == names
    assert table.index.tolist() == X.index.tolist()
    assert mirt.get_feature_names_out().tolist() == names
    table = mirt.set_output(transform="polars").fit_transform(pl.from_pandas(X))
    assert isinstance(table, pl.DataFrame)
    assert table.columns == names


def test_clone_pickle_and_copy_score_the_same(X, fitted):
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert_array_equal(twin.transform(X), fitted.transform(X))
    blank = clone(fitted)
    assert not hasattr(blank, "slopes_")
    assert blank.get_params() == fitted.get_params()


def test_pipelines_unions_and_column_transformers(X):
    y = X.mean(axis=1)
    pipe = make_pipeline(MIRTTransformer(tol=1e-4), StandardScaler(), Ridge())
    assert pipe.fit(X, y).score(X, y) > 0.9
    assert_array_equal(pipe[:1].transform(X), pipe[0].transform(X))
    names = pipe[:-1].get_feature_names_out().tolist()
    assert names == ["mirttransformer0", "mirttransformer1"]
    narrow = pipe.set_params(mirttransformer__n_dims=1).fit(X, y)
    assert narrow[:-1].transform(X).shape == (50, 1)
    union = FeatureUnion([("one", MIRTTransformer(1)), ("two", MIRTTransformer(2))])
    assert union.fit(X).get_feature_names_out().shape == (3,)
    half = ColumnTransformer([("half", MIRTTransformer(1), X.columns[:60])])
    assert half.fit_transform(X).shape == (50, 1)
    logit = make_pipeline(MIRTTransformer(), LogisticRegression())
    assert cross_val_score(logit, X, y > y.median(), error_score="raise").mean() > 0.8


@pytest.mark.parametrize("scoring", [None, HiddenCellScorer("neg_log_loss")])
def test_grid_search_over_dimensions_scores_held_out_rows(X, scoring):
    search = GridSearchCV(
        MIRTTransformer(tol=1e-4),
        {"n_dims": [1, 2], "rotation": ["oblimin", "varimax"]},
        cv=KFold(3, shuffle=True, random_state=0),
        scoring=scoring,
        error_score="raise",
    ).fit(X)
    assert search.best_params_["n_dims"] == 2
    means = search.cv_results_["mean_test_score"].reshape(2, 2)
    assert_allclose(means[:, 0], means[:, 1], rtol=1e-6)  # rotation predicts nothing


def test_progress_is_printed_where_asked(X, capsys):
    MIRTTransformer(verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Pass 1: objective -")
    assert len(lines) > 3
    MIRTTransformer().fit(X)
    assert capsys.readouterr().out == ""


def test_callbacks_of_scikit_learn_see_every_pass(X):
    pytest.importorskip("sklearn.callback", reason="scikit-learn without callbacks")

    class Count:
        n = 0

        def setup(self, *args, **kwargs):
            pass

        def teardown(self, *args, **kwargs):
            pass

        def on_fit_task_begin(self, *args, **kwargs):
            pass

        def on_fit_task_end(self, *args, **kwargs):
            Count.n += 1

    mirt = MIRTTransformer().set_callbacks(Count()).fit(X)
    assert Count.n > mirt.n_iter_ - 1


# ------------------------------------------------------------------------------- seeds


def test_the_seed_reaches_the_random_starts_of_the_rotation(X, monkeypatch):
    from sklearn_mirt.estimators import base

    seeds, found = [], base.rotation_matrix

    def noted(*args, **options):
        seeds.append(options["random_state"])
        return found(*args, **options)

    monkeypatch.setattr(base, "rotation_matrix", noted)
    for seed in (None, 7, np.random.RandomState(3)):
        MIRTTransformer(max_iter=2, random_state=seed).fit(X)
    assert seeds == [0, 7, np.random.RandomState(3).randint(2**31)]


def test_one_seed_gives_the_same_bytes(X):
    one, two = (MIRTTransformer(3, max_iter=5, random_state=5).fit(X) for _ in "12")
    assert_array_equal(one.slopes_, two.slopes_)


@pytest.mark.parametrize(
    ("name", "value", "wish"),
    [
        ("random_state", "seven", "None, an integer in .* or a numpy RandomState"),
        ("verbose", "yes", "True, False or an integer"),
        ("checkpoint_dir", 3, "the path of a folder"),
        ("correlated", 1, "True or False"),
    ],
)
def test_every_parameter_is_checked(X, name, value, wish):
    with pytest.raises(ValueError, match=f"'{name}' parameter .* must be .*{wish}"):
        MIRTTransformer(**{name: value}).fit(X)


@pytest.mark.parametrize("method", ["transform", "expected_scores", "score_samples"])
def test_a_dask_array_before_the_fit_is_refused_as_not_fitted(method):
    da = pytest.importorskip("dask.array")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(MIRTTransformer(), method)(da.zeros((4, 2)))


# ------------------------------------------------------------------------------ refits


def test_a_refit_that_fails_leaves_the_fit_whole(X):
    mirt = MIRTTransformer(1).fit(X)
    before = {name: value for name, value in vars(mirt).items() if name.endswith("_")}
    for bad in (X * NAN, X.iloc[:0]):
        with pytest.raises(ValueError, match="There are no answers|0 sample|minimum"):
            mirt.fit(bad)
    for name in ("lower_bounds_", "solver_", "n_dims_", "constant_items_", "slopes_"):
        assert vars(mirt)[name] is before[name]
    assert mirt._repr_html_()


def test_rotating_draws_nothing_from_the_random_state_of_the_user(X):
    rng = np.random.RandomState(3)
    mirt = MIRTTransformer(2, max_iter=5, random_state=rng).fit(X)
    state = rng.get_state()[1].copy()
    one, two = (mirt.rotate("oblimin").slopes_ for _ in "12")
    assert_array_equal(rng.get_state()[1], state)
    assert_array_equal(one, two)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_numpy_refuses_is_refused_before_the_fit(X, seed):
    with pytest.raises(ValueError, match="'random_state' parameter .* must be"):
        MIRTTransformer(random_state=seed).fit(X)
