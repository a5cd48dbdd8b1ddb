"""One instance of each public estimator, quick to fit."""

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

# tables of respondents by items
WIDE = [
    MIRTTransformer(1, max_iter=5),
    InformativeItemSelector(3, n_dims=1),
    FullScoreRegressor(1),
    RawMeanScorer(),
    StratifiedMeanScorer(),
    RidgeScorer(),
]
# one row for each answer
LONG = [
    MIRTClassifier(1, max_iter=5),
    MeanScoreClassifier(),
    GroupMeanScoreClassifier(),
    ItemMeanClassifier(),
    AdditiveClassifier(),
]


def name(estimator):
    """Return the name of the class, for the ids of tests."""
    return type(estimator).__name__
