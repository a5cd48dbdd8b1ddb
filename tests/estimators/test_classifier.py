"""MIRTClassifier: one row per answer, as scikit-learn's tools meet it."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline

from sklearn_mirt import MeanScoreClassifier, MIRTClassifier, MIRTTransformer, metrics
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models.prediction import expected_scores

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]
N, J = 30, 45


@pytest.fixture(scope="module")
def data():
    return make_responses(
        N, J, 2, missing=0.1, n_groups=3, as_frame=True, random_state=0
    )


@pytest.fixture(scope="module")
def long(data):
    """Answers in random order: X with two columns of ids, y 0 or 1."""
    table = data.responses.stack().dropna().sample(frac=1.0, random_state=0)
    X = table.index.to_frame(index=False, name=["respondent", "item"])
    return X, table.to_numpy()


@pytest.fixture(scope="module")
def fitted(long):
    return MIRTClassifier().fit(*long)


def right(clf, X):
    return clf.predict_proba(X)[:, 1]


# ------------------------------------------------------------------------ the fit


def test_wide_and_long_give_the_same_fit(data, long, fitted):
    wide = MIRTTransformer().fit(data.responses)
    for name in ("slopes_", "intercepts_", "abilities_", "lower_bounds_"):
        assert_array_equal(getattr(fitted, name), getattr(wide, name))
    assert_array_equal(fitted.items_, wide.items_)
    expected = expected_scores(wide.item_parameters_, wide.ability_posteriors_)
    table = pd.DataFrame(expected, data.responses.index, data.responses.columns)
    X = long[0]
    cells = [table.at[r, i] for r, i in zip(X["respondent"], X["item"], strict=True)]
    assert_allclose(right(fitted, X), cells, atol=1e-12)


def test_the_order_of_answers_changes_nothing(long, fitted):
    X, y = long
    again = MIRTClassifier().fit(X[::-1], y[::-1])
    assert_array_equal(again.slopes_, fitted.slopes_)
    assert_array_equal(again.abilities_, fitted.abilities_)


def test_probabilities_add_up_and_labels_follow_them(long, fitted):
    X, _ = long
    both = fitted.predict_proba(X)
    assert both.shape == (len(X), 2)
    assert_allclose(both.sum(axis=1), 1)
    assert_array_equal(fitted.predict(X), (both[:, 1] > 0.5).astype(float))
    assert fitted.predict(X).dtype == fitted.classes_.dtype


def test_the_fit_predicts_better_than_the_mean_score(long):
    X, y = long
    loss = {
        type(clf).__name__: -cross_val_score(
            clf, X, y, cv=KFold(5, shuffle=True, random_state=0), scoring="neg_log_loss"
        ).mean()
        for clf in (MIRTClassifier(n_dims=2), MeanScoreClassifier())
    }
    assert loss["MIRTClassifier"] < loss["MeanScoreClassifier"] - 0.02


FORMS = {
    "frame": lambda X: X,
    "array of objects": lambda X: X.to_numpy(dtype=object),
    "array of str": lambda X: X.to_numpy().astype(str),
    "lists": lambda X: X.to_numpy().tolist(),
    "tuples": lambda X: [tuple(row) for row in X.to_numpy()],
    "categories": lambda X: X.astype("category"),
    "string dtype": lambda X: X.astype("string"),
    "polars": lambda X: pl.DataFrame(X.to_dict("list")),
    "polars categories": lambda X: pl.DataFrame(X.to_dict("list")).cast(pl.Categorical),
    "index of its own": lambda X: X.set_axis(X.index + 1000),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_every_form_of_ids_gives_the_same_result(long, fitted, form):
    X, y = long
    twin = MIRTClassifier().fit(form(X), y)
    assert_array_equal(twin.slopes_, fitted.slopes_)
    assert [str(i) for i in twin.items_] == fitted.items_.tolist()
    assert_array_equal(twin.predict_proba(form(X[:20])), fitted.predict_proba(X[:20]))


def test_ids_may_be_numbers(long, fitted):
    X, y = long
    codes = X.apply(lambda column: pd.factorize(column, sort=True)[0])
    twin = MIRTClassifier().fit(codes.to_numpy(), y)
    assert_array_equal(twin.slopes_, fitted.slopes_)
    assert twin.items_.tolist() == list(range(J))
    assert_array_equal(right(twin, codes.to_numpy(float)), right(fitted, X))


# ------------------------------------------------------------------------- answers

TARGETS = {
    "bool": (lambda y: y.astype(bool), [False, True]),
    "int8": (lambda y: y.astype(np.int8), [0, 1]),
    "list": (lambda y: y.tolist(), [0, 1]),
    "words": (lambda y: np.where(y == 1, "right", "off"), ["off", "right"]),
    "words, object": (
        lambda y: np.where(y == 1, "right", "off").astype(object),
        ["off", "right"],
    ),
    "two numbers": (lambda y: np.where(y == 1, 7, -3), [-3, 7]),
    "column": (lambda y: pd.Series(y, name="score"), [0, 1]),
    "boolean": (lambda y: pd.array(y.astype(bool), "boolean"), [False, True]),
    "Int64": (lambda y: pd.Series(y).astype("Int64"), [0, 1]),
    "category": (
        lambda y: pd.Series(np.where(y == 1, "right", "off"), dtype="category"),
        ["off", "right"],
    ),
    "polars": (lambda y: pl.Series(y.astype(bool)), [False, True]),
}


@pytest.mark.parametrize("make, classes", TARGETS.values(), ids=TARGETS)
def test_every_form_of_answers_gives_the_same_fit(long, fitted, make, classes):
    X, y = long
    clf = MIRTClassifier().fit(X, make(y))
    assert clf.classes_.tolist() == classes
    assert_array_equal(clf.slopes_, fitted.slopes_)
    expected = np.where(right(fitted, X) > 0.5, classes[1], classes[0])
    assert_array_equal(clf.predict(X), expected)
    with config_context(enable_metadata_routing=False):
        assert clf.score(X, make(y)) == np.mean(expected == np.asarray(make(y)))


@pytest.mark.parametrize(
    "make",
    [
        lambda y: y,
        lambda y: np.where(np.isnan(y), None, y),
        lambda y: pd.Series(y).astype("Float64"),
        lambda y: [pd.NA if v != v else v for v in y],
        lambda y: pl.Series([None if v != v else v for v in y]),
    ],
    ids=["nan", "None", "Float64", "pd.NA", "polars"],
)
def test_missing_answers_are_as_good_as_absent(data, make):
    table = data.responses
    i, j = np.indices(table.shape).reshape(2, -1)
    X = pd.DataFrame({"respondent": table.index[i], "item": table.columns[j]})
    y = table.to_numpy()[i, j]
    assert np.isnan(y).any()
    clf = MIRTClassifier().fit(X, make(y))
    known = MIRTClassifier().fit(X[~np.isnan(y)], y[~np.isnan(y)])
    assert_array_equal(clf.slopes_, known.slopes_)


def test_fractions_are_scores_and_their_label_is_one(long):
    X, y = long
    y = np.where(np.arange(len(y)) % 3 == 0, 0.25, y)
    clf = MIRTClassifier().fit(X, y)
    assert clf.classes_.tolist() == [0.0, 1.0]
    assert set(clf.predict(X)) <= {0.0, 1.0}
    assert right(clf, X).mean() == pytest.approx(y.mean(), abs=0.02)


def test_one_kind_of_answer_can_be_fitted_in_zero_and_one_only(long):
    X = long[0]
    clf = MIRTClassifier(max_iter=500, tol=1e-4).fit(X, np.ones(len(X)))
    assert clf.classes_.tolist() == [0, 1]
    assert right(clf, X).min() > 0.9
    with pytest.raises(ValueError, match="need two labels"):
        MIRTClassifier().fit(X, np.full(len(X), "right"))


# -------------------------------------------------------------------------- weights


def test_weight_one_is_no_weight_and_weight_zero_is_no_answer(long, fitted):
    X, y = long
    ones = MIRTClassifier().fit(X, y, sample_weight=np.ones(len(y)))
    assert_array_equal(ones.slopes_, fitted.slopes_)
    keep = np.arange(len(y)) % 4 > 0
    some = MIRTClassifier().fit(X[keep], y[keep])
    zeros = MIRTClassifier().fit(X, y, sample_weight=keep.astype(float))
    assert_allclose(zeros.slopes_, some.slopes_, atol=1e-9)


def test_the_mean_of_n_answers_is_more_certain_with_weight_n(long, fitted):
    X, y = long
    heavy = MIRTClassifier().fit(X, y, sample_weight=np.full(len(y), 5.0))
    assert np.all(
        np.diagonal(heavy.ability_covariances_, axis1=1, axis2=2).mean()
        < np.diagonal(fitted.ability_covariances_, axis1=1, axis2=2).mean()
    )


@pytest.mark.parametrize("weight", [-1.0, np.nan])
def test_wrong_weights_are_refused(long, weight):
    X, y = long
    with pytest.raises(ValueError, match="weight|NaN"):
        MIRTClassifier().fit(X, y, sample_weight=np.full(len(y), weight))


# ---------------------------------------------------------------------- unknown ids


def test_an_unknown_respondent_is_an_average_one(fitted):
    items = fitted.items_
    X = np.column_stack([np.full(J, "nobody", object), items])
    p = right(fitted, X)
    mean = fitted.intercepts_
    a, r = fitted.slopes_, fitted.ability_correlation_
    spread = np.trace(
        fitted.item_covariances_[:, :2, :2] @ r, axis1=1, axis2=2
    ) + np.einsum("jp,pq,jq->j", a, r, a)
    spread += fitted.item_covariances_[:, 2, 2]
    logit = mean / np.sqrt(1 + np.pi * spread / 8)
    assert_allclose(p, 1 / (1 + np.exp(-logit)), atol=1e-10)
    others = np.column_stack([np.array([f"x{k}" for k in range(J)], object), items])
    assert_array_equal(right(fitted, others), p)


def test_an_unknown_item_has_the_prior_of_its_group(data, long):
    X, y = long
    groups = data.item_groups.to_dict() | {"new": "group-1", "odd": "no such group"}
    for mapping in (groups, pd.Series(groups)):
        clf = MIRTClassifier(item_groups=mapping).fit(X, y)
        who = clf.respondents_[0]
        p = right(clf, [[who, "new"], [who, "odd"], [who, "unheard of"]])
        assert p[1] == p[2] != p[0]
        k = clf.groups_.tolist().index("group-1")
        theta = np.append(clf.abilities_[0], 1)
        second = np.outer(theta, theta)
        second[:2, :2] += clf.ability_covariances_[0]
        mu, cov = clf.item_prior_means_[k], clf.item_prior_covariances_[k]
        m = mu @ theta
        v = np.sum(second * (cov + np.outer(mu, mu))) - m**2
        assert_allclose(p[0], 1 / (1 + np.exp(-m / np.sqrt(1 + np.pi * v / 8))))


@pytest.mark.slow
def test_an_unknown_item_keeps_the_guessing_floor_that_is_known_of_it(data, long):
    X, y = long
    who = X.iloc[0, 0]
    low = {"new": 0.6} | dict.fromkeys(data.responses.columns, 0.0)
    assert right(MIRTClassifier(guessing=low).fit(X, y), [[who, "new"]])[0] > 0.6
    groups = data.item_groups.to_dict() | {"new": "group-1"}
    by_group = {"group-0": 0.0, "group-1": 0.5, "group-2": 0.0}
    clf = MIRTClassifier(item_groups=groups, guessing=by_group).fit(X, y)
    assert right(clf, [[who, "new"]])[0] > 0.5
    flat = MIRTClassifier(guessing=0.5).fit(X, y)
    assert right(flat, [["nobody", "nothing"]])[0] > 0.5


def test_unknown_ids_are_refused_where_asked(long):
    X, y = long
    clf = MIRTClassifier(handle_unknown="error").fit(X, y)
    with pytest.raises(ValueError, match="respondent 'nobody' was not seen in fit"):
        clf.predict([["nobody", X.iloc[0, 1]]])
    with pytest.raises(ValueError, match=r"item 'q' was not seen in fit \(2 unknown"):
        clf.predict([[X.iloc[0, 0], "q"], [X.iloc[0, 0], "r"]])
    assert clf.predict(X).shape == y.shape


def test_many_unknown_items_take_no_time(data, long):
    X, y = long
    clf = MIRTClassifier(item_groups=data.item_groups).fit(X, y)
    new = np.column_stack([np.zeros(20_000, object), np.arange(20_000).astype(object)])
    assert len(np.unique(right(clf, new))) == 1


# ------------------------------------------------------------------ scikit-learn tools


def test_grid_search_over_dimensions_finds_the_true_number(long):
    X, y = long
    search = GridSearchCV(
        MIRTClassifier(),
        {"n_dims": [1, 2], "guessing": [None, 0.3], "tol": [1e-4]},
        cv=metrics.CellKFold(3),
        scoring=metrics.neg_log_loss_scorer,
    ).fit(X, y)
    assert search.best_params_["guessing"] is None
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validate_with_our_scorers_and_splitters(data, long):
    X, y = long
    names = metrics.get_scorer_names()
    for cv in (
        metrics.CellKFold(3),
        metrics.RespondentKFold(3),
        metrics.ItemKFold(3),
        metrics.LeaveItemGroupOut(data.item_groups),
    ):
        result = cross_validate(
            MIRTClassifier(1, item_groups=data.item_groups, tol=1e-4),
            X,
            y,
            cv=cv,
            scoring={name: metrics.get_scorer(name) for name in names},
            error_score="raise",
        )
        for name in names:
            assert np.isfinite(result[f"test_{name}"]).all(), (cv, name)


def test_cross_val_predict_fills_every_cell(long):
    X, y = long
    p = cross_val_predict(
        MIRTClassifier(tol=1e-4),
        X,
        y,
        cv=KFold(3, shuffle=True, random_state=0),
        method="predict_proba",
    )
    assert metrics.cell_log_loss(y, p) < np.log(2)


def test_other_tools_of_scikit_learn_take_it(long):
    X, y = long
    pipe = Pipeline([("pass", "passthrough"), ("mirt", MIRTClassifier(tol=1e-4))])
    plain = MIRTClassifier(tol=1e-4).fit(X, y)
    assert_array_equal(pipe.fit(X, y).predict(X), plain.predict(X))
    calibrated = CalibratedClassifierCV(MIRTClassifier(tol=1e-4), cv=2, ensemble=False)
    pairs = X.to_numpy(object)
    right = calibrated.fit(pairs, y).predict_proba(pairs)[:, 1]
    # one monotone map of the probabilities of a fit: their order is kept
    order = np.argsort(
        calibrated.calibrated_classifiers_[0].estimator.predict_proba(pairs)[:, 1]
    )
    assert (np.diff(right[order]) >= -1e-12).all()


def test_clone_pickle_and_copy_predict_the_same(long, fitted):
    X, _ = long
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert_array_equal(right(twin, X), right(fitted, X))
    blank = clone(fitted)
    assert not hasattr(blank, "slopes_")
    assert blank.get_params() == fitted.get_params()


def test_columns_in_another_order_are_refused(long, fitted):
    X, _ = long
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(X[["item", "respondent"]])
    assert fitted.feature_names_in_.tolist() == ["respondent", "item"]
    assert fitted.n_features_in_ == 2


def test_columns_without_string_names_are_welcome(long, fitted):
    X, y = long
    frame = X.set_axis([0, 1], axis=1)
    assert_array_equal(MIRTClassifier().fit(frame, y).slopes_, fitted.slopes_)


def test_fit_leaves_parameters_and_answers_as_they_were(data, long):
    X, y = long
    frame, target, groups = X.copy(), y.copy(), data.item_groups.copy()
    clf = MIRTClassifier(item_groups=data.item_groups)
    before = clf.get_params()
    clf.fit(X, y).predict(X)
    pd.testing.assert_frame_equal(X, frame)
    pd.testing.assert_series_equal(data.item_groups, groups)
    assert_array_equal(y, target)
    assert all(clf.get_params()[name] is value for name, value in before.items())


def test_sparse_input_is_refused_with_the_alternative():
    with pytest.raises(TypeError, match="MIRTTransformer"):
        MIRTClassifier().fit(sparse.csr_array([[1, 0], [0, 1]]), [1, 0])
