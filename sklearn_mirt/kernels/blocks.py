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

from dataclasses import dataclass, field, replace

import numpy as np

from sklearn_mirt.cells import DenseBlock
from sklearn_mirt.kernels import packing


@dataclass(eq=False)
class ItemState:
    """Posterior of all items: means (J, K) and packed second moments (J, L), float64."""

    mean: np.ndarray
    second: np.ndarray

    def block(self, start, stop):
        """Return views of the items of a block."""
        return ItemState(self.mean[start:stop], self.second[start:stop])

    def copy(self):
        """Return an independent copy."""
        return ItemState(self.mean.copy(), self.second.copy())


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
    observed : (J,) boolean array
        Items with an answer; the others take no part in sums over items.
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
    observed: np.ndarray
    floor: np.ndarray | None
    carry: np.ndarray
    nonnegative: bool = False


@dataclass(frozen=True, eq=False)
class PassSums:
    """Sums over items that a pass returns; they add up over blocks."""

    bound: float
    moment: np.ndarray
    linear: np.ndarray
    group_first: np.ndarray = field(default_factory=lambda: np.zeros(0))
    group_second: np.ndarray = field(default_factory=lambda: np.zeros(0))
    logdet: float = 0.0

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
        self.scores = kernels.asarray(block.scores)
        self.weights = None if block.weights is None else kernels.asarray(block.weights)
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
        return kernels.xp.repeat(values, np.diff(self._place[0]))[None]


def cells_operator(block, kernels, n_respondents):
    """Return the operator of a block, dense or sparse."""
    if isinstance(block, DenseBlock):
        return DenseCellsOperator(block, kernels)
    return SparseCellsOperator(block, kernels, n_respondents)


def change_coordinates(items, carry):
    """Apply a linear change of (slopes, intercept) coordinates in place."""
    items.mean[:] = items.mean @ carry.T
    items.second[:] = items.second @ packing.congruence(carry).T


def weigh_cells(cells, items, task, kernels, kappa=None, with_bound=True):
    """Return omega, kappa and the cells' part of the bound, kappa . eta left out.

    A `kappa` that is given is kept: without a guessing floor it does not change.
    """
    dtype = task.abilities2.dtype
    doubled = items.second * packing.multiplicity(items.mean.shape[1])
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


def sweep(block, items, task, kernels):
    """Update the items of a block in place, then sum what the abilities need.

    Returns
    -------
    sums : PassSums
        Its bound is that of the state before the pass.
    """
    cells, items, task = _enter(block, items, task, kernels)
    change_coordinates(items, task.carry)
    omega, kappa, bound = weigh_cells(cells, items, task, kernels)
    linear = cells.sum_by_item(kappa, task.abilities1)
    bound += float((items.mean * linear).sum())
    precision = cells.sum_by_item(omega, task.abilities2)
    logdet = _update_items(items, precision, linear, task, kernels)
    omega, kappa, _ = weigh_cells(cells, items, task, kernels, kappa, with_bound=False)
    dtype = task.abilities2.dtype
    return PassSums(
        bound,
        cells.sum_by_respondent(omega, items.second.astype(dtype)),
        cells.sum_by_respondent(kappa, items.mean.astype(dtype)),
        *_group_sums(items, task),
        logdet,
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
    bound += float((linear * task.abilities1).sum())
    return PassSums(bound, moment, linear)


def _enter(block, items, task, kernels):
    """Operator, items and task of one block."""
    here = slice(block.start, block.stop)
    task = replace(
        task,
        groups=task.groups[here],
        observed=task.observed[here],
        floor=None if task.floor is None else task.floor[here],
    )
    cells = cells_operator(block, kernels, len(task.abilities1))
    return cells, items.block(block.start, block.stop), task


def _update_items(items, precision, linear, task, kernels):
    """Posterior of the items given the abilities; log determinant of covariances."""
    precision += task.prior_precision[task.groups]
    linear += task.prior_linear[task.groups]
    mean, covariance, logdet = kernels.solve_gaussian(precision, linear)
    if task.nonnegative:
        mean = kernels.solve_nonnegative(precision, linear, mean)
    items.mean[:] = mean
    items.second[:] = covariance + packing.outer(mean)
    return float(logdet[task.observed].sum())


def _group_sums(items, task):
    """First and packed second moments of the answered items, summed by group."""
    n_groups = len(task.prior_linear)
    present, local = np.unique(task.groups, return_inverse=True)
    member = (local == np.arange(len(present))[:, None]) & task.observed
    first = np.zeros((n_groups, items.mean.shape[1]))
    second = np.zeros((n_groups, items.second.shape[1]))
    first[present] = member @ items.mean
    second[present] = member @ items.second
    return first, second
