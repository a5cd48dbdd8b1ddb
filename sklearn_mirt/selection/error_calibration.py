"""Estimates and standard errors tuned on training respondents held out.

Two things are learned by cross-validation over the training respondents, from lists of
several lengths, drawn at random and chosen by kriging within each fold.

How to mix the two estimators of a score. Their mean is hard to beat; but where folding
in is biased (fractional scores), the surrogate should weigh more.

How honest the standard errors are. The surrogate's rest on its variance scales; with
few respondents those can be far off for a score although they are right for single
answers. And items picked because they look informative look a little better than they
are. The mean squared ratio of error to standard error should be 1.
"""

from dataclasses import dataclass

import numpy as np

from sklearn_mirt.selection.kriging import KrigingState
from sklearn_mirt.selection.problem import MIN_FOR_SCALES
from sklearn_mirt.selection.ranking import Constraints, FixedOrder, rank_items
from sklearn_mirt.selection.training_answers import score_targets

__all__ = ["Calibration", "calibration_of", "expected_scores"]

_SIZES = (0, 10, 40, 160, 320)
# The log factors are a priori within 0.2 of 0; that of the root mean square of n normal
# ratios has variance 1 / (2 n).
_PRIOR_COUNT = 0.5 / 0.2**2
_MIX_PENALTY = 0.2
_N_LISTS = 2  # one random, one by kriging


@dataclass(frozen=True, eq=False)
class Calibration:
    """Mixing weights and factors for standard errors, by length and kind of list.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Lengths of the lists.
    mix : ndarray of shape (n_sizes,)
        Weight of the surrogate's estimate; the rest is that of folding in.
    factors : ndarray of shape (2, n_sizes, 2)
        Kind of list (random, kriging), length, and score (overall, groups).
    typical : ndarray of shape (2, n_sizes)
        Uncorrected standard error of the overall score for such lists.
    useful_length : float
        Length up to which a kriging list is no worse than a random one.
    """

    sizes: np.ndarray
    mix: np.ndarray
    factors: np.ndarray
    typical: np.ndarray
    useful_length: float = np.inf

    def surrogate_weight(self, n_seen):
        """Return the weight of the surrogate for ``n_seen`` observed items."""
        return np.interp(np.log1p(n_seen), np.log1p(self.sizes), self.mix)

    def correct(self, std, n_seen):
        """Return corrected standard errors for ``n_seen`` observed items.

        A list counts as chosen in the measure that its own standard error lies between
        the typical ones of random and of kriging lists.
        """
        x, grid = np.log1p(n_seen), np.log1p(self.sizes)
        loose, tight = (np.interp(x, grid, row) for row in self.typical)
        chosen = np.clip((loose - std[0]) / max(loose - tight, 1e-12), 0.0, 1.0)
        logs = (
            np.log(self.factors[0]) * (1.0 - chosen) + np.log(self.factors[1]) * chosen
        )
        overall, groups = (np.exp(np.interp(x, grid, column)) for column in logs.T)
        return std * np.r_[overall, np.full(len(std) - 1, groups)]


def expected_scores(item_model, surrogate, answers):
    """Return expected scores of all items by the surrogate and by folding in."""
    folded = item_model.probability(*item_model.fold_in(answers))
    return surrogate.expectation(answers), folded


def calibration_of(problem):
    """Return the ``Calibration`` of a problem, or None below 8 respondents.

    It is learned once for all problems that share models and targets.

    Parameters
    ----------
    problem : SelectionProblem

    Returns
    -------
    calibration : Calibration or None
    """
    if len(problem.models.responses) < MIN_FOR_SCALES:
        return None
    if "calibration" not in problem.derived:
        problem.derived["calibration"] = _calibrate(problem)
    return problem.derived["calibration"]


def _calibrate(problem):
    """Learn a ``Calibration`` from held-out training respondents."""
    models = problem.models
    targets = score_targets(problem.groups, problem.n_groups)
    smallest = min(len(fold.items) for fold in models.folds)
    sizes = np.array([n for n in _SIZES if n <= smallest // 2])
    parts = [_fold_errors(problem, fold, sizes) for fold in models.folds]
    errors, own_errors = (
        np.concatenate([part[k] for part in parts], axis=3) for k in (0, 1)
    )
    std = np.concatenate([part[2] for part in parts], axis=2)
    mix = _mixing_weights(errors)
    weight = mix[:, None, None]
    error = weight * errors[0] + (1.0 - weight) * errors[1]
    # a group all of whose items were asked is known: it says nothing of the rest
    ratio = np.divide(error, std, out=np.ones_like(error), where=std > 0) ** 2
    squares = np.stack([ratio[..., 0], ratio[..., 1:].mean(axis=-1)], axis=-1)
    count = squares.shape[2] * np.array([1.0, np.sqrt(targets.shape[1] - 1.0)])
    mean = (_PRIOR_COUNT + squares.mean(axis=2) * count) / (_PRIOR_COUNT + count)
    choice = problem.targets, problem.target_weights
    typical = [
        [models.surrogate.target_std(chosen[:n], targets[:, :1])[0] for n in sizes]
        for chosen in _lists(models.surrogate, *choice, sizes[-1])
    ]
    own = weight * own_errors[0] + (1.0 - weight) * own_errors[1]
    useful = _useful_length(sizes, own, problem.target_weights)
    return Calibration(sizes, mix, np.sqrt(mean), np.array(typical), useful)


def _useful_length(sizes, error, weights):
    """Return the largest size at which kriging items are no worse than random ones.

    The criterion is that of the choice: squared errors of the targets relative to those
    without any answer, weighted. Infinite if it is the largest size tried.
    """
    squares = (error**2).mean(axis=2)
    criterion = (squares / np.maximum(squares[:, :1], 1e-12)) @ weights
    useful = sizes[criterion[1] <= criterion[0]].max()
    return np.inf if useful == sizes[-1] else float(useful)


def _mixing_weights(errors):
    """Weights of the surrogate with the least squared error, shrunk to a half.

    Never below a half: the surrogate leans on the number of respondents, so that folds
    show it worse than it is, and the mean of the two was hard to beat.
    """
    weights = []
    for first, second in np.moveaxis(errors, 2, 0):
        n_groups = first.shape[-1] - 1
        middle = (first + second) / 2.0
        scale = (middle**2).mean(axis=(0, 1))
        importance = np.r_[1.0, np.full(n_groups, 1.0 / n_groups)] / np.maximum(
            scale, 1e-12
        )
        gap = first - second
        penalty = _MIX_PENALTY * (middle**2 @ importance).sum()
        best = penalty / 2.0 - ((second * gap) @ importance).sum()
        weights.append(best / max(penalty + (gap**2 @ importance).sum(), 1e-12))
    return np.clip(weights, 0.5, 1.0)


def _lists(surrogate, targets, weights, n_items):
    """Return a random list and a kriging list of items under a surrogate."""
    n = len(targets)
    states = (
        # one calibration, whatever the seed of the choice
        FixedOrder(np.random.default_rng(0).random(n)),
        KrigingState(surrogate, targets, weights),
    )
    groups, free = np.zeros(n, dtype=int), Constraints.none(n, 1)
    return [rank_items(state, groups, free, max(n_items, 1)) for state in states]


def _fold_errors(problem, fold, sizes):
    """Errors of both estimators, and standard errors, for held-out respondents.

    Returns
    -------
    errors : ndarray of shape (2, n_lists, n_sizes, n_held_out, 1 + n_groups)
    own_errors : ndarray of shape (2, n_lists, n_sizes, n_held_out, n_targets)
        The same of the targets of the choice.
    std : ndarray of shape (n_lists, n_sizes, n_held_out, 1 + n_groups)
    """
    surrogate = fold.parts.assemble(problem.models.scales)
    targets = score_targets(problem.groups[fold.items], problem.n_groups)
    own_targets = problem.targets[fold.items]
    answers = problem.models.responses[np.ix_(fold.held_out, fold.items)]
    known = np.where(np.isnan(answers), fold.parts.mean, answers)
    shape = (_N_LISTS, len(sizes), len(answers))
    std = np.empty((*shape, targets.shape[1]))
    errors = np.empty((2, *std.shape))
    own_errors = np.empty((2, *shape, own_targets.shape[1]))
    lists = _lists(surrogate, own_targets, problem.target_weights, sizes[-1])
    for k, chosen in enumerate(lists):
        for s, n in enumerate(sizes):
            shown = np.full(answers.shape, np.nan)
            shown[:, chosen[:n]] = known[:, chosen[:n]]
            std[k, s] = surrogate.target_std(chosen[:n], targets)
            for e, expected in enumerate(expected_scores(fold.model, surrogate, shown)):
                expected[:, chosen[:n]] = known[:, chosen[:n]]
                errors[e, k, s] = (expected - known) @ targets
                own_errors[e, k, s] = (expected - known) @ own_targets
    return errors, own_errors, std
