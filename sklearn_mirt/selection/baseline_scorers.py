"""Baselines of full-bank scores: means of the answers, and ridge regression."""

import numpy as np

from sklearn_mirt.selection.scorer import Scorer
from sklearn_mirt.selection.surrogate import answer_patterns

__all__ = ["RawMeanScorer", "RidgeScorer", "StratifiedMeanScorer"]


class RawMeanScorer(Scorer):
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


class RidgeScorer(Scorer):
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
