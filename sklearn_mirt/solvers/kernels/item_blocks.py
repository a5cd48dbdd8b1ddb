"""The block functions, written once for every backend.

One pass over a block of items is three thin matrix products and one elementwise
function per half pass. With packed second moments T = E[beta beta'] of the items and
P = E[theta theta'] of the respondents (theta extended by 1),

    E[eta^2] = T . P      omega = w tanh(c / 2) / (2 c), c = sqrt(E[eta^2])
    items        precision = sum_i omega P_i    linear = sum_i kappa theta_i
    respondents  moment    = sum_j omega T_j    linear = sum_j kappa beta_j

where kappa = w (y - 1/2) (Polson, Scott & Windle 2013; Jaakkola & Jordan 2000). The
kernels supply the array namespace `xp`, the elementwise core and the batched solves.

A block may have a known offset o of the logit of each cell. Then eta is
beta . theta + o, and kappa - omega o takes the place of kappa in the sums; what the
bound lacks by this, omega o beta . theta + kappa o, is added to it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_mirt.data.cells import DenseBlock
from sklearn_mirt.models import packing


@dataclass(frozen=True, eq=False)
class ItemState:
    """Posterior of all items: means (J, K) and packed second moments (J, L)."""

    mean: np.ndarray
    second: np.ndarray

    def block(self, here):
        """Return views of the items of a slice."""
        return ItemState(self.mean[here], self.second[here])

    def empty_like(self):
        """Return space for another state of the same items."""
        return ItemState(np.empty_like(self.mean), np.empty_like(self.second))


@dataclass(frozen=True, eq=False)
class AbilityTables:
    """What the products of a pass read of the respondents, in one set of coordinates.

    Parameters
    ----------
    first : (N, K) array
        E[(theta, 1)].
    second : (N, L) array
        Packed E[(theta, 1)(theta, 1)'].
    doubled : (N, L) array
        `second` with off-diagonal entries doubled: times packed T it is E[eta^2].
    """

    first: np.ndarray
    second: np.ndarray
    doubled: np.ndarray

    @classmethod
    def of(cls, mean, covariance, carry, kernels, dtype):
        """Return the tables of (theta, 1), and those of carry' (theta, 1).

        Items that are still owed a change of coordinates meet the abilities of the
        second, and give the same logits: beta . carry' theta = carry beta . theta.
        """
        first, second = packing.moments_with_one(mean, covariance)
        moved = first @ carry, second @ packing.congruence(carry.T).T
        twice = packing.multiplicity(first.shape[1])
        return [
            cls(*(kernels.asarray(x, dtype=dtype) for x in (one, two, two * twice)))
            for one, two in ((first, second), moved)
        ]


@dataclass(frozen=True, eq=False)
class ItemTask:
    """What every block needs in one pass.

    Parameters
    ----------
    abilities : AbilityTables
        In the coordinates that the items move to.
    owed : AbilityTables
        In the coordinates that the items are still in.
    carry : (K, K) array
        Change of coordinates owed to the items since the last pass.
    floor : (J,) array or None
        Guessing floor; None where there is none at all.
    prior_precision : (G, L) array
        Packed prior precision of each item group.
    prior_linear : (R, K) array
        Prior precision times prior mean: a row for each group, unless `prior_rows`
        names others.
    groups : (J,) array
        Item group of each item.
    observed : (J,) boolean array
        Whether an item has answers; the others are no part of sums over items.
    nonnegative : bool
        Whether slopes are kept at or above zero.
    prior_rows : (J,) array or None
        Row of `prior_linear` of each item, where items of one group have prior means
        that differ; None for the row of its group.
    """

    abilities: AbilityTables | None = None
    owed: AbilityTables | None = None
    carry: np.ndarray | None = None
    floor: np.ndarray | None = None
    prior_precision: np.ndarray | None = None
    prior_linear: np.ndarray | None = None
    groups: np.ndarray | None = None
    observed: np.ndarray | None = None
    nonnegative: bool = False
    prior_rows: np.ndarray | None = None

    def linear_rows(self, here):
        """Return the row of `prior_linear` of the items of a slice."""
        rows: Any = self.groups if self.prior_rows is None else self.prior_rows
        return rows[here]


@dataclass(eq=False)
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

    def __iadd__(self, other):
        """Add the sums of another block in place."""
        self.bound += other.bound
        self.moment += other.moment
        self.linear += other.linear
        self.group_first += other.group_first
        self.group_second += other.group_second
        self.logdet += other.logdet
        return self


class DenseCellsOperator:
    """Products of a dense block of cells (items, respondents) with small tables."""

    dense = True

    def __init__(self, block, kernels):
        self._kernels = kernels
        self.scores = block.scores
        self.weights = block.weights
        self.offset = block.logit_offset
        self.shape = block.scores.shape

    def square(self, items, respondents, name="square"):
        """Return items . respondents of each cell, in memory kept under a name."""
        dtype = np.promote_types(items.dtype, respondents.dtype)
        out = self._kernels.space(name, self.shape, dtype)
        return self._kernels.xp.matmul(items, respondents.T, out=out)

    def sum_by_item(self, cells, table):
        """Return sum over respondents of cell times their row of `table`."""
        return cells @ table

    def sum_by_respondent(self, cells, table):
        """Return sum over items of cell times their row of `table`."""
        return (cells.T @ table).astype(np.float64)

    def spread(self, values, kernels):
        """Return one value per item as one value per cell."""
        return kernels.xp.broadcast_to(values[:, None], self.shape)


class SparseCellsOperator:
    """The same products over the observed cells of a sparse block only."""

    dense = False

    def __init__(self, block, kernels, n_respondents):
        self._kernels = kernels
        self._place = (block.offsets, block.respondents)
        self._n_respondents = n_respondents
        self.scores = block.scores[None]
        self.weights = _as_row(block.weights)
        self.offset = _as_row(block.logit_offset)
        self.shape = self.scores.shape

    def square(self, items, respondents, name="square"):
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
        return values[kernels.item_of_cells(self._place[0], self.shape[1])][None]


def _as_row(values):
    return None if values is None else values[None]


def cells_operator(block, kernels, n_respondents):
    """Return the operator of a block, dense or sparse."""
    if isinstance(block, DenseBlock):
        return DenseCellsOperator(block, kernels)
    return SparseCellsOperator(block, kernels, n_respondents)


def on_device(block, kernels):
    """Return a block whose arrays are on the device of the kernels."""
    arrays = {
        name: kernels.asarray(part)
        for name, part in vars(block).items()
        if isinstance(part, np.ndarray)
    }
    return replace(block, **arrays)


def change_coordinates(items, carry, kernels):
    """Return the items after a linear change of (slopes, intercept)."""
    dtype = items.second.dtype
    return ItemState(
        items.mean @ kernels.asarray(carry.T),
        items.second @ kernels.asarray(packing.congruence(carry).T, dtype=dtype),
    )


def share_knowing(logit, floor, xp):
    """Return the probability that a right answer was known, and what it is worth.

    s = e^eta / (e^eta + g), and the log-prior and entropy of this share in the bound,
    log(1 + g e^-eta) + (1 - s) eta, which is 0 where g is 0.
    """
    size = xp.abs(logit)
    small, likely = xp.exp(-xp.minimum(size, 700.0)), logit >= 0
    total = xp.where(likely, 1 + floor * small, small + floor)
    known = xp.where(likely, 1.0, small) / total
    gain = xp.log(total) + size * xp.where(likely, 1 - known, known)
    return known, xp.where(floor > 0, gain, 0.0)


def cell_terms(cells, items, abilities, floor, kernels, with_bound=True, kappa=None):
    """Return omega, kappa, and two parts of the bound.

    kappa . beta . theta is left out of the bound. `kappa` may be given for plain
    cells, where it never changes.
    """
    omega, logit, gain = cells.square(items.second, abilities.doubled), None, 0.0
    if not is_plain(cells, floor):
        mean = items.mean.astype(abilities.first.dtype)
        logit = cells.square(mean, abilities.first, "logit")
        add_offset(cells, omega, logit, kernels.xp)
    bound = kernels.cell_terms(omega, cells.scores, cells.weights, with_bound)
    if kappa is None:
        kappa = kernels.space("kappa", cells.shape, abilities.first.dtype)
        answers = cells.scores, cells.weights
        if floor is None:
            kernels.centred_scores(*answers, kappa)
        else:
            floor = cells.spread(floor, kernels)
            gain = kernels.knowing_scores(logit, *answers, floor, kappa, with_bound)
    if cells.offset is not None:
        gain += _move_to_kappa(cells.offset, omega, kappa, logit)
    return omega, kappa, bound, gain


def is_plain(cells, floor):
    """Return whether kappa does not depend on the logit: no floor, no offset."""
    return floor is None and cells.offset is None


def add_offset(cells, square, logit, xp):
    """Add the offset of each cell to E[eta], and what follows to E[eta^2], in place."""
    if cells.offset is not None:
        square += cells.offset * (2 * logit + cells.offset)
        xp.maximum(square, 0, out=square)  # rounding may lead below
        logit += cells.offset


def _move_to_kappa(offset, omega, kappa, logit):
    """Turn kappa into kappa - omega o in place; return what the bound lacks by it."""
    lacking = offset * (kappa + omega * (logit - offset))
    kappa -= omega * offset
    return lacking.sum(dtype=np.float64)


def sweep(block, before, after, task, kernels):
    """Update the items of a block, then sum what the abilities need.

    Parameters
    ----------
    block : DenseBlock or SparseBlock
    before, after : ItemState
        All items; those of the block are read from `before`, which `task.carry` is owed
        to, and written to `after`.
    task : ItemTask
    kernels : Kernels

    Returns
    -------
    sums : PassSums
        Its bound is that of the state before the pass.
    """
    cells, here, floor = _enter(block, task, kernels)
    items, new = before.block(here), after.block(here)
    kappa, linear, precision, bound = row_sums(cells, items, floor, task, kernels)
    moved = items.mean @ kernels.asarray(task.carry.T)
    bound += kernels.xp.vdot(moved, linear)
    sums = kernels.update_items(precision, linear, task, here, new)
    found = column_sums(cells, kappa, new, floor, task.abilities, kernels)
    return PassSums(bound, *found, *sums)


def row_sums(cells, items, floor, task, kernels):
    """Return kappa, the two sums by item, and the bound but for kappa . beta . theta.

    Kappa is None where :func:`column_sums` has no use for it.
    """
    owed, abilities = task.owed, task.abilities
    if floor is None and kernels.fuses(cells):
        given = cells.scores, items.second, owed, abilities
        return None, *kernels.plain_item_sums(*given)
    omega, kappa, bound, gain = cell_terms(cells, items, owed, floor, kernels)
    linear = cells.sum_by_item(kappa, abilities.first)
    precision = cells.sum_by_item(omega, abilities.second)
    return kappa if is_plain(cells, floor) else None, linear, precision, bound + gain


def column_sums(cells, kappa, items, floor, abilities, kernels):
    """Return the two sums by respondent, given the items."""
    if floor is None and kernels.fuses(cells):
        return kernels.plain_ability_sums(cells.scores, items, abilities)
    given = cells, items, abilities, floor, kernels
    omega, kappa, *_ = cell_terms(*given, with_bound=False, kappa=kappa)
    return sums_by_respondent(cells, omega, kappa, items)


def sum_for_abilities(block, items, task, kernels):
    """Return what the abilities need from a block, the items held as they are.

    The bound is complete but for the divergence of the abilities from their prior.
    """
    cells, here, floor = _enter(block, task, kernels)
    items, abilities = items.block(here), task.abilities
    omega, kappa, bound, gain = cell_terms(cells, items, abilities, floor, kernels)
    moment, linear = sums_by_respondent(cells, omega, kappa, items)
    bound += gain + kernels.xp.vdot(linear, abilities.first)
    return PassSums(bound, moment, linear)


def sums_by_respondent(cells, omega, kappa, items):
    """Return the sums by respondent of omega E[beta beta'] and kappa E[beta]."""
    first = items.mean.astype(kappa.dtype)
    return (
        cells.sum_by_respondent(omega, items.second),
        cells.sum_by_respondent(kappa, first),
    )


def _enter(block, task, kernels):
    """Operator of one block, the slice of its items, and their floor."""
    here = slice(block.start, block.stop)
    cells = cells_operator(block, kernels, len(task.abilities.first))
    return cells, here, None if task.floor is None else task.floor[here]


def bound_by_respondent(block, items, task, kernels):
    """Return the bound on the log-likelihood of each respondent's answers, (N,)."""
    cells, here, floor = _enter(block, task, kernels)
    items, abilities, xp = items.block(here), task.abilities, kernels.xp
    square = cells.square(items.second, abilities.doubled)
    eta = cells.square(items.mean, abilities.first, "logit")
    add_offset(cells, square, eta, xp)
    c = xp.sqrt(square + 1e-12)
    seen = cells.scores >= 0
    weight = seen if cells.weights is None else seen * cells.weights
    right = xp.where(seen, cells.scores, 0.0)
    if floor is None:
        knows, extra = right, 0.0
    else:
        floor = cells.spread(floor, kernels)
        known, gain = share_knowing(eta, floor, xp)
        knows = right * known
        extra = right * gain + (1 - right) * xp.log1p(-floor)
    bound = weight * ((knows - 0.5) * eta - c / 2 - xp.log1p(xp.exp(-c)) + extra)
    return cells.sum_by_respondent(bound, xp.ones((len(items.mean), 1)))[:, 0]
