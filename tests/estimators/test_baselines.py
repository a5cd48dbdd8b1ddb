"""Baselines: closed forms by hand, the additive model against a penalised GLM."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate

from sklearn_mirt import (
    AdditiveClassifier,
    GroupMeanScoreClassifier,
    ItemMeanClassifier,
    MeanScoreClassifier,
    metrics,
)
from sklearn_mirt.datasets import make_responses

BASELINES = [
    MeanScoreClassifier(),
    ItemMeanClassifier(),
    GroupMeanScoreClassifier(),
    AdditiveClassifier(),
]
EACH = pytest.mark.parametrize("baseline", BASELINES, ids=lambda b: type(b).__name__)

#        a1   a2   b1
# m1      1    0    1
# m2      1    -    -
# m3      0    -    0
X = [("m1", "a1"), ("m1", "a2"), ("m1", "b1"), ("m2", "a1"), ("m3", "a1"), ("m3", "b1")]
X = np.array(X, dtype=object)
Y = np.array([1, 0, 1, 1, 0, 0])
GROUPS = {"a1": "a", "a2": "a", "b1": "b"}


def right(clf, *pairs):
    return clf.predict_proba(np.array(pairs, dtype=object))[:, 1].tolist()


# ------------------------------------------------------------------------- closed forms


def test_mean_score_is_the_mean_of_the_respondent():
    clf = MeanScoreClassifier().fit(X, Y)
    assert_allclose(clf.means_, [2 / 3, 1, 0])
    assert clf.mean_ == 0.5
    assert_allclose(
        right(clf, ("m1", "a2"), ("m3", "new"), ("new", "a1")), [2 / 3, 0, 0.5]
    )


def test_item_mean_is_the_mean_of_the_item():
    clf = ItemMeanClassifier().fit(X, Y)
    assert_allclose(clf.means_, [2 / 3, 0, 0.5])
    assert_allclose(
        right(clf, ("m1", "a2"), ("new", "a1"), ("m1", "new")), [0, 2 / 3, 0.5]
    )


def test_group_mean_falls_back_on_what_is_known():
    clf = GroupMeanScoreClassifier(GROUPS | {"b2": "b", "c": "other"}).fit(X, Y)
    assert clf.groups_.tolist() == ["a", "b"]
    assert_allclose(clf.means_, [[0.5, 1], [1, 1], [0, 0]])  # m2 has no b: its own mean
    found = right(
        clf,
        ("m1", "a2"),
        ("m1", "b2"),  # new item of a known group
        ("m1", "c"),  # new group: mean of the respondent
        ("m1", "unheard of"),
        ("new", "b1"),  # new respondent: mean of the group
        ("new", "unheard of"),  # nothing known: mean of all
    )
    assert_allclose(found, [0.5, 1, 2 / 3, 2 / 3, 0.5, 0.5])


@pytest.mark.parametrize(
    "groups",
    [GROUPS, pd.Series(GROUPS), ["a", "a", "b"], pd.Series(GROUPS, dtype="category")],
)
def test_groups_may_be_a_mapping_a_series_or_in_item_order(groups):
    clf = GroupMeanScoreClassifier(groups).fit(X, Y)
    assert_allclose(clf.means_, [[0.5, 1], [1, 1], [0, 0]])


def test_group_labels_may_be_of_several_types():
    clf = GroupMeanScoreClassifier({"a1": 1, "a2": 1, "b1": "b"}).fit(X, Y)
    assert set(clf.groups_) == {1, "b"}
    assert right(clf, ("m1", "a1"), ("m1", "b1")) == [0.5, 1]


def test_one_group_is_the_mean_score():
    one, mean = GroupMeanScoreClassifier().fit(X, Y), MeanScoreClassifier().fit(X, Y)
    new = [("m1", "a2"), ("m3", "new"), ("new", "a1")]
    assert_allclose(right(one, *new), right(mean, *new))


@EACH
def test_weights_count_answers(baseline):
    weights = np.array([1, 2, 1, 3, 1, 2])
    weighted = clone(baseline).fit(X, Y, sample_weight=weights)
    by_hand = {
        "MeanScoreClassifier": [2 / 4, 1, 0],
        "ItemMeanClassifier": [4 / 5, 0, 1 / 3],
        "GroupMeanScoreClassifier": [[2 / 4], [1], [0]],
    }
    if type(baseline).__name__ in by_hand:
        assert_allclose(weighted.means_, by_hand[type(baseline).__name__])
    # an answer of weight 0 is none; its item and respondent are still known
    zero = clone(baseline).fit(X, Y, sample_weight=[1, 1, 1, 1, 0, 0])
    without = clone(baseline).fit(X[:4], Y[:4])
    assert_allclose(right(zero, *X[:4]), right(without, *X[:4]))
    assert "m3" in zero.respondents_


# ------------------------------------------------------------------------ the additive


@pytest.fixture(scope="module")
def answers():
    data = make_responses(25, 40, 1, missing=0.2, random_state=0)
    i, j = np.nonzero(~np.isnan(data.responses))
    return np.column_stack([i, j]), data.responses[i, j]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_additive_model_is_a_penalised_logistic_regression(answers, weighted):
    pairs, y = answers
    w = 1.0 + (np.arange(len(y)) % 3 if weighted else np.zeros(len(y)))
    clf = AdditiveClassifier(tol=1e-9, max_iter=2000).fit(pairs, y, sample_weight=w)
    i, j = pairs.T

    def objective(b):
        eta = b[0] + b[1:26][i] + b[26:][j]
        loss = np.sum(w * (np.logaddexp(0, eta) - y * eta))
        loss += np.sum(b[1:26] ** 2) / (2 * clf.respondent_variance_)
        residual = w * (expit(eta) - y)
        gradient = [
            [residual.sum()],
            np.bincount(i, residual) + b[1:26] / clf.respondent_variance_,
            np.bincount(j, residual) + b[26:] / clf.item_variance_,
        ]
        loss += np.sum(b[26:] ** 2) / (2 * clf.item_variance_)
        return loss, np.concatenate(gradient)

    best = minimize(
        objective, np.zeros(66), jac=True, tol=1e-14, options={"maxiter": 5000}
    ).x
    assert_allclose(clf.intercept_, best[0], atol=2e-5)
    assert_allclose(clf.respondent_effects_, best[1:26], atol=2e-5)
    assert_allclose(clf.item_effects_, best[26:], atol=2e-5)


def test_the_variances_of_the_additive_model_are_near_the_truth():
    rng = np.random.default_rng(0)
    r, d = 0.8 * rng.standard_normal(150), 1.5 * rng.standard_normal(200)
    y = rng.random((150, 200)) < expit(0.3 + r[:, None] + d)
    i, j = np.indices(y.shape).reshape(2, -1)
    clf = AdditiveClassifier().fit(np.column_stack([i, j]), y.ravel())
    assert clf.respondent_variance_ == pytest.approx(np.var(r), rel=0.1)
    assert clf.item_variance_ == pytest.approx(np.var(d), rel=0.1)
    assert np.corrcoef(clf.item_effects_, d)[0, 1] > 0.98


def test_unknown_ids_of_the_additive_model_are_average_and_less_certain(answers):
    pairs, y = answers
    clf = AdditiveClassifier().fit(pairs, y)
    p = right(clf, ("new", "new"))[0]
    v = clf.respondent_variance_ + clf.item_variance_
    assert p == pytest.approx(expit(clf.intercept_ / np.sqrt(1 + np.pi * v / 8)))
    easiest = int(clf.items_[clf.item_effects_.argmax()])
    assert right(clf, (0, easiest))[0] != right(clf, ("new", easiest))[0] > p


def test_a_perfect_split_keeps_the_effects_finite():
    pairs = np.array([(i, j) for i in range(4) for j in range(30)])
    clf = AdditiveClassifier(max_iter=500, tol=1e-3).fit(pairs, pairs[:, 0] >= 2)
    assert np.abs(clf.respondent_effects_).max() < 50
    assert np.isfinite(clf.predict_proba(pairs)).all()


def test_the_additive_model_says_when_it_has_not_settled(answers):
    with pytest.warns(ConvergenceWarning, match="after 2 passes"):
        clf = AdditiveClassifier(max_iter=2).fit(*answers)
    assert clf.n_iter_ == 2
    for name, value in (("max_iter", 0), ("tol", -1)):
        with pytest.raises(ValueError, match=f"'{name}' parameter of AdditiveClass"):
            AdditiveClassifier(**{name: value}).fit(*answers)


def test_the_additive_model_predicts_best(answers):
    losses = [
        -cross_validate(
            clone(b),
            *answers,
            cv=metrics.CellKFold(5),
            scoring=metrics.neg_log_loss_scorer,
        )["test_score"].mean()
        for b in BASELINES
    ]
    assert np.argmin(losses) == 3


# --------------------------------------------------------------------- the shared API


@EACH
def test_every_baseline_keeps_the_contract(baseline, answers):
    pairs, y = answers
    clf = clone(baseline)
    with pytest.raises(NotFittedError):
        clf.predict_proba(pairs)
    words = np.where(y == 1, "right", "off")
    assert clf.fit(pairs, words).classes_.tolist() == ["off", "right"]
    p = clf.predict_proba(pairs)
    assert_allclose(p.sum(axis=1), 1)
    assert np.all((p >= 0) & (p <= 1))
    assert_array_equal(clf.predict(pairs), np.where(p[:, 1] > 0.5, "right", "off"))
    assert clf.n_features_in_ == 2
    for twin in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert_array_equal(twin.predict_proba(pairs), p)
    gaps = y.copy()
    gaps[::7] = np.nan
    known = ~np.isnan(gaps)
    assert_array_equal(
        clone(baseline).fit(pairs, gaps).predict_proba(pairs[known]),
        clone(baseline).fit(pairs[known], y[known]).predict_proba(pairs[known]),
    )
    with pytest.raises(ValueError, match="every score of y is missing"):
        clone(baseline).fit(pairs, y * np.nan)


@EACH
def test_fractions_are_scores(baseline):
    clf = clone(baseline).fit(X, [0.5, 0.25, 1, 0.75, 0, 0.5])
    assert clf.classes_.tolist() == [0, 1]
    assert 0 < clf.predict_proba(X)[:, 1].mean() < 1


def test_baselines_vote_and_are_searched(answers):
    pairs, y = answers
    vote = VotingClassifier(
        [("r", MeanScoreClassifier()), ("i", ItemMeanClassifier())], voting="soft"
    ).fit(pairs, y)
    single = [clone(b).fit(pairs, y).predict_proba(pairs) for b in BASELINES[:2]]
    assert_allclose(vote.predict_proba(pairs), np.mean(single, axis=0))
    search = GridSearchCV(
        GroupMeanScoreClassifier(),
        {"item_groups": [None, {j: j % 2 for j in range(40)}]},
        cv=3,
        scoring=metrics.neg_brier_scorer,
        error_score="raise",
    ).fit(pairs, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_dask_frame_is_predicted_as_by_mirt_classifier():
    dd = pytest.importorskip("dask.dataframe")
    X = pd.DataFrame({"model": list("aabb"), "item": list("xyxy")})
    y = [1, 0, 1, 1]
    fitted = MeanScoreClassifier().fit(X, y)
    lazy = dd.from_pandas(X, npartitions=2)
    for method in ("predict", "predict_proba"):
        np.testing.assert_array_equal(
            getattr(fitted, method)(lazy).compute(), getattr(fitted, method)(X)
        )
    lazy_y = dd.from_pandas(pd.Series(y), npartitions=2)
    assert fitted.score(lazy, lazy_y) == fitted.score(X, y) == 0.75
