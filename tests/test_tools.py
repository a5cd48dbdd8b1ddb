"""Tools of scikit-learn that other tests do not use; pickles across versions."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    HalvingGridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import sklearn_mirt
from sklearn_mirt import (
    AdditiveClassifier,
    FullScoreRegressor,
    GroupMeanScoreClassifier,
    InformativeItemSelector,
    ItemMeanClassifier,
    MeanScoreClassifier,
    MIRTClassifier,
    MIRTTransformer,
    RawMeanScorer,
    RidgeScorer,
    StratifiedMeanScorer,
)
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.estimators import pickling as versions
from sklearn_mirt.exceptions import PickleVersionWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
WIDE = [
    MIRTTransformer(1, max_iter=5),
    InformativeItemSelector(3, n_dims=1),
    FullScoreRegressor(1),
    RawMeanScorer(),
    StratifiedMeanScorer(),
    RidgeScorer(),
]
LONG = [
    MIRTClassifier(1, max_iter=5),
    MeanScoreClassifier(),
    GroupMeanScoreClassifier(),
    ItemMeanClassifier(),
    AdditiveClassifier(),
]


def name(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def table():
    X = make_responses(24, 10, 1, random_state=0).responses
    return pd.DataFrame(X, columns=[f"q{j}" for j in range(10)])


@pytest.fixture(scope="module")
def cells(table):
    i, j = np.indices(table.shape).reshape(2, -1)
    return np.column_stack([i, j]), table.to_numpy()[i, j]


# ---------------------------------------------------------------------------- pickles


@pytest.mark.parametrize("estimator", WIDE + LONG, ids=name)
def test_a_pickle_of_another_version_warns(estimator, table, cells, monkeypatch):
    estimator = clone(estimator)
    is_long = name(estimator) in map(name, LONG)
    fit = estimator.fit(*cells) if is_long else estimator.fit(table)
    stored = pickle.dumps(fit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = pickle.loads(stored)
        copy.deepcopy(fit)
        clone(fit)
    assert vars(same).keys() == vars(fit).keys()
    monkeypatch.setattr(versions, "__version__", "99.0")
    message = f"{name(fit)} was pickled by sklearn-mirt {sklearn_mirt.__version__} .*99"
    with pytest.warns(PickleVersionWarning, match=message):
        pickle.loads(stored)


def test_a_pickle_without_a_version_warns():
    state = MIRTTransformer(1).__getstate__()
    del state["_sklearn_mirt_version"]
    with pytest.warns(PickleVersionWarning, match="by sklearn-mirt unknown"):
        MIRTTransformer().__setstate__(state)


# ------------------------------------------------------------------------------- tags


@pytest.mark.parametrize("estimator", WIDE, ids=name)
def test_tags_of_tables(estimator):
    tags = get_tags(estimator)
    assert tags.input_tags.allow_nan
    assert tags.transformer_tags is not None
    assert not tags.target_tags.required
    assert not tags.no_validation


@pytest.mark.parametrize("estimator", LONG, ids=name)
def test_tags_of_cells(estimator):
    tags = get_tags(estimator)
    assert tags.estimator_type == "classifier"
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.categorical and tags.input_tags.string
    assert tags.target_tags.required
    assert not tags.no_validation


# ------------------------------------------------------------------------- set_output


@pytest.mark.parametrize("estimator", WIDE, ids=name)
@pytest.mark.parametrize("kind", ["pandas", "polars", "default"])
def test_output_is_what_was_asked_for(estimator, kind, table):
    estimator = clone(estimator).set_output(transform=kind)
    out = estimator.fit(table).transform(table)
    names = estimator.get_feature_names_out().tolist()
    if kind == "default":
        assert isinstance(out, np.ndarray)
        assert out.shape == (24, len(names))
    else:
        assert isinstance(out, pd.DataFrame if kind == "pandas" else pl.DataFrame)
        assert list(out.columns) == names
    if kind == "pandas":
        assert out.index.tolist() == table.index.tolist()


@pytest.mark.parametrize("estimator", WIDE, ids=name)
def test_polars_tables_are_taken(estimator, table):
    one = clone(estimator).fit(table)
    other = clone(estimator).fit(pl.from_pandas(table))
    a = one.transform(table)
    b = other.transform(pl.from_pandas(table))
    assert_array_equal(np.asarray(a), np.asarray(b))


# ------------------------------------------------------------------- metadata routing


def test_weights_are_routed(cells):
    X, y = cells
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


def test_weights_reach_the_fit_without_routing(cells):
    X, y = cells
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


# ------------------------------------------------------------------- other tools


def test_halving_search_over_rows_of_a_table(table):
    search = HalvingGridSearchCV(
        MIRTTransformer(max_iter=5),
        {"n_dims": [1, 2]},
        cv=2,
        min_resources=8,
        random_state=0,
        error_score="raise",
    ).fit(table)
    assert search.best_params_["n_dims"] in (1, 2)
    assert search.n_resources_[0] == 8


def test_permutation_importance_says_that_both_ids_matter(cells):
    X, y = cells
    clf = MIRTClassifier(1, max_iter=10).fit(X, y)
    found = permutation_importance(clf, X, y, n_repeats=2, random_state=0)
    assert np.all(found.importances_mean > 0)


def test_a_vote_of_the_model_and_the_baselines(cells):
    X, y = cells
    members = [(name(e), clone(e)) for e in LONG]
    vote = VotingClassifier(members, voting="soft").fit(X, y)
    assert vote.predict_proba(X).shape == (len(y), 2)
    expected = np.mean([e.predict_proba(X) for e in vote.estimators_], axis=0)
    np.testing.assert_allclose(vote.predict_proba(X), expected)


def test_the_selector_and_a_scorer_in_a_pipeline(table):
    y = table.mean(axis=1)
    pipe = make_pipeline(
        InformativeItemSelector(4, n_dims=1), MIRTTransformer(1), StandardScaler()
    )
    assert pipe.fit(table).transform(table).shape == (24, 1)
    found = cross_validate(RawMeanScorer(), table, y, cv=2, error_score="raise")
    np.testing.assert_allclose(found["test_score"], 1.0)
