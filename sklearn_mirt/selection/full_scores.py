"""Full-bank scores of new respondents from the answers to some items.

Every scorer is fitted on the training respondents' full matrix and then estimates,
from any pattern of answers, the score on the whole bank and on every group of items,
with standard errors. ``FullScoreRegressor`` is the recommended one; the others are
baselines.
"""

import warnings

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from sklearn_mirt.estimators.pickling import VersionedPickleMixin
from sklearn_mirt.selection.error_calibration import calibration_of, expected_scores
from sklearn_mirt.selection.problem import (
    SelectionProblem,
    TrainingModels,
    overall_weights,
)
from sklearn_mirt.selection.surrogate import DEFAULT_BLOCKS, answer_patterns
from sklearn_mirt.selection.training_answers import (
    OVERALL,
    positions_of,
    read_answers,
    read_training_answers,
)

__all__ = [
    "FullScoreRegressor",
    "RawMeanScorer",
    "RidgeScorer",
    "StratifiedMeanScorer",
    "compare_scores",
]


_one_blas_thread = threadpool_limits.wrap(limits=1, user_api="blas")


class _Scorer(VersionedPickleMixin, TransformerMixin, BaseEstimator):
    """Validation, output and standard errors shared by all scorers.

    A subclass gives ``_fit(training, problem)``, ``_scores(answers)`` of shape
    (n_respondents, 1 + n_groups) and ``_expected_std(seen)`` of shape (1 + n_groups,),
    all in the item order of ``training_answers_``.
    """

    def fit(self, X, y=None):
        """Learn from the training respondents.

        Parameters
        ----------
        X : array-like, sparse matrix or ResponseData of (n_respondents, n_items)
            Scores in [0, 1], NaN where there is no answer; of a sparse matrix, stored =
            observed.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        return self.fit_training(read_training_answers(self, X, self.item_groups))

    @_one_blas_thread
    def fit_training(self, training, problem=None):
        """Learn from training answers in their canonical order.

        Parameters
        ----------
        training : TrainingAnswers
        problem : SelectionProblem, default=None
            Of the same answers: its models are used where the scorer needs any.

        Returns
        -------
        self
        """
        self.training_answers_ = training
        self.items_ = training.ids
        self.groups_ = training.labels
        self.targets_ = training.targets
        self._fit(training, problem)
        return self

    @_one_blas_thread
    def predict(self, X, return_std=False):
        """Estimate full-bank scores.

        Parameters
        ----------
        X : array-like, sparse matrix or ResponseData of (n_respondents, n_items)
            Answers; NaN where an item was not asked. A table with names may hold some
            of the training columns only.
        return_std : bool, default=False

        Returns
        -------
        scores : ndarray of shape (n_respondents, 1 + n_groups)
            Overall score (mean over all items), then the mean over every group of
            ``groups_``, in [0, 1].
        std : ndarray of shape (n_respondents, 1 + n_groups)
            Standard errors; only if ``return_std``.

        Warns
        -----
        UserWarning
            If a respondent has no answer: the estimate is the prior mean, the standard
            error the prior spread.
        """
        check_is_fitted(self)
        answers = read_answers(self, X, self.training_answers_)
        empty = np.isnan(answers).all(axis=1)
        if empty.any():
            warnings.warn(
                f"Row(s) {np.flatnonzero(empty)[:5].tolist()} hold no answer: their "
                "scores are the prior mean, their standard errors the prior spread.",
                UserWarning,
                stacklevel=2,
            )
        scores, std = self.score_training_items(answers)
        return (scores, std) if return_std else scores

    def score_training_items(self, answers):
        """Estimate full-bank scores from answers in the order of ``fit_training``.

        Parameters
        ----------
        answers : ndarray of shape (n_respondents, n_kept)
            Answers to the items of the training answers; NaN where not asked.

        Returns
        -------
        scores, std : ndarray of shape (n_respondents, 1 + n_groups)
        """
        scores = self._scores(answers)
        std = np.empty_like(scores)
        for seen, rows in answer_patterns(answers):
            std[rows] = self._expected_std(seen)
        return scores, std

    def transform(self, X):
        """Estimate full-bank scores, as ``predict``; honours ``set_output``."""
        return self.predict(X)

    def score(self, X, y):
        """Return R^2 of the estimated scores.

        Parameters
        ----------
        X : array-like of shape (n_respondents, n_items)
            Answers to some items.
        y : array-like of shape (n_respondents,) or (n_respondents, 1 + n_groups)
            True full-bank scores: the overall ones, or all.

        Returns
        -------
        score : float
        """
        scores = self.predict(X)
        return r2_score(y, scores[:, 0] if np.ndim(y) == 1 else scores)

    def get_feature_names_out(self, input_features=None):
        """Return "overall", then the group labels."""
        check_is_fitted(self)
        return np.array([OVERALL, *map(str, self.groups_)], dtype=object)

    def expected_error(self, items):
        """Return the standard errors that answers to ``items`` would give.

        Parameters
        ----------
        items : array-like
            Identifiers, column numbers, or a mask over the training columns.

        Returns
        -------
        std : ndarray of shape (1 + n_groups,)
            For the overall score, then for every group, on the score scale.
        """
        check_is_fitted(self)
        seen = np.sort(positions_of(items, self.training_answers_, what="items"))
        return self._expected_std(seen)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags


class FullScoreRegressor(_Scorer):
    """Estimate full-bank scores by kriging averaged with the bifactor item model.

    The score of every item that was not asked is a mean of (a) its conditional
    expectation under the linear Gaussian surrogate and (b) its probability under the
    bifactor model at the abilities folded in from the answers; answers count as they
    are. Scores are means over items. The weight of (a) is a half, or more where
    cross-validation over the training respondents says so.

    Parameters
    ----------
    n_dims : int, default=2
        General abilities of the item model.
    item_groups : mapping, Series or array-like, default=None
        Group (benchmark) of every item: by item id, or one label per column in order.
        None = one group "all".
    estimator : {"average", "surrogate", "fold_in"}, default="average"
    blocks : tuple of str, default=("ens", "res", "bench")
        Covariance blocks of the surrogate; "rbf" may be added
        (see ``sklearn_mirt.selection.surrogate``).
    calibrate : bool, default=True
        Learn the weight of (a), for "average", and a correction of the standard errors
        by cross-validation over the training respondents (from 8 of them on; see
        ``sklearn_mirt.selection.error_calibration``).

    Attributes
    ----------
    items_ : ndarray of shape (n_items,)
        Column names, or positions without names.
    groups_ : ndarray of shape (n_groups,)
        Sorted group labels.
    item_model_ : BifactorModel
    surrogate_ : LinearSurrogate
    scales_ : dict
        Log variance scales of the surrogate.

    Notes
    -----
    The standard error is that of (a): ``sqrt(L' H^-1 L + sum_{j not asked} psi_j
    W_jt^2)``, see ``LinearSurrogate.target_std``, times a factor for the number of
    items and the way they were chosen. It does not depend on the answers.
    Costs: five fits of the item model, O(n_respondents x n_items) each.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_mirt.selection.full_scores import FullScoreRegressor
    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=(40, 1))
    >>> full = (rng.logistic(size=(40, 60)) < ability + rng.normal(size=60)) * 1.0
    >>> scorer = FullScoreRegressor(1).fit(full[:30])
    >>> answers = np.full((10, 60), np.nan)
    >>> answers[:, :20] = full[30:, :20]
    >>> scores, std = scorer.predict(answers, return_std=True)
    >>> scores.shape
    (10, 2)
    """

    def __init__(
        self,
        n_dims=2,
        *,
        item_groups=None,
        estimator="average",
        blocks=DEFAULT_BLOCKS,
        calibrate=True,
    ):
        self.n_dims = n_dims
        self.item_groups = item_groups
        self.estimator = estimator
        self.blocks = blocks
        self.calibrate = calibrate

    def _fit(self, training, problem):
        if self.estimator not in ("average", "surrogate", "fold_in"):
            raise ValueError(
                "estimator must be 'average', 'surrogate' or 'fold_in'; got "
                f"{self.estimator!r}."
            )
        if problem is None:
            problem = SelectionProblem(
                TrainingModels(
                    training.responses,
                    training.groups,
                    n_dims=self.n_dims,
                    blocks=self.blocks,
                ),
                self.targets_,
                overall_weights(training.n_groups),
                n_items=1,
            )
        models = problem.models
        self.item_model_ = models.item_model
        self.scales_ = models.scales
        self.surrogate_ = models.surrogate
        self.calibration_ = calibration_of(problem) if self.calibrate else None

    def _scores(self, answers):
        model, surrogate = self.item_model_, self.surrogate_
        if self.estimator == "surrogate":
            expected = surrogate.expectation(answers)
        elif self.estimator == "fold_in":
            expected = model.probability(*model.fold_in(answers))
        else:
            first, second = expected_scores(model, surrogate, answers)
            weight = self._surrogate_weight(answers)[:, None]
            expected = weight * first + (1.0 - weight) * second
        scores = np.where(np.isnan(answers), expected, answers) @ self.targets_
        return np.clip(scores, 0.0, 1.0)  # weights add up to 1 but for rounding

    def _surrogate_weight(self, answers):
        n_seen = (~np.isnan(answers)).sum(axis=1)
        if self.calibration_ is None:
            return np.full(len(answers), 0.5)
        return self.calibration_.surrogate_weight(n_seen)

    def _expected_std(self, seen):
        std = self.surrogate_.target_std(seen, self.targets_)
        if self.calibration_ is None:
            return std
        return self.calibration_.correct(std, len(seen))


class RawMeanScorer(_Scorer):
    """Baseline: the plain mean of the answers.

    A group without an answer gets the overall mean. The standard error is that of a
    simple random sample without replacement, ``sqrt(s^2 / n (1 - n / J))`` (Cochran
    1977, eq. 2.20); it ignores that chosen items are not a random sample.

    Parameters
    ----------
    item_groups : mapping, Series or array-like, default=None
        As in ``FullScoreRegressor``.
    """

    def __init__(self, *, item_groups=None):
        self.item_groups = item_groups

    def _fit(self, training, problem):
        responses = training.responses
        self.prior_mean_ = np.nanmean(responses, axis=0) @ self.targets_
        respondent = _group_means(responses, training)
        self.prior_std_ = np.nanstd(respondent, axis=0)
        p = np.nanmean(responses, axis=0)
        self.item_variance_ = p * (1.0 - p)

    def _scores(self, answers):
        means = _group_means(answers, self.training_answers_)
        empty = np.isnan(means[:, 0])
        means[empty] = self.prior_mean_
        return np.where(np.isnan(means), means[:, :1], means)

    def _expected_std(self, seen):
        groups = self.training_answers_.groups
        total = np.bincount(groups)
        asked = np.bincount(groups[seen], minlength=len(total))
        spread = np.bincount(groups, self.item_variance_) / total
        std = self.prior_std_.copy()
        if len(seen):
            std[0] = _sample_std(self.item_variance_.mean(), len(seen), len(groups))
        for g in np.flatnonzero(asked):
            std[1 + g] = _sample_std(spread[g], asked[g], total[g])
        return std


class StratifiedMeanScorer(RawMeanScorer):
    """Baseline: group means of the answers, weighted by the sizes of the groups.

    A group without an answer gets the mean of the others. Standard error of a
    stratified sample (Cochran 1977, eq. 5.6).

    Parameters
    ----------
    item_groups : mapping, Series or array-like, default=None
        As in ``FullScoreRegressor``.
    """

    def _scores(self, answers):
        means = _group_means(answers, self.training_answers_)[:, 1:]
        size = np.bincount(self.training_answers_.groups).astype(float)
        known = ~np.isnan(means)
        weight = known * size
        total = weight.sum(axis=1)
        overall = (np.where(known, means, 0.0) * weight).sum(axis=1)
        overall = overall / np.maximum(total, 1.0)
        means = np.where(known, means, overall[:, None])
        scores = np.column_stack([overall, means])
        scores[total == 0] = self.prior_mean_
        return scores

    def _expected_std(self, seen):
        std = super()._expected_std(seen)
        share = np.bincount(self.training_answers_.groups) / len(
            self.training_answers_.groups
        )
        if len(seen):
            std[0] = np.sqrt(((share * std[1:]) ** 2).sum())
        return std


class RidgeScorer(_Scorer):
    """Baseline: ridge regression of the scores on the answers asked.

    Fitted anew for every pattern of gaps, the penalty of each score by leave-one-out
    over the training respondents (Golub, Heath and Wahba 1979). Missing training
    answers count as item means. The standard error is the leave-one-out error.

    Parameters
    ----------
    penalties : tuple of float
    item_groups : mapping, Series or array-like, default=None
        As in ``FullScoreRegressor``.
    """

    def __init__(
        self,
        *,
        penalties=(0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
        item_groups=None,
    ):
        self.penalties = penalties
        self.item_groups = item_groups

    def _fit(self, training, problem):
        responses = training.responses
        p = np.nanmean(responses, axis=0)
        self.training_ = np.where(np.isnan(responses), p, responses)
        self.training_scores_ = self.training_ @ self.targets_

    def _scores(self, answers):
        out = np.empty((len(answers), self.targets_.shape[1]))
        for seen, rows in answer_patterns(answers):
            feature = self.training_[:, seen]
            centre = feature.mean(axis=0)
            dual, _ = self._dual(seen)
            shift = (answers[np.ix_(rows, seen)] - centre) @ (feature - centre).T @ dual
            out[rows] = self.training_scores_.mean(axis=0) + shift
        return np.clip(out, 0.0, 1.0)

    def _dual(self, seen):
        """Dual coefficients and leave-one-out errors of the best penalty per score."""
        feature = self.training_[:, seen]
        feature = feature - feature.mean(axis=0)
        n = len(feature)
        scores = self.training_scores_ - self.training_scores_.mean(axis=0)
        kernel = feature @ feature.T
        dual = np.zeros_like(scores)
        error = np.full(scores.shape[1], np.inf)
        for penalty in self.penalties:
            inverse = np.linalg.inv(kernel + penalty * np.eye(n))
            hat = kernel @ inverse
            left_out = (scores - hat @ scores) / (1.0 - np.diag(hat) - 1.0 / n)[:, None]
            new = (left_out**2).mean(axis=0)
            better = new < error
            dual[:, better] = (inverse @ scores)[:, better]
            error = np.where(better, new, error)
        return dual, np.sqrt(error)

    def _expected_std(self, seen):
        return self._dual(seen)[1]


def _group_means(answers, training):
    """Mean of the answers overall and per group, NaN without any."""
    seen = ~np.isnan(answers)
    member = np.zeros((len(training.groups), 1 + training.n_groups))
    member[:, 0] = 1.0
    member[np.arange(len(training.groups)), 1 + training.groups] = 1.0
    total = np.where(seen, answers, 0.0) @ member
    count = seen @ member
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _sample_std(variance, n, total):
    return np.sqrt(variance / n * (1.0 - n / total))


# Comparison ---------------------------------------------------------------------------


def compare_scores(scorer, answers, first=0, second=1):
    """Compare the full-bank scores of two new respondents.

    Parameters
    ----------
    scorer : fitted scorer
    answers : array-like of shape (n_respondents, n_items)
        As for ``scorer.predict``.
    first, second : int, default=0, 1
        Rows to compare.

    Returns
    -------
    comparison : dict of str to ndarray of shape (1 + n_groups,)
        "difference" (first minus second), "std" (its standard error) and
        "wrong_order" (probability that the true difference has the other sign:
        ``Phi(-|difference| / std)``), overall and per group.
    """
    scores, std = scorer.predict(answers, return_std=True)
    difference = scores[first] - scores[second]
    spread = np.hypot(std[first], std[second])
    return {
        "difference": difference,
        "std": spread,
        "wrong_order": wrong_order(difference, spread),
    }


def wrong_order(difference, std):
    """Probability that a normal estimate has the wrong sign; 0 where std is 0."""
    ratio = np.abs(difference) / np.where(std > 0, std, 1.0)
    sure = np.where(difference == 0, 0.5, 0.0)
    return np.where(std > 0, stats.norm.cdf(-ratio), sure)
