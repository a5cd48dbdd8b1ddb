"""Ranking items one by one: the one loop that respects the constraints."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Constraints", "FixedOrder", "greedy_ranking", "rank_items"]

_COST_TOLERANCE = 1e-9  # ten costs of 0.1 fit in 1


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


@dataclass(frozen=True, eq=False)
class FixedOrder:
    """State of a strategy whose gains never change."""

    priority: np.ndarray

    def gains(self):
        """Return the priority of every item."""
        return self.priority

    def add(self, item):
        """Nothing changes."""


class _Progress:
    """Items taken so far, and what the constraints leave open."""

    def __init__(self, groups, constraints):
        self.groups = groups
        self.constraints = constraints
        self.free = constraints.allowed.copy()
        self.taken = np.zeros(len(constraints.lowest), int)
        self.left = constraints.max_cost * (1.0 + _COST_TOLERANCE)
        self.ranking = []

    def candidates(self):
        """Items that may come next."""
        limits = self.constraints
        if limits.costs is not None:
            self.free &= limits.costs <= self.left
        needy = self.taken < limits.lowest
        mask = self.free & needy[self.groups]
        if mask.any():
            return mask
        return self.free & (self.taken < limits.highest)[self.groups]

    def take(self, item):
        self.free[item] = False
        self.taken[self.groups[item]] += 1
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
    return rank_items(
        strategy.begin(problem),
        problem.groups,
        constraints,
        problem.n_items,
        draws=problem.random().random(len(problem.groups)),
        costs=constraints.costs if getattr(strategy, "per_cost", False) else None,
    )


def rank_items(state, groups, constraints, n_items, *, draws=None, costs=None):
    """Rank ``n_items`` items, or as many as the constraints allow.

    Parameters
    ----------
    state : object
        State of a strategy before any item is taken.
    groups : ndarray of int of shape (n_all_items,)
    constraints : Constraints
    n_items : int
    draws : ndarray of shape (n_all_items,), default=None
        Random order of the items, for ``constraints.random_share``.
    costs : ndarray of shape (n_all_items,), default=None
        What gains are divided by.

    Returns
    -------
    ranking : ndarray of int
    """
    progress = _Progress(groups, constraints)
    while len(progress.ranking) < n_items:
        item = _next_item(progress, state, draws, costs)
        if item is None:
            break
        progress.take(item)
        if len(progress.ranking) < n_items:
            state.add(item)
    return np.array(progress.ranking, dtype=int)


def _next_item(progress, state, draws, costs):
    """Return the next item, or None when no item is left."""
    first = progress.constraints.first
    if len(progress.ranking) < len(first):
        return int(first[len(progress.ranking)])
    mask = progress.candidates()
    if not mask.any():
        return None
    if progress.draw_due():
        return int(np.argmax(np.where(mask, draws, -np.inf)))
    gains = state.gains() if costs is None else state.gains() / costs
    return int(np.argmax(np.where(mask, gains, -np.inf)))
