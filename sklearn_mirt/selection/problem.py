"""What a selection strategy sees, and the one loop that respects the constraints."""

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sklearn_mirt.selection.surrogate import (
    DEFAULT_BLOCKS,
    SurrogateParts,
    default_scales,
    fit_folds,
    fit_scales,
)
from sklearn_mirt.solvers.bifactor.fit import fit_bifactor

__all__ = ["Constraints", "SelectionProblem", "greedy_ranking", "overall_weights"]

MIN_FOR_SCALES = 8
_MIN_FOR_FOLDS = 4
_COST_TOLERANCE = 1e-9  # ten costs of 0.1 fit in 1


def overall_weights(n_groups, overall=0.9):
    """Weights of the overall score and of the groups, which share the rest."""
    if n_groups == 1:
        return np.array([1.0, 0.0])
    return np.r_[float(overall), np.full(n_groups, (1.0 - overall) / n_groups)]


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """Training answers, groups and targets; item models are fitted when first used.

    Attributes
    ----------
    responses : ndarray of shape (n_respondents, n_items)
        Scores in [0, 1], NaN where there is no answer; every row and column has one.
    groups : ndarray of int of shape (n_items,)
    targets : ndarray of shape (n_items, n_targets)
        Each column holds the weights of a score: a weighted sum of items.
    target_weights : ndarray of shape (n_targets,)
        How much each target counts; multiplies its variance relative to the prior one.
    n_items : int
        Number of items wanted.
    n_dims : int
    seed : int
        For strategies that draw.
    """

    responses: np.ndarray
    groups: np.ndarray
    targets: np.ndarray
    target_weights: np.ndarray
    n_items: int
    n_dims: int = 2
    blocks: tuple = DEFAULT_BLOCKS
    seed: int = 0

    @property
    def n_groups(self):
        """Number of item groups."""
        return int(self.groups.max()) + 1

    @cached_property
    def item_means(self):
        """Mean score of every item over its answers."""
        return np.nanmean(self.responses, axis=0)

    @cached_property
    def respondent_means(self):
        """Mean score of every respondent over its answers."""
        return np.nanmean(self.responses, axis=1)

    @cached_property
    def item_model(self):
        """Bifactor model of all training respondents."""
        return fit_bifactor(self.responses, self.groups, n_dims=self.n_dims)

    @cached_property
    def plain_model(self):
        """The same without group abilities."""
        if self.n_groups == 1:
            return self.item_model
        return fit_bifactor(
            self.responses, self.groups, n_dims=self.n_dims, specific=False
        )

    @cached_property
    def folds(self):
        """Item models and surrogate parts without each fold of respondents."""
        n_folds = min(_MIN_FOR_FOLDS, len(self.responses))
        return fit_folds(
            self.responses,
            self.groups,
            n_folds=n_folds,
            blocks=self.blocks,
            n_dims=self.n_dims,
        )

    @cached_property
    def scales(self):
        """Log variance scales of the surrogate (typical ones below 8 respondents)."""
        if len(self.responses) < MIN_FOR_SCALES:
            return default_scales(self.parts.blocks)
        return fit_scales(self.folds, self.responses)

    @cached_property
    def parts(self):
        """Blocks of the surrogate, from all training respondents."""
        return SurrogateParts.from_model(
            self.item_model, self.responses, blocks=self.blocks
        )

    @cached_property
    def surrogate(self):
        """Linear Gaussian surrogate of a new respondent."""
        return self.parts.assemble(self.scales)

    @cached_property
    def calibration(self):
        """What held-out training respondents say about estimates and lists, or None.

        None for fewer than 8 respondents.
        """
        from sklearn_mirt.selection.error_calibration import calibrate

        return calibrate(self) if len(self.responses) >= MIN_FOR_SCALES else None

    def with_seed(self, seed):
        """Return the same problem, fitted models included, with another seed."""
        other = copy(self)
        object.__setattr__(other, "seed", seed)
        return other

    def random(self):
        """Return a fresh generator; the same numbers for the same seed."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which items may be taken, and in what shares.

    Attributes
    ----------
    allowed : ndarray of bool of shape (n_items,)
    first : ndarray of int
        Items that open the list, in this order.
    lowest, highest : ndarray of int of shape (n_groups,)
        Quotas. The lowest ones are met first, right after ``first``.
    costs : ndarray of shape (n_items,) or None
    max_cost : float
        Items that would pass it are skipped.
    random_share : float
        Share of the list, evenly spread over it, that is drawn at random.
    """

    allowed: np.ndarray
    first: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    costs: np.ndarray | None = None
    max_cost: float = np.inf
    random_share: float = 0.0

    @classmethod
    def none(cls, n_items, n_groups):
        """Return constraints that forbid nothing."""
        return cls(
            allowed=np.ones(n_items, bool),
            first=np.empty(0, int),
            lowest=np.zeros(n_groups, int),
            highest=np.full(n_groups, n_items),
        )


@dataclass(eq=False)
class _Progress:
    """Items taken so far."""

    problem: SelectionProblem
    constraints: Constraints
    free: np.ndarray = field(init=False)
    taken: np.ndarray = field(init=False)
    left: float = field(init=False)
    ranking: list = field(default_factory=list)

    def __post_init__(self):
        self.free = self.constraints.allowed.copy()
        self.taken = np.zeros(len(self.constraints.lowest), int)
        self.left = self.constraints.max_cost * (1.0 + _COST_TOLERANCE)

    def candidates(self):
        """Items that may come next."""
        limits, groups = self.constraints, self.problem.groups
        if limits.costs is not None:
            self.free &= limits.costs <= self.left
        needy = self.taken < limits.lowest
        open_groups = needy if needy.any() else self.taken < limits.highest
        mask = self.free & open_groups[groups]
        if needy.any() and not mask.any():
            mask = self.free & (self.taken < limits.highest)[groups]
        return mask

    def take(self, item):
        self.free[item] = False
        self.taken[self.problem.groups[item]] += 1
        if self.constraints.costs is not None:
            self.left -= self.constraints.costs[item]
        self.ranking.append(item)

    def draw_due(self):
        """Whether the next place in the list belongs to a random item."""
        step = len(self.ranking) - len(self.constraints.first) + 1
        share = self.constraints.random_share
        return np.floor(step * share + 1e-9) > np.floor((step - 1) * share + 1e-9)


def greedy_ranking(problem, strategy, constraints):
    """Rank items by taking, step by step, the allowed one with the largest gain.

    Gains are divided by the costs when the strategy says so; an item that costs more
    than what is left is skipped, and the list ends when none fits. The first of equal
    items wins. Nothing depends on ``problem.n_items`` but the length of the list, so a
    prefix is the answer to a smaller number of items at the same ``max_cost`` (for
    strategies that do not look at it either).

    Parameters
    ----------
    problem : SelectionProblem
    strategy : object
        Its ``begin(problem)`` returns a state with ``gains()`` (an array of n_items)
        and ``add(item)``; see ``sklearn_mirt.selection.strategies``.
    constraints : Constraints

    Returns
    -------
    ranking : ndarray of int
        Positions of the items, the most useful first.
    """
    progress = _Progress(problem, constraints)
    state = strategy.begin(problem)
    draws = problem.random().random(len(problem.groups))
    per_cost = getattr(strategy, "per_cost", False) and constraints.costs is not None
    while len(progress.ranking) < problem.n_items:
        item = _next_item(progress, state, draws, per_cost)
        if item is None:
            break
        progress.take(item)
        if len(progress.ranking) < problem.n_items:
            state.add(item)
    return np.array(progress.ranking, dtype=int)


def _next_item(progress, state, draws, per_cost):
    """Return the next item, or None when no item is left."""
    first = progress.constraints.first
    if len(progress.ranking) < len(first):
        return int(first[len(progress.ranking)])
    mask = progress.candidates()
    if not mask.any():
        return None
    if progress.draw_due():
        return int(np.argmax(np.where(mask, draws, -np.inf)))
    gains = state.gains()
    if per_cost:
        gains = gains / progress.constraints.costs
    return int(np.argmax(np.where(mask, gains, -np.inf)))
