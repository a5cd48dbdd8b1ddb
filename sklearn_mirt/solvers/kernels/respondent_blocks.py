"""The block functions with the roles exchanged: respondents in runs, items whole.

A shard holds the cells of a run of respondents as `blocks.py` holds those of a run of
items, the table lying on its side: rows are respondents, columns are items. A pass
updates the abilities of the shard given the items and returns what the items need, so
that nothing of the size of the respondents leaves the shard.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_mirt.data.cells import DenseBlock
from sklearn_mirt.models import packing
from sklearn_mirt.solvers.kernels.gaussian_solves import solve_gaussian
from sklearn_mirt.solvers.kernels.item_blocks import (
    AbilityTables,
    DenseCellsOperator,
    ItemState,
    ItemTask,
    PassSums,
    SparseCellsOperator,
    cell_terms,
    column_sums,
    row_sums,
    sums_by_respondent,
)


@dataclass(frozen=True, eq=False)
class AbilityState:
    """Posterior of the abilities of a shard: means (n, D), packed covariances."""

    mean: np.ndarray
    covariance: np.ndarray

    def moved(self, inverse, center):
        """Return the abilities inverse (theta - center)."""
        return AbilityState(
            (self.mean - center) @ inverse.T,
            self.covariance @ packing.congruence(inverse).T,
        )


@dataclass(frozen=True, eq=False)
class ShardTask:
    """What every shard needs in one pass; all of it of the size of the items.

    Parameters
    ----------
    mean : (J, K) array
        E[beta], beta = (a, d), in the coordinates that the abilities move to.
    covariance : (J, L) array
        Packed covariances of beta.
    inverse, center : (D, D) and (D,) arrays
        Change of coordinates owed to the abilities since the last pass.
    floor : (J,) array or None
        Guessing floor; None where there is none at all.
    dtype : dtype
        Type of the matrix products.
    """

    mean: np.ndarray
    covariance: np.ndarray
    inverse: np.ndarray
    center: np.ndarray
    floor: np.ndarray | None
    dtype: np.dtype

    def __getstate__(self):
        """Travel without the tables, which are larger and soon made."""
        return {name: value for name, value in vars(self).items() if name != "tables"}

    @cached_property
    def tables(self):
        """What the products read of the items."""
        second = packing.outer(self.mean) + self.covariance
        doubled = second * packing.multiplicity(self.mean.shape[1])
        parts = self.mean, second, doubled
        return AbilityTables(*(part.astype(self.dtype, order="C") for part in parts))


@dataclass(frozen=True, eq=False)
class StartTask:
    """What every shard needs for the starting abilities.

    Parameters
    ----------
    rate, inverse : (J,) arrays
        Mean, and one over standard deviation, of the score of each item.
    vectors : (J, D) array
        theta = Z vectors, Z the standardised answers, 0 where missing.
    variance : float
        That of each ability about this mean.
    """

    rate: np.ndarray
    inverse: np.ndarray
    vectors: np.ndarray
    variance: float = 0.05


def sweep_respondents(cells, state, task, kernels):
    """Update the abilities of a shard, then sum what the items need.

    Parameters
    ----------
    cells : DenseCells or SparseCells
        Respondents along the first axis.
    state : AbilityState
        Owed the change of coordinates of `task`.
    task : ShardTask
    kernels : Kernels

    Returns
    -------
    state : AbilityState
    sums : PassSums
        Its bound is that of the state before the pass; `group_first` and `group_second`
        are sums of E[(theta, 1)] and packed E[(theta, 1)(theta, 1)'].
    """
    return _over_blocks(_sweep, cells, state, task, kernels)


def sum_for_items(cells, state, task, kernels):
    """Return the abilities, moved but not updated, and what the items need."""
    return _over_blocks(_hold, cells, state, task, kernels)


def start_respondents(cells, state, start, task, kernels):
    """Return the starting abilities of a shard, and what the items need."""
    parts = [
        rows.sum_by_item(_standardised(rows, start, kernels), start.vectors)
        for _, rows in _operators(cells, kernels, len(start.rate))
    ]
    mean = np.concatenate(parts).astype(np.float64)
    variance = packing.pack(start.variance * np.eye(mean.shape[1]))
    state = AbilityState(mean, np.tile(variance, (len(mean), 1)))
    return sum_for_items(cells, state, task, kernels)


def gram_of_items(cells, start, kernels):
    """Return Z' Z vectors of the standardised answers Z of a shard, (J, D)."""
    total = 0.0
    for _, rows in _operators(cells, kernels, len(start.rate)):
        z = _standardised(rows, start, kernels)
        total += rows.sum_by_respondent(z, rows.sum_by_item(z, start.vectors))
    return total


class _ByItem:
    """A value per item goes to the cells of a column, where rows are respondents."""

    dense: bool
    shape: tuple
    _place: tuple

    def spread(self, values, kernels):
        """Return one value per item as one value per cell."""
        if self.dense:
            return np.broadcast_to(values, self.shape)
        return values[self._place[1]][None]


class _DenseRows(_ByItem, DenseCellsOperator):
    pass


class _SparseRows(_ByItem, SparseCellsOperator):
    pass


def _operators(cells, kernels, n_items):
    for block in cells.blocks(kernels.block_cells):
        if isinstance(block, DenseBlock):
            yield block, _DenseRows(block, kernels)
        else:
            yield block, _SparseRows(block, kernels, n_items)


def _standardised(rows, start, kernels):
    standard = kernels.space("square", rows.shape, start.vectors.dtype)
    rate, inverse = (rows.spread(v, kernels) for v in (start.rate, start.inverse))
    kernels.standardised(rows.scores, rate, inverse, standard)
    return standard


def _over_blocks(step, cells, state, task, kernels):
    """Run `step` on the blocks of a shard in their order and add up the sums."""
    items = task.tables
    pass_task = ItemTask(items, items, floor=task.floor)
    state = state.moved(task.inverse, task.center)
    total = None
    for block, operator in _operators(cells, kernels, len(items.first)):
        here = slice(block.start, block.stop)
        part = AbilityState(state.mean[here], state.covariance[here])
        part, moments, bound, sums = step(operator, part, pass_task, kernels)
        state.mean[here], state.covariance[here] = part.mean, part.covariance
        # who has no cells counts for nothing
        answered = _answered(block).astype(np.float64)
        sums = PassSums(bound, *sums, *(answered @ moment for moment in moments))
        if total is None:
            total = sums
        else:
            total += sums
    return state, total


def _answered(block):
    if isinstance(block, DenseBlock):
        return (block.scores >= 0).any(1)
    return np.diff(block.offsets) > 0


def _rows(moments, dtype):
    """Moments of (theta, 1) as the products take them."""
    first, second = moments
    return ItemState(first, second.astype(dtype, order="C"))


def _sweep(cells, state, task, kernels):
    """Return new abilities, their moments and logdets, bound of the old, and sums."""
    items, floor = task.abilities, task.floor
    moments = packing.moments_with_one(state.mean, state.covariance)
    rows = _rows(moments, items.first.dtype)
    kappa, linear, precision, bound = row_sums(cells, rows, floor, task, kernels)
    bound += np.vdot(rows.mean, linear)
    d = state.mean.shape[1]
    n_packed = d * (d + 1) // 2
    mean, covariance, logdet = solve_gaussian(
        precision[:, :n_packed] + packing.pack(np.eye(d)),
        (linear[:, :d] - precision[:, n_packed:-1]).astype(np.float64),
    )
    moments = packing.moments_with_one(mean, covariance)
    rows = _rows(moments, items.first.dtype)
    found = column_sums(cells, kappa, rows, floor, items, kernels)
    return AbilityState(mean, covariance), (*moments, logdet), bound, found


def _hold(cells, state, task, kernels):
    """Return the same of abilities that are held as they are."""
    items = task.abilities
    moments = packing.moments_with_one(state.mean, state.covariance)
    rows = _rows(moments, items.first.dtype)
    omega, kappa, bound, gain = cell_terms(cells, rows, items, task.floor, kernels)
    bound += gain + np.vdot(rows.mean, cells.sum_by_item(kappa, items.first))
    logdet = np.linalg.slogdet(packing.unpack(state.covariance))[1]
    found = sums_by_respondent(cells, omega, kappa, rows)
    return state, (*moments, logdet), bound, found
