"""The block functions, written once for every backend.

One pass over a block of items is three thin matrix products and one elementwise function
per half pass. With packed second moments T = E[beta beta'] of the items and
P = E[theta theta'] of the respondents (theta extended by 1),

    E[eta^2] = T . P      omega = w tanh(c / 2) / (2 c), c = sqrt(E[eta^2])
    items        precision = sum_i omega P_i    linear = sum_i kappa theta_i
    respondents  moment    = sum_j omega T_j    linear = sum_j kappa beta_j

where kappa = w (y - 1/2) (Polson, Scott & Windle 2013; Jaakkola & Jordan 2000). The
kernels supply the array namespace `xp`, the elementwise core and the batched solves.
"""

from dataclasses import dataclass, replace

import numpy as np

from sklearn_mirt.cells import DenseBlock
from sklearn_mirt.kernels import packing


@dataclass(frozen=True, eq=False)
class ItemState:
    """Posterior of all items: means (J, K), float64, and packed second moments (J, L)."""

    mean: np.ndarray
    second: np.ndarray

    def block(self, start, stop):
        """Return views of the items of a block."""
        return ItemState(self.mean[start:stop], self.second[start:stop])

    def empty_like(self):
        """Return space for another state of the same items."""
        return ItemState(np.empty_like(self.mean), np.empty_like(self.second))


@dataclass(frozen=True, eq=False)
class ItemTask:
    """What every block needs in one pass.

    Parameters
    ----------
    abilities1 : (N, K) array
        E[(theta, 1)].
    abilities2 : (N, L) array
        Packed E[(theta, 1)(theta, 1)'].
    prior_precision : (G, L) array
        Packed prior precision of each item group.
    prior_linear : (G, K) array
        Prior precision times prior mean.
    groups : (J,) array
        Item group of each item.
    members : dict
        For each block, by its start: the groups in it and a (groups, items) array of 1
        where an answered item belongs to the group.
    floor : (J,) array or None
        Guessing floor; None where there is none at all.
    carry : (K, K) array
        Change of coordinates owed to the items since the last pass.
    nonnegative : bool
        Whether slopes are kept at or above zero.
    """

    abilities1: np.ndarray
    abilities2: np.ndarray
    prior_precision: np.ndarray
    prior_linear: np.ndarray
    groups: np.ndarray
    members: dict
    floor: np.ndarray | None
    carry: np.ndarray
    nonnegative: bool = False


@dataclass(frozen=True, eq=False)
class PassSums:
    """Sums over items that a pass returns; they add up over blocks."""

    bound: float
    moment: np.ndarray
    linear: np.ndarray
    group_first: np.ndarray | float = 0.0
    group_second: np.ndarray | float = 0.0
    logdet: float = 0.0

    def on_host(self, kernels):
        """Return the sums as numpy arrays and numbers."""
        return PassSums(*(kernels.to_host(part) for part in vars(self).values()))

    def __add__(self, other):
        """Return the sums of two blocks."""
        return PassSums(
            self.bound + other.bound,
            self.moment + other.moment,
            self.linear + other.linear,
            self.group_first + other.group_first,
            self.group_second + other.group_second,
            self.logdet + other.logdet,
        )


class DenseCellsOperator:
    """Products of a dense block of cells (items, respondents) with small tables."""

    def __init__(self, block, kernels):
        self.scores = block.scores
        self.weights = block.weights
        self.shape = block.scores.shape

    def square(self, items, respondents):
        """Return items . respondents of each cell."""
        return items @ respondents.T

    def sum_by_item(self, cells, table):
        """Return sum over respondents of cell times their row of `table`."""
        return (cells @ table).astype(np.float64)

    def sum_by_respondent(self, cells, table):
        """Return sum over items of cell times their row of `table`."""
        return (cells.T @ table).astype(np.float64)

    def spread(self, values, kernels):
        """Return one value per item as one value per cell."""
        return kernels.xp.broadcast_to(values[:, None], self.shape)


class SparseCellsOperator:
    """The same products over the observed cells of a sparse block only."""

    def __init__(self, block, kernels, n_respondents):
        self._kernels = kernels
        self._place = (block.offsets, block.respondents)
        self._n_respondents = n_respondents
        self.scores = block.scores[None]
        self.weights = None if block.weights is None else block.weights[None]
        self.shape = self.scores.shape

    def square(self, items, respondents):
        """Return items . respondents of each observed cell."""
        return self._kernels.gather_square(items, respondents, *self._place)[None]

    def sum_by_item(self, cells, table):
        """Return sum over observed cells of each item."""
        return self._kernels.sum_by_item(cells[0], table, *self._place)

    def sum_by_respondent(self, cells, table):
        """Return sum over observed cells of each respondent."""
        return self._kernels.sum_by_respondent(
            cells[0], table, *self._place, self._n_respondents
        )

    def spread(self, values, kernels):
        """Return one value per item as one value per observed cell."""
        offsets = self._place[0]
        item = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return values[kernels.asarray(item)][None]


def cells_operator(block, kernels, n_respondents):
    """Return the operator of a block, dense or sparse."""
    if isinstance(block, DenseBlock):
        return DenseCellsOperator(block, kernels)
    return SparseCellsOperator(block, kernels, n_respondents)


def on_device(block, kernels):
    """Return a block whose cells are on the device of the kernels."""
    weights = None if block.weights is None else kernels.asarray(block.weights)
    return replace(block, scores=kernels.asarray(block.scores), weights=weights)


def change_coordinates(items, carry, out, xp=np):
    """Write the items after a linear change of (slopes, intercept) to `out`."""
    xp.matmul(items.mean, xp.asarray(carry.T), out=out.mean)
    square = xp.asarray(packing.congruence(carry).T, dtype=items.second.dtype)
    xp.matmul(items.second, square, out=out.second)


def weigh_cells(cells, items, task, kernels, kappa=None, with_bound=True):
    """Return omega, kappa and the cells' part of the bound, kappa . eta left out.

    A `kappa` that is given is kept: without a guessing floor it does not change.
    """
    dtype = task.abilities2.dtype
    doubled = items.second * packing.multiplicity(items.mean.shape[1], kernels.xp)
    omega = cells.square(doubled.astype(dtype), task.abilities2)
    bound = kernels.cell_terms(omega, cells.scores, cells.weights, with_bound)
    if kappa is not None and task.floor is None:
        return omega, kappa, bound
    kappa = kernels.xp.empty(cells.shape, dtype=dtype)
    if task.floor is None:
        kernels.centred_scores(cells.scores, cells.weights, kappa)
    else:
        logit = cells.square(items.mean.astype(dtype), task.abilities1)
        floor = cells.spread(task.floor, kernels)
        bound += kernels.knowing_scores(
            logit, cells.scores, cells.weights, floor, kappa
        )
    return omega, kappa, bound


def sweep(block, before, after, task, kernels):
    """Update the items of a block, then sum what the abilities need.

    Parameters
    ----------
    block : DenseBlock or SparseBlock
    before, after : ItemState
        All items; those of the block are read from `before` and written to `after`.
    task : ItemTask
    kernels : Kernels

    Returns
    -------
    sums : PassSums
        Its bound is that of the state before the pass.
    """
    cells, before, task = _enter(block, before, task, kernels)
    items = after.block(block.start, block.stop)
    change_coordinates(before, task.carry, items, kernels.xp)
    omega, kappa, bound = weigh_cells(cells, items, task, kernels)
    linear = cells.sum_by_item(kappa, task.abilities1)
    bound += (items.mean * linear).sum()
    precision = cells.sum_by_item(omega, task.abilities2)
    logdet = _update_items(items, precision, linear, task, kernels)
    omega, kappa, _ = weigh_cells(cells, items, task, kernels, kappa, with_bound=False)
    dtype = task.abilities2.dtype
    present, member = task.members[block.start]
    return PassSums(
        bound,
        cells.sum_by_respondent(omega, items.second.astype(dtype)),
        cells.sum_by_respondent(kappa, items.mean.astype(dtype)),
        _scatter(member @ items.mean, present, task, kernels),
        _scatter(member @ items.second, present, task, kernels),
        logdet @ member.sum(0),
    )


def sum_for_abilities(block, items, task, kernels):
    """Return what the abilities need from a block, the items held as they are.

    The bound is complete but for the divergence of the abilities from their prior.
    """
    cells, items, task = _enter(block, items, task, kernels)
    omega, kappa, bound = weigh_cells(cells, items, task, kernels)
    dtype = task.abilities2.dtype
    moment = cells.sum_by_respondent(omega, items.second.astype(dtype))
    linear = cells.sum_by_respondent(kappa, items.mean.astype(dtype))
    bound += (linear * task.abilities1).sum()
    return PassSums(bound, moment, linear)


def group_members(blocks, groups, observed, kernels):
    """Return the `members` of :class:`ItemTask`."""
    members = {}
    for block in blocks:
        here = slice(block.start, block.stop)
        present, local = np.unique(groups[here], return_inverse=True)
        member = (local == np.arange(len(present))[:, None]) & observed[here]
        members[block.start] = (present, kernels.asarray(member, dtype=np.float64))
    return members


def _enter(block, items, task, kernels):
    """Operator, items and task of one block."""
    here = slice(block.start, block.stop)
    task = replace(
        task,
        groups=task.groups[here],
        floor=None if task.floor is None else task.floor[here],
    )
    cells = cells_operator(block, kernels, len(task.abilities1))
    return cells, items.block(block.start, block.stop), task


def _update_items(items, precision, linear, task, kernels):
    """Posterior of the items given the abilities; log determinants of covariances."""
    precision += task.prior_precision[task.groups]
    linear += task.prior_linear[task.groups]
    mean, covariance, logdet = kernels.solve_gaussian(precision, linear)
    if task.nonnegative:
        mean = kernels.solve_nonnegative(precision, linear, mean)
    items.mean[:] = mean
    items.second[:] = covariance + packing.outer(mean, kernels.xp)
    return logdet


def _scatter(rows, groups, task, kernels):
    """Return `rows` at the place of their groups among rows of zeros."""
    out = kernels.xp.zeros((len(task.prior_linear), rows.shape[1]))
    out[kernels.asarray(groups)] = rows
    return out


def bound_by_respondent(block, items, task, kernels):
    """Return the bound on the log-likelihood of each respondent's answers, (N,)."""
    cells, items, task = _enter(block, items, task, kernels)
    xp = kernels.xp
    doubled = items.second * packing.multiplicity(items.mean.shape[1], xp)
    c = xp.sqrt(cells.square(doubled, task.abilities2) + 1e-12)
    eta = cells.square(items.mean, task.abilities1)
    seen = cells.scores >= 0
    weight = seen if cells.weights is None else seen * cells.weights
    right = xp.where(seen, cells.scores, 0.0)
    if task.floor is None:
        knows, extra = right, 0.0
    else:
        floor = cells.spread(task.floor, kernels)
        share = xp.clip(1 / (1 + floor * xp.exp(-eta)), 1e-12, 1 - 1e-12)
        lucky = (1 - share) * xp.log(xp.maximum(floor, 1e-300))
        entropy = -share * xp.log(share) - (1 - share) * xp.log1p(-share)
        knows = right * share
        extra = right * (lucky + entropy) + (1 - right) * xp.log1p(-floor)
    bound = weight * ((knows - 0.5) * eta - c / 2 - xp.log1p(xp.exp(-c)) + extra)
    return cells.sum_by_respondent(bound, xp.ones((len(items.mean), 1)))[:, 0]
