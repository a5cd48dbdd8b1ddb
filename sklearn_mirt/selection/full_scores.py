"""Full-bank scores of new respondents from the answers to some items.

Every scorer is fitted on the training respondents' full matrix and then estimates,
from any pattern of answers, the score on the whole bank and on every group of items,
with standard errors. ``FullScoreRegressor`` is the recommended one; the baselines are
in ``sklearn_mirt.selection.baseline_scorers``.
"""

import numpy as np
from scipy import stats

from sklearn_mirt.selection.error_calibration import calibration_of, expected_scores
from sklearn_mirt.selection.problem import (
    SelectionProblem,
    TrainingModels,
    overall_weights,
)
from sklearn_mirt.selection.scorer import Scorer
from sklearn_mirt.selection.surrogate import DEFAULT_BLOCKS

__all__ = ["FullScoreRegressor", "compare_scores"]


class FullScoreRegressor(Scorer):
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
