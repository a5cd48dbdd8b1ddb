"""Standard errors checked, and corrected, on training respondents held out.

The surrogate's standard errors rest on its variance scales; with few respondents those
can be far off for a score although they are right for single answers. And items picked
because they look informative look a little better than they are. Both are measured in
cross-validation: for lists of several lengths, chosen by kriging within each fold and
drawn at random, the mean squared ratio of the error to the standard error should be 1.
"""

from dataclasses import dataclass, replace

import numpy as np

from sklearn_mirt.selection.problem import Constraints, greedy_ranking
from sklearn_mirt.selection.strategies import KrigingStrategy, RandomStrategy

__all__ = ["ErrorCalibration", "calibrate_errors"]

_SIZES = (0, 10, 40, 160, 640)
_PRIOR_COUNT = 4.0
_MANY_RESPONDENTS = 100
_LISTS = (RandomStrategy(), KrigingStrategy())


@dataclass(frozen=True, eq=False)
class ErrorCalibration:
    """Factors for standard errors by list length and kind of list.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Lengths of the lists.
    factors : ndarray of shape (2, n_sizes, 2)
        Kind of list (random, kriging), length, and score (overall, groups).
    typical : ndarray of shape (2, n_sizes)
        Uncorrected standard error of the overall score for such lists.
    optimism : float
        Share of the (log) factor between the kinds of lists that is applied.
    """

    sizes: np.ndarray
    factors: np.ndarray
    typical: np.ndarray
    optimism: float = 1.0

    def correct(self, std, n_seen):
        """Return corrected standard errors for ``n_seen`` observed items.

        A list counts as chosen in the measure that its own standard error lies between
        the typical ones of random and of kriging lists.
        """
        x, grid = np.log1p(n_seen), np.log1p(self.sizes)
        loose, tight = (np.interp(x, grid, row) for row in self.typical)
        chosen = np.clip((loose - std[0]) / max(loose - tight, 1e-12), 0.0, 1.0)
        weight = self.optimism * chosen
        logs = (
            np.log(self.factors[0]) * (1.0 - weight) + np.log(self.factors[1]) * weight
        )
        overall, groups = (np.exp(np.interp(x, grid, column)) for column in logs.T)
        return std * np.r_[overall, np.full(len(std) - 1, groups)]


def calibrate_errors(problem, targets, predict):
    """Compare errors with standard errors on held-out training respondents.

    Parameters
    ----------
    problem : SelectionProblem
    targets : ndarray of shape (n_items, 1 + n_groups)
        Overall score, then groups.
    predict : callable
        ``predict(item_model, surrogate, answers)`` gives expected scores of all items.

    Returns
    -------
    calibration : ErrorCalibration
    """
    n_items = len(targets)
    sizes = np.array([n for n in _SIZES if n <= n_items // 2])
    squares = [
        _fold_squares(problem, f, targets, sizes, predict) for f in problem.folds
    ]
    squares = np.concatenate(squares, axis=2)
    count = squares.shape[2] * np.array([1.0, np.sqrt(targets.shape[1] - 1.0)])
    mean = (_PRIOR_COUNT + squares.mean(axis=2) * count) / (_PRIOR_COUNT + count)
    lists = _lists(problem, problem.surrogate, targets, sizes[-1])
    typical = [
        [problem.surrogate.target_std(chosen[:n], targets[:, :1])[0] for n in sizes]
        for chosen in lists
    ]
    # A fold has fewer respondents than the whole, and its lists are more optimistic for
    # it; with 100 of them no longer noticeably so (docs/selection_results.md).
    optimism = np.clip(len(problem.responses) / _MANY_RESPONDENTS, 0.5, 1.0)
    return ErrorCalibration(sizes, np.sqrt(mean), np.array(typical), float(optimism))


def _lists(problem, surrogate, targets, n_items):
    """Return a random list and a kriging list under a surrogate."""
    free = Constraints.none(len(targets), problem.n_groups)
    weights = np.zeros(targets.shape[1])
    weights[0] = 1.0
    task = replace(
        problem, targets=targets, target_weights=weights, n_items=max(int(n_items), 1)
    )
    task.__dict__["surrogate"] = surrogate
    return [greedy_ranking(task, strategy, free) for strategy in _LISTS]


def _fold_squares(problem, fold, targets, sizes, predict):
    """Squared error ratios, (list, size, respondent, overall or mean of groups)."""
    surrogate = fold.parts.assemble(problem.scales)
    answers = problem.responses[fold.held_out]
    gaps = np.isnan(answers)
    known = np.where(gaps, predict(fold.model, surrogate, answers), answers)
    truth = known @ targets
    out = np.empty((len(_LISTS), len(sizes), len(answers), 2))
    for k, chosen in enumerate(_lists(problem, surrogate, targets, sizes[-1])):
        for s, n in enumerate(sizes):
            shown = np.full(answers.shape, np.nan)
            shown[:, chosen[:n]] = known[:, chosen[:n]]
            expected = predict(fold.model, surrogate, shown)
            expected[:, chosen[:n]] = known[:, chosen[:n]]
            std = surrogate.target_std(chosen[:n], targets)
            ratio = ((expected @ targets - truth) / std) ** 2
            out[k, s, :, 0] = ratio[:, 0]
            out[k, s, :, 1] = ratio[:, 1:].mean(axis=1)
    return out
