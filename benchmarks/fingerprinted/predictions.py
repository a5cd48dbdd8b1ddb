"""Metrics, scorers, splitters and baselines."""

import numpy as np
from sklearn.model_selection import cross_val_score

from fingerprinted.blocks import block
from fingerprinted.sets import thinned, with_gaps
from fingerprinted.variational import long_set
from sklearn_mirt import (
    AdditiveClassifier,
    GroupMeanScoreClassifier,
    ItemMeanClassifier,
    MeanScoreClassifier,
    MIRTClassifier,
    MIRTTransformer,
    metrics,
)

METRICS = (
    *("cell_log_loss", "cell_brier", "cell_mae", "cell_auc", "rounded_accuracy"),
    *("mean_score_kendall", "mean_score_spearman"),
)
SETS = {"bfcl_v1": (None, 300), "livecodebench_2024": (None, 400)}


def _split(name):
    X, y, groups = long_set(name, *SETS[name])
    cut = int(0.8 * len(y))
    return X[:cut], y[:cut], X[cut:], y[cut:], groups


def _baselines(name):
    X, y, new, _, groups = _split(name)
    weights = np.random.default_rng(0).choice([1.0, 2.0], len(y))
    models = {
        "item mean": ItemMeanClassifier(),
        "mean": MeanScoreClassifier(),
        "group mean": GroupMeanScoreClassifier(groups),
        "additive": AdditiveClassifier(),
    }
    unknown = np.array([["nobody", new[0, 1]], [new[0, 0], "nothing"]], object)
    for label, model in models.items():
        yield label, model.fit(X, y)
        yield f"{label} predict_proba", model.predict_proba(new)
        yield f"{label} unknown", model.predict_proba(unknown)
        yield f"{label} weighted", model.fit(X, y, sample_weight=weights)


def _metrics(name):
    X, y, new, truth, groups = _split(name)
    proba = MIRTClassifier(2).fit(X, y).predict_proba(new)
    weights = np.random.default_rng(1).choice([1.0, 2.0], len(truth))
    for metric in METRICS:
        function = getattr(metrics, metric)
        who = (new[:, 0],) if metric.startswith("mean_score") else ()
        yield metric, function(truth, proba, *who)
        yield f"{metric} weighted", function(truth, proba, *who, sample_weight=weights)
        nobody = (["one"],) if who else ()
        yield f"{metric} undefined", function([np.nan], [0.5], *nobody)
    yield "report", metrics.prediction_report(new, truth, proba, groups=groups)
    weighted = metrics.prediction_report(new, truth, proba, sample_weight=weights)
    yield "weighted report", weighted


def _wide_metrics(name):
    table, groups = thinned(name, *SETS[name])
    model = MIRTTransformer(2, item_groups=groups).fit(with_gaps(table))
    expected = model.expected_scores(with_gaps(table))
    for metric in METRICS:
        yield metric, getattr(metrics, metric)(table.to_numpy(), expected)
    for metric in metrics.get_scorer_names():
        yield f"hidden {metric}", metrics.HiddenCellScorer(metric)(model, table)


def _scorers(name):
    X, y, new, truth, _ = _split(name)
    model = MIRTClassifier(2).fit(X, y)
    yield "names", metrics.get_scorer_names()
    for scorer in metrics.get_scorer_names():
        yield scorer, metrics.get_scorer(scorer)(model, new, truth)
        if hasattr(metrics, f"{scorer}_scorer"):
            yield (
                f"{scorer}_scorer",
                getattr(metrics, f"{scorer}_scorer")(model, new, truth),
            )
        yield f"CellScorer {scorer}", metrics.CellScorer(scorer)(model, new, truth)


for _name in SETS:
    block(f"baselines {_name}", _name)(_baselines)
    block(f"metrics {_name}", _name)(_metrics)
    block(f"metrics of tables {_name}", _name)(_wide_metrics)
    block(f"scorers {_name}", _name)(_scorers)


@block("splitters")
def _splitters():
    X, y, groups = long_set("bfcl_v1", None, 100)
    splitters = {
        "cells": metrics.CellKFold(),
        "respondents": metrics.RespondentKFold(4, random_state=3),
        "respondents, in order": metrics.RespondentKFold(4, shuffle=False),
        "items": metrics.ItemKFold(3),
        "groups of items": metrics.GroupedItemKFold(groups, 3),
        "a group of items": metrics.LeaveItemGroupOut(groups),
    }
    for label, splitter in splitters.items():
        yield label, [list(pair) for pair in splitter.split(X, y)]
        yield f"{label}, number", splitter.get_n_splits(X, y)


@block("cross-validation")
def _cross_validation():
    X, y, groups = long_set("bfcl_v1", None, 150)
    model = MIRTClassifier(1, item_groups=groups)
    splitters = {
        "cells": metrics.CellKFold(3),
        "respondents": metrics.RespondentKFold(3),
        "items": metrics.ItemKFold(3),
    }
    for label, cv in splitters.items():
        scoring = metrics.neg_log_loss_scorer
        yield label, cross_val_score(model, X, y, cv=cv, scoring=scoring)
    table, _ = thinned("bfcl_v1", None, 150)
    scoring = metrics.HiddenCellScorer()
    yield "table", cross_val_score(MIRTTransformer(1), table, cv=3, scoring=scoring)
