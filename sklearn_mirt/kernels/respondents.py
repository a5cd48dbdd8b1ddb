"""The block functions with the roles exchanged: respondents in runs, items whole.

A shard holds the cells of a run of respondents as `blocks.py` holds those of a run of
items, the table lying on its side: rows are respondents, columns are items. A pass
updates the abilities of the shard given the items and returns what the items need, so
that nothing of the size of the respondents leaves the shard.
"""

from dataclasses import dataclass

import numpy as np

from sklearn_mirt.cells import DenseBlock
from sklearn_mirt.kernels import packing
from sklearn_mirt.kernels.blocks import (
    AbilityTables,
    ItemState,
    PassSums,
    cells_operator,
    weigh_cells,
)
from sklearn_mirt.kernels.cpu import solve_gaussian


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

    def tables(self):
        """Return what the products read of the items."""
        second = packing.outer(self.mean) + self.covariance
        doubled = second * packing.multiplicity(self.mean.shape[1])
        parts = self.mean, second, doubled
        return AbilityTables(*(part.astype(self.dtype) for part in parts))


@dataclass(frozen=True, eq=False)
class StartTask:
    """What every shard needs for the starting abilities.

    Parameters
    ----------
    rate, scale : (J,) arrays
        Mean and standard deviation of the score of each item.
    vectors : (J, D) array
        theta = Z vectors, Z the standardised answers, 0 where missing.
    """

    rate: np.ndarray
    scale: np.ndarray
    vectors: np.ndarray


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
        operator.sum_by_item(_standardised(operator, block, start), start.vectors)
        for block, operator in _operators(cells, kernels, len(start.rate))
    ]
    mean = np.concatenate(parts)
    variance = packing.pack(0.05 * np.eye(mean.shape[1]))
    state = AbilityState(mean, np.tile(variance, (len(mean), 1)))
    return sum_for_items(cells, state, task, kernels)


def gram_of_items(cells, start, kernels):
    """Return Z' Z vectors of the standardised answers Z of a shard, (J, D)."""
    total = 0.0
    for block, operator in _operators(cells, kernels, len(start.rate)):
        z = _standardised(operator, block, start)
        total += operator.sum_by_respondent(z, operator.sum_by_item(z, start.vectors))
    return total


def _operators(cells, kernels, n_items):
    for block in cells.blocks(kernels.block_cells):
        yield block, cells_operator(block, kernels, n_items)


def _of_item(block, values):
    """One value per item as one value per cell."""
    if isinstance(block, DenseBlock):
        return np.broadcast_to(values, block.scores.shape)
    return values[block.respondents][None]


def _standardised(operator, block, start):
    z = (operator.scores - _of_item(block, start.rate)) / _of_item(block, start.scale)
    return np.where(operator.scores >= 0, z, 0.0)


def _over_blocks(step, cells, state, task, kernels):
    """Run `step` on the blocks of a shard in their order and add up the sums."""
    items = task.tables()
    state = state.moved(task.inverse, task.center)
    after = AbilityState(state.mean.copy(), state.covariance.copy())
    total = None
    for block, operator in _operators(cells, kernels, len(items.first)):
        here = slice(block.start, block.stop)
        rows = AbilityState(state.mean[here], state.covariance[here])
        answered = _answered(block)
        rows, sums = step(operator, block, rows, answered, items, task, kernels)
        after.mean[here], after.covariance[here] = rows.mean, rows.covariance
        if total is None:
            total = sums
        else:
            total += sums
    return after, total


def _answered(block):
    if isinstance(block, DenseBlock):
        return (block.scores >= 0).any(1)
    return np.diff(block.offsets) > 0


def _rows(state, dtype):
    """Moments of (theta, 1) as the products take them."""
    first, second = packing.moments_with_one(state.mean, state.covariance)
    return ItemState(first, second.astype(dtype))


def _centred(operator, block, rows, items, floor, kernels):
    """Return kappa and its part of the bound, kappa . eta left out."""
    kappa = np.empty(operator.shape, dtype=items.first.dtype)
    scores, weights = operator.scores, operator.weights
    if floor is None:
        return kernels.centred_scores(scores, weights, kappa), 0.0
    logit = operator.square(rows.mean.astype(kappa.dtype), items.first)
    floor = _of_item(block, floor)
    return kappa, kernels.knowing_scores(logit, scores, weights, floor, kappa)


def _sweep(operator, block, state, answered, items, task, kernels):
    d = len(task.center)
    n_packed = d * (d + 1) // 2
    rows = _rows(state, task.dtype)
    omega, bound = weigh_cells(operator, rows, items, kernels)
    kappa, gain = _centred(operator, block, rows, items, task.floor, kernels)
    linear = operator.sum_by_item(kappa, items.first)
    bound += gain + (rows.mean * linear).sum()
    precision = operator.sum_by_item(omega, items.second)
    mean, covariance, logdet = solve_gaussian(
        precision[:, :n_packed] + packing.pack(np.eye(d)),
        linear[:, :d] - precision[:, n_packed:-1],
    )
    state = AbilityState(mean, covariance)
    rows = _rows(state, task.dtype)
    omega, _ = weigh_cells(operator, rows, items, kernels, with_bound=False)
    if task.floor is not None:
        kappa, _ = _centred(operator, block, rows, items, task.floor, kernels)
    sums = _for_items(operator, omega, kappa, state, answered, logdet)
    return state, PassSums(bound, *sums)


def _hold(operator, block, state, answered, items, task, kernels):
    rows = _rows(state, task.dtype)
    omega, bound = weigh_cells(operator, rows, items, kernels)
    kappa, gain = _centred(operator, block, rows, items, task.floor, kernels)
    linear = operator.sum_by_item(kappa, items.first)
    bound += gain + (rows.mean * linear).sum()
    logdet = np.linalg.slogdet(packing.unpack(state.covariance))[1]
    sums = _for_items(operator, omega, kappa, state, answered, logdet)
    return state, PassSums(bound, *sums)


def _for_items(operator, omega, kappa, state, answered, logdet):
    """Return sums over the respondents who answered; others have no cells."""
    first, second = packing.moments_with_one(state.mean, state.covariance)
    return (
        operator.sum_by_respondent(omega, second.astype(omega.dtype)),
        operator.sum_by_respondent(kappa, first.astype(kappa.dtype)),
        first[answered].sum(0),
        second[answered].sum(0),
        logdet[answered].sum(),
    )
