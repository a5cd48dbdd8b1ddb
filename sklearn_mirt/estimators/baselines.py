"""Baselines with the API of MIRTClassifier, for a model to beat.

Means of scores, as in BenchMIRT, and the additive model (respondent + item), which is
hard to beat.
"""

import warnings

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from sklearn_mirt.estimators.long_table import (
    LongAnswersMixin,
    code_ids,
    read_answers,
)
from sklearn_mirt.estimators.parameters import check_parameters
from sklearn_mirt.estimators.pickling import VersionedPickleMixin
from sklearn_mirt.models.item_design import group_labels, known_labels, sorted_codes


class _Baseline(VersionedPickleMixin, LongAnswersMixin, ClassifierMixin, BaseEstimator):
    """Read answers, fit cells, predict cells by code."""

    def fit(self, X, y, sample_weight=None):
        """Fit to answers.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_answers, 2)
            Respondent id and item id.
        y : array-like of shape (n_answers,)
            Two labels, the larger one for a right answer; or scores in [0, 1].
        sample_weight : array-like of shape (n_answers,), default=None
            Weight of each answer.

        Returns
        -------
        self : estimator
        """
        check_parameters(self)
        data, self.classes_ = read_answers(self, X, y, sample_weight)
        return self.fit_cells(data)

    def fit_cells(self, data):
        """Fit to the cells of a table.

        Parameters
        ----------
        data : ResponseData

        Returns
        -------
        self : estimator
        """
        if data.n_observed == 0:
            raise ValueError("There are no answers: every score is missing")
        self.respondents_, self.items_ = data.respondents, data.items
        item, respondent, scores, weights = data.cells()
        weights = np.ones(len(scores)) if weights is None else weights.astype(float)
        self._learn(respondent, item, scores.astype(float), weights)
        return self

    def _right_of_pairs(self, respondents, items):
        # an unknown id gets the place after the last known one
        i = np.minimum(code_ids(respondents, self.respondents_)[0], self._n[0])
        return self._right(i, *code_ids(items, self.items_))

    def predict_cells(self, i, j):
        """Return probabilities of a right answer in cells of the table of the fit.

        Parameters
        ----------
        i, j : ndarrays of int of shape (n_cells,)
            Places of the respondents and items in `respondents_` and `items_`.

        Returns
        -------
        right : ndarray of shape (n_cells,)
        """
        return self._right(i, j, np.empty(0, dtype=object))

    @property
    def _n(self):
        return len(self.respondents_), len(self.items_)


def _mean_table(code, n, scores, weights, fallback):
    """Return the weighted mean score by code, `fallback` where there are no answers."""
    weight = np.bincount(code, weights, n)
    score = np.bincount(code, weights * scores, n)
    return np.where(weight > 0, score / np.where(weight > 0, weight, 1), fallback)


class _SideMeans(_Baseline):
    """Predict by the mean score of the respondent (side 0) or of the item (side 1)."""

    _side: int

    def _learn(self, respondent, item, scores, weights):
        code, n = (respondent, item)[self._side], self._n[self._side]
        self.mean_ = float(np.average(scores, weights=weights))
        self.means_ = _mean_table(code, n, scores, weights, self.mean_)

    def _right(self, i, j, unknown):
        code = np.minimum((i, j)[self._side], self._n[self._side])
        return np.append(self.means_, self.mean_)[code]


class MeanScoreClassifier(_SideMeans):
    """Predict each answer of a respondent by the respondent's mean score.

    Attributes
    ----------
    means_ : ndarray of shape (n_respondents,)
    mean_ : float
        Mean of all answers, for unknown respondents.
    classes_, respondents_, items_ : ndarrays
    """

    _side = 0


class ItemMeanClassifier(_SideMeans):
    """Predict each answer to an item by the item's mean score.

    Attributes
    ----------
    means_ : ndarray of shape (n_items,)
    mean_ : float
        Mean of all answers, for unknown items.
    classes_, respondents_, items_ : ndarrays
    """

    _side = 1


class GroupMeanScoreClassifier(_Baseline):
    """Predict by the respondent's mean score on the item's group (benchmark).

    Parameters
    ----------
    item_groups : mapping, Series or array-like, default=None
        Group of each item, by id or in the order of `items_`; None for one group, which
        makes it :class:`MeanScoreClassifier`.

    Attributes
    ----------
    means_ : ndarray of shape (n_respondents, n_groups)
        The respondent's overall mean where a group has no answers.
    groups_ : ndarray of shape (n_groups,)
    classes_, respondents_, items_ : ndarrays
    """

    def __init__(self, item_groups=None):
        self.item_groups = item_groups

    def _learn(self, respondent, item, scores, weights):
        labels = group_labels(self.items_, self.item_groups)
        self.groups_, self.item_codes_ = sorted_codes(labels)
        n, g = self._n[0], len(self.groups_)
        mean = float(np.average(scores, weights=weights))
        self.respondent_means_ = np.append(
            _mean_table(respondent, n, scores, weights, mean), mean
        )
        cell = respondent * g + self.item_codes_[item]
        means = _mean_table(cell, n * g, scores, weights, np.nan).reshape(n, g)
        self.means_ = np.where(
            np.isnan(means), self.respondent_means_[:-1, None], means
        )
        self.group_means_ = _mean_table(
            self.item_codes_[item], g, scores, weights, mean
        )

    def _right(self, i, j, unknown):
        # an unknown group gets the place after the last known one
        place = {label: k for k, label in enumerate(self.groups_)}
        labels = known_labels(unknown, self.item_groups)
        new = [place.get(label, len(place)) for label in labels]
        codes = np.append(self.item_codes_, new).astype(int)
        # one more row for an unknown respondent, one more column for an unknown group
        table = np.vstack([self.means_, self.group_means_])
        table = np.column_stack([table, self.respondent_means_])
        return table[i, codes[j]]


class AdditiveClassifier(_Baseline):
    """Predict by ability of the respondent plus easiness of the item.

    logit P(y_ij = 1) = mu + r_i + d_j,   r_i ~ N(0, s_r^2),   d_j ~ N(0, s_d^2)

    with both variances learned: the Rasch model with random respondents and items, and
    the baseline to respect for predicting held-out answers.

    Parameters
    ----------
    max_iter : int, default=200
        Largest number of passes.
    tol : float, default=1e-3
        Stop when no effect moves by more, in logits.

    Attributes
    ----------
    intercept_ : float
    respondent_effects_ : ndarray of shape (n_respondents,)
    item_effects_ : ndarray of shape (n_items,)
        Posterior modes, in logits.
    respondent_variance_, item_variance_ : float
        Learned prior variances.
    n_iter_ : int
    classes_, respondents_, items_ : ndarrays

    Notes
    -----
    Newton steps on respondents and items in turn; the variances from modes and
    curvatures (Laplace approximation; Breslow & Clayton 1993, JASA 88).
    """

    def __init__(self, max_iter=200, tol=1e-3):
        self.max_iter = max_iter
        self.tol = tol

    def _learn(self, respondent, item, scores, weights):
        cells = (respondent, item, scores, weights)
        mean = np.clip(np.average(scores, weights=weights), 1e-3, 1 - 1e-3)
        self.intercept_ = float(np.log(mean / (1 - mean)))
        effects = [np.zeros(n) for n in self._n]
        variances, self._spread = [1.0, 1.0], [np.ones(n) for n in self._n]
        # the variances are learned from respondents and items with answers
        seen = [
            np.bincount(code, minlength=n) > 0
            for code, n in zip((respondent, item), self._n, strict=True)
        ]
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_ = n_iter
            largest = max(
                self._newton_step(cells, effects, variances, seen, side)
                for side in (0, 1)
            )
            shift = effects[0][seen[0]].mean()
            effects[0][seen[0]] -= shift
            self.intercept_ += float(shift)
            if largest < self.tol:
                break
        else:
            warnings.warn(
                f"The effects still moved by {largest:.2g} logits after "
                f"{self.max_iter} passes; raise max_iter or tol={self.tol}",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.respondent_effects_, self.item_effects_ = effects
        self.respondent_variance_, self.item_variance_ = variances

    def _newton_step(self, cells, effects, variances, seen, side):
        """Update effects and variance of one side; return the largest step."""
        # imported here: it compiles, which an import of the package must not
        from sklearn_mirt.solvers.kernels.additive import logistic_sums

        gradient, curvature = logistic_sums(cells, effects, self.intercept_, side)
        curvature += 1 / variances[side]
        step = (gradient - effects[side] / variances[side]) / curvature
        # a saturated answer has almost no curvature: bound the step
        step = np.clip(step, -2, 2)
        effects[side] = effects[side] + step
        self._spread[side] = 1 / curvature
        second = effects[side] ** 2 + self._spread[side]
        variances[side] = max(float(second[seen[side]].mean()), 1e-6)
        return float(np.abs(step).max())

    def _right(self, i, j, unknown):
        j = np.minimum(j, self._n[1])
        mean = (
            self.intercept_
            + np.append(self.respondent_effects_, 0.0)[i]
            + np.append(self.item_effects_, 0.0)[j]
        )
        variance = np.append(self._spread[0], self.respondent_variance_)[i]
        variance = variance + np.append(self._spread[1], self.item_variance_)[j]
        return expit(mean / np.sqrt(1 + np.pi * variance / 8))
