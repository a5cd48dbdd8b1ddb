"""scikit-learn's own checks, on estimators adapted to the data of those checks.

The checks feed tables of real numbers to every estimator. Scores in [0, 1] and pairs of
ids are not that, so the estimators run behind a thin, test-only layer that turns such
a table into what they take, row by row and without memory; all else is the estimator.
"""

import inspect
from collections import Counter

import adapted_scorers
import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data
from strict_checks import STRICT

import sklearn_mirt
from sklearn_mirt import (
    AdditiveClassifier,
    GroupMeanScoreClassifier,
    ItemMeanClassifier,
    MeanScoreClassifier,
    MIRTClassifier,
    MIRTTransformer,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix"),
]


# -------------------------------------------------------------------- the transformer


class ScoresTransformer(MIRTTransformer):
    """MIRTTransformer of the logistic function of X, which lies in [0, 1]."""

    def _read(self, X, *, reset):
        return super()._read(_to_scores(X), reset=reset)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False  # any number is a score now
        return tags


def _to_scores(X):
    """Apply the logistic function to numbers; leave to the estimator what are none."""
    if hasattr(X, "tocoo"):
        if X.dtype.kind not in "buif":
            return X
        X = X.tocsr().astype(np.float64)
        X.data = np.where(np.isinf(X.data), X.data, expit(X.data))
        return X
    if hasattr(X, "columns"):
        return X.map(lambda v: expit(float(v))) if hasattr(X, "map") else X
    array = np.asarray(X)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except TypeError:
            return X
    if array.dtype.kind not in "buif" or array.ndim != 2:
        return X
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(array), array, expit(array.astype(np.float64)))


# -------------------------------------------------------------------- the classifiers


def _pairs(X, *, number=False):
    """Return respondent and item of each row of numbers.

    The item is the row itself; the respondent says whether its first number is
    positive. In fit equal rows are numbered, and answered by a respondent each.
    """
    pairs = np.empty((len(X), 2), dtype=object)
    count = Counter()
    for k, row in enumerate(map(tuple, X.tolist())):
        pairs[k, 0] = (row[0] > 0, count[row])
        pairs[k, 1] = row
        count[row] += number
    return pairs


class PairsMixin:
    """Read rows of numbers as pairs of ids; see :func:`_pairs`."""

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, multi_output=False, dtype=np.float64)
        own = self._forget_features()
        super().fit(_pairs(X, number=True), y, sample_weight=sample_weight)
        self.__dict__.update(own)
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        own = self._forget_features()
        self.n_features_in_ = 2
        try:
            return super().predict_proba(_pairs(X))
        finally:
            self.__dict__.update(own)

    def _forget_features(self):
        names = ("n_features_in_", "feature_names_in_")
        return {n: self.__dict__.pop(n) for n in names if n in self.__dict__}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        # one answer to each item: nothing to learn of the next one
        tags.classifier_tags.poor_score = True
        return tags


class PairsMIRT(PairsMixin, MIRTClassifier):
    pass


class PairsMean(PairsMixin, MeanScoreClassifier):
    pass


class PairsItemMean(PairsMixin, ItemMeanClassifier):
    pass


class PairsGroupMean(PairsMixin, GroupMeanScoreClassifier):
    pass


class PairsAdditive(PairsMixin, AdditiveClassifier):
    pass


ADAPTED = [
    ScoresTransformer(max_iter=30),
    ScoresTransformer(1, solver="quadrature", max_iter=30),
    PairsMIRT(n_dims=1, max_iter=30),
    PairsMIRT(n_dims=1, solver="quadrature", max_iter=30),
    PairsMean(),
    PairsItemMean(),
    PairsGroupMean(),
    PairsAdditive(),
]
TWO_RESPONDENTS = (
    "a row repeated twice is answered by two respondents, one of weight 2 by one"
)


BINARY_AFTER_SHUFFLING = (
    "scikit-learn before 1.7 gives its two fits opposite labels (issue 30770): it makes"
    " three classes two by the first one it meets, in the one y after shuffling"
)
OLD_CHECKS = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7)


def expected_failures(estimator):
    """Name of each check that must fail, with the reason."""
    check = "check_sample_weight_equivalence_on_dense_data"
    if isinstance(estimator, MIRTClassifier | AdditiveClassifier):
        return {check: TWO_RESPONDENTS}
    if isinstance(estimator, PairsMixin) and OLD_CHECKS:
        return {check: BINARY_AFTER_SHUFFLING}
    return {}


@parametrize_with_checks(ADAPTED, expected_failed_checks=expected_failures, **STRICT)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked():
    public = {getattr(sklearn_mirt, name) for name in sklearn_mirt.__all__}
    estimators = {c for c in public if inspect.isclass(c) and hasattr(c, "fit")}
    adapted = [*ADAPTED, *adapted_scorers.ADAPTED]
    assert len(estimators) > 10
    assert estimators <= {c for e in adapted for c in type(e).__mro__}


# ------------------------------------------------------- as they are, without adapter


@pytest.mark.parametrize(
    "estimator",
    [
        MIRTTransformer(),
        MIRTClassifier(),
        MeanScoreClassifier(),
        ItemMeanClassifier(),
        GroupMeanScoreClassifier(),
        AdditiveClassifier(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_constructors_only_keep_what_they_are_given(estimator):
    parameters = inspect.signature(type(estimator)).parameters
    for name, parameter in parameters.items():
        assert getattr(estimator, name) is parameter.default
        assert not isinstance(parameter.default, list | dict | set)
    given = {name: object() for name in parameters}
    kept = type(estimator)(**given)
    assert kept.get_params(deep=False) == given
    assert vars(kept) == given


def test_tags_tell_what_the_estimators_take():
    tags = MIRTTransformer().__sklearn_tags__()
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert tags.input_tags.positive_only
    assert not tags.requires_fit or tags.target_tags.required is False
    tags = MIRTClassifier().__sklearn_tags__()
    assert tags.input_tags.categorical
    assert tags.input_tags.string
    assert not tags.classifier_tags.multi_class
    assert tags.target_tags.required
