"""Selector and scorers behind a layer that turns any numbers into scores."""

import numpy as np
from scipy.special import expit

from sklearn_mirt import (
    FullScoreRegressor,
    InformativeItemSelector,
    RawMeanScorer,
    RidgeScorer,
    StratifiedMeanScorer,
)


def to_scores(X):
    """Apply the logistic function to numbers; leave to the estimator what are none."""
    if hasattr(X, "tocoo"):
        return X
    if hasattr(X, "columns"):
        return X.map(lambda v: expit(float(v))) if hasattr(X, "map") else X
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "buifO":
        return X
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        return X
    return np.where(np.isinf(array), array, expit(array))


class ScoresMixin:
    def fit(self, X, y=None):
        return super().fit(to_scores(X), y)

    def predict(self, X, return_std=False):
        return super().predict(to_scores(X), return_std)


class Selector(InformativeItemSelector):
    def fit(self, X, y=None):
        return super().fit(to_scores(X), y)


class FullScore(ScoresMixin, FullScoreRegressor):
    pass


class RawMean(ScoresMixin, RawMeanScorer):
    pass


class StratifiedMean(ScoresMixin, StratifiedMeanScorer):
    pass


class Ridge(ScoresMixin, RidgeScorer):
    pass


ADAPTED = [
    Selector(1, n_dims=1),
    Selector(1, strategy="random"),
    FullScore(1),
    FullScore(1, calibrate=False),
    RawMean(),
    StratifiedMean(),
    Ridge(),
]
