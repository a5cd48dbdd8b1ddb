"""Choosing items, and full scores from the answers to few of them."""

import numpy as np
import pandas as pd

from fingerprinted.blocks import block
from fingerprinted.sets import thinned
from sklearn_mirt import (
    FullScoreRegressor,
    InformativeItemSelector,
    RawMeanScorer,
    RidgeScorer,
    StratifiedMeanScorer,
    compare_scores,
    recommend_size,
    selection,
    selection_curve,
    summarize_curve,
)

SETS = {"bfcl_v1": (None, 400), "livecodebench_2024": (None, 300)}
STRATEGIES = {
    "kriging": "kriging",
    "random": "random",
    "stratified": "stratified",
    "discrimination": "discrimination",
    "information": "information",
    "anchors": "anchors",
    "kriging, no fill": selection.KrigingStrategy(fill=False),
    "information D": selection.InformationStrategy("D", n_points=6),
    "information A": selection.InformationStrategy("A"),
    "discrimination by dimension": selection.DiscriminationStrategy(
        "dimension", per="group", n_bins=20
    ),
}


def _training(name):
    """Return training and new respondents, and the items' groups."""
    table, groups = thinned(name, *SETS[name])
    cut = len(table) - 12
    return table.iloc[:cut], table.iloc[cut:], groups.to_dict()


def _asked(table, columns):
    """Return the answers to some items; the others are missing."""
    answers = table.copy()
    answers.iloc[:, np.setdiff1d(np.arange(table.shape[1]), columns)] = np.nan
    return answers


def _strategies(name):
    known, _, groups = _training(name)
    for label, strategy in STRATEGIES.items():
        selector = InformativeItemSelector(40, strategy=strategy, item_groups=groups)
        yield label, selector.fit(known)
        yield f"{label} names", selector.get_feature_names_out()
    seeded = InformativeItemSelector(40, strategy="random", random_state=7).fit(known)
    yield "random, seed 7", seeded.ranking_


for _name in SETS:
    block(f"selection {_name}", _name)(_strategies)


@block("selection, constraints")
def _constraints():
    known, new, groups = _training("bfcl_v1")
    label = sorted(set(groups.values()))[0]
    costs = 1.0 + np.arange(known.shape[1]) % 7
    options = {
        "quotas": {"quotas": {label: (3, 5)}},
        "included": {"include": [7, 3], "exclude": [0, 1, 2]},
        "share": {"random_share": 0.25, "random_state": 5},
        "costs": {"n_items": None, "costs": costs, "max_cost": 90.0},
        "weights": {"target_weights": {"overall": 1.0, label: 2.0}},
        "own score": {"target_weights": np.arange(known.shape[1]) / 100},
        "one dimension": {"n_dims": 1},
    }
    for name, option in options.items():
        given = {"n_items": 30, "item_groups": groups} | option
        yield name, InformativeItemSelector(**given).fit(known)
    selector = InformativeItemSelector(30, item_groups=groups).fit(known)
    scorer = selector.scorer()
    scores, std = scorer.predict(_asked(new, selector.ranking_), return_std=True)
    yield "scorer", scores
    yield "scorer, errors", std


def _scorers(name):
    known, new, groups = _training(name)
    scorers = {
        "full": FullScoreRegressor(item_groups=groups),
        "surrogate": FullScoreRegressor(estimator="surrogate", item_groups=groups),
        "fold in": FullScoreRegressor(1, estimator="fold_in", item_groups=groups),
        "plain": FullScoreRegressor(calibrate=False),
        "rbf": FullScoreRegressor(blocks=("ens", "res", "bench", "rbf")),
        "raw": RawMeanScorer(item_groups=groups),
        "stratified": StratifiedMeanScorer(item_groups=groups),
        "ridge": RidgeScorer(item_groups=groups),
    }
    columns = np.arange(0, known.shape[1], 9)
    answers = _asked(new, columns)
    answers.iloc[0, :150] = np.nan  # a pattern of its own
    for label, scorer in scorers.items():
        yield label, scorer.fit(known)
        scores, std = scorer.predict(answers, return_std=True)
        yield f"{label} scores", scores
        yield f"{label} errors", std
        yield f"{label} names", scorer.get_feature_names_out()
        yield f"{label} expected error", scorer.expected_error(columns)
        yield f"{label} R2", scorer.score(answers, scores)
        yield f"{label} comparison", compare_scores(scorer, answers, 2, 5)


for _name in SETS:
    block(f"full scores {_name}", _name)(_scorers)


@block("selection curve")
def _curve():
    table, groups = thinned("bfcl_v1", None, 250)
    curve = selection_curve(
        table,
        item_groups=groups,
        budgets=(10, 25, 0.2),
        strategies=("kriging", "random", "stratified", "anchors"),
        scorers=("full_score", "raw_mean", "stratified_mean", "ridge"),
        cv=3,
        item_filter=(0.05, 0.95),
        n_draws=2,
    )
    yield "curve", curve
    yield "summary", summarize_curve(curve)
    targets = {"spearman": 0.9, "mae": 0.03, "detectable_difference": 0.1}
    for metric, target in targets.items():
        yield metric, recommend_size(curve, target, metric=metric)


@block("selection curve, families")
def _families():
    table, groups = thinned("bfcl_v1", None, 150)
    family = pd.Series(table.index).str.partition("-")[0].to_numpy()
    yield (
        "curve",
        selection_curve(
            table,
            item_groups=groups,
            budgets=(15,),
            cv=3,
            groups=family,
            n_draws=1,
            random_state=2,
        ),
    )
