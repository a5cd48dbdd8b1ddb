"""scikit-learn's searches, cross-validation, ensembles and metadata routing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from public_estimators import LONG, name
from response_tables import long
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_mirt import (
    InformativeItemSelector,
    MIRTClassifier,
    MIRTTransformer,
    RawMeanScorer,
)
from sklearn_mirt import metrics as mirt_metrics
from sklearn_mirt.datasets import make_responses

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def test_weights_are_routed(small_cells):
    X, y = small_cells
    weights = np.where(np.arange(len(y)) % 2, 1.0, 3.0)
    folds = KFold(2, shuffle=True, random_state=0)
    with config_context(enable_metadata_routing=True):
        clf = MIRTClassifier(1, max_iter=5)
        weighted = clone(clf).set_fit_request(sample_weight=True)
        weighted.set_score_request(sample_weight=True)
        found = cross_val_score(
            weighted, X, y, cv=folds, params={"sample_weight": weights}
        )
        with pytest.raises(Exception, match="sample_weight"):
            cross_val_score(clf, X, y, cv=folds, params={"sample_weight": weights})
    expected = []
    for train, test in folds.split(X):
        clf.fit(X[train], y[train], sample_weight=weights[train])
        expected.append(clf.score(X[test], y[test], weights[test]))
    assert_array_equal(found, expected)


def test_weights_reach_the_fit_without_routing(small_cells):
    X, y = small_cells
    weights = np.where(np.arange(len(y)) % 2, 1.0, 3.0)
    folds = KFold(2, shuffle=True, random_state=0)
    pipe = make_pipeline("passthrough", MIRTClassifier(1, max_iter=5))
    with config_context(enable_metadata_routing=False):
        found = cross_val_predict(
            pipe,
            X,
            y,
            cv=folds,
            params={"mirtclassifier__sample_weight": weights},
            method="predict_proba",
        )
        with pytest.raises(RuntimeError, match="enable_metadata_routing"):
            MIRTClassifier().set_fit_request(sample_weight=True)
    for train, test in folds.split(X):
        clf = MIRTClassifier(1, max_iter=5)
        clf.fit(X[train], y[train], sample_weight=weights[train])
        assert_array_equal(found[test], clf.predict_proba(X[test]))


def test_halving_search_over_rows_of_a_table(small_table):
    search = HalvingGridSearchCV(
        MIRTTransformer(max_iter=5),
        {"n_dims": [1, 2]},
        cv=2,
        min_resources=8,
        random_state=0,
        error_score="raise",
    ).fit(small_table)
    assert search.best_params_["n_dims"] in (1, 2)
    assert search.n_resources_[0] == 8


def test_permutation_importance_says_that_both_ids_matter(small_cells):
    X, y = small_cells
    clf = MIRTClassifier(1, max_iter=10).fit(X, y)
    found = permutation_importance(clf, X, y, n_repeats=2, random_state=0)
    assert np.all(found.importances_mean > 0)


def test_a_vote_of_the_model_and_the_baselines(small_cells):
    X, y = small_cells
    members = [(name(e), clone(e)) for e in LONG]
    vote = VotingClassifier(members, voting="soft").fit(X, y)
    assert vote.predict_proba(X).shape == (len(y), 2)
    expected = np.mean([e.predict_proba(X) for e in vote.estimators_], axis=0)
    np.testing.assert_allclose(vote.predict_proba(X), expected)


def test_the_selector_and_a_scorer_in_a_pipeline(small_table):
    y = small_table.mean(axis=1)
    pipe = make_pipeline(
        InformativeItemSelector(4, n_dims=1), MIRTTransformer(1), StandardScaler()
    )
    assert pipe.fit(small_table).transform(small_table).shape == (24, 1)
    found = cross_validate(RawMeanScorer(), small_table, y, cv=2, error_score="raise")
    np.testing.assert_allclose(found["test_score"], 1.0)


def test_a_grid_search_reaches_every_setting(table):
    """Clones keep the settings, and each combination is fitted."""
    X, y = long(table)
    grid = {"n_dims": [1, 2], "tol": [1e-2], "item_groups": [None, np.arange(60) % 2]}
    search = GridSearchCV(
        MIRTClassifier(),
        grid,
        cv=KFold(2, shuffle=True, random_state=0),
        scoring=mirt_metrics.neg_log_loss_scorer,  # accuracies may be equal by chance
        error_score="raise",
    ).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) == 4  # each has an effect
    wide = GridSearchCV(MIRTTransformer(tol=1e-2), {"n_dims": [1, 2]}, cv=2)
    assert wide.fit(table).best_estimator_.slopes_.shape[0] == 60


def test_missing_targets_can_be_scored(table):
    """The metrics of scikit-learn refuse NaN in y."""
    X, y = long(table)
    y = y.copy()
    y[::5] = np.nan
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
    # answers at random have a loss of log 2 and an AUC of one half
    assert scores["test_loss"].min() > -np.log(2)
    assert scores["test_auc"].min() > 0.6


def test_cells_can_be_cross_validated():
    """Each row is one answer, so that folds may divide the answers of a model."""
    X, y = long(make_responses(20, 30, 1, random_state=0).responses)
    scores = cross_val_score(
        MIRTClassifier(1), X, y, cv=KFold(10, shuffle=True, random_state=42)
    )
    assert scores.shape == (10,)
    assert scores.mean() > 0.6
