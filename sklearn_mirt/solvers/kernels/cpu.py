"""CPU kernels: products and elementwise cores, compiled with numba.

All are serial, release the GIL and write only to their own output, so a thread pool may
run them on different blocks at once.
"""

import math
import threading

import numpy as np

from sklearn_mirt.solvers.kernels import elementwise
from sklearn_mirt.solvers.kernels.compiling import jit
from sklearn_mirt.solvers.kernels.gaussian_solves import (
    second_moments,
    solve_batch,
    solve_nonnegative_batch,
)

_TILE_CELLS = 2**18  # of omega and kappa at a time
_TILE_ROWS = 32  # at least: else their sums by column would cost as much as the cells


class CpuKernels:
    """The numpy namespace and the compiled cores that the block functions call."""

    xp = np
    block_cells = 2**20  # Python is called seldom
    least_blocks = 16  # that threads share
    fuse_from = 2**18

    def __init__(self):
        self._of_thread = threading.local()

    def __reduce__(self):
        """Travel to another process without the memory of threads."""
        return CpuKernels, ()

    def space(self, name, shape, dtype):
        """Return memory that this thread keeps between blocks.

        New pages for every block can cost as much as the pass itself.
        """
        held, size = vars(self._of_thread), math.prod(shape)
        if name not in held or held[name].dtype != dtype or held[name].size < size:
            held[name] = np.empty(size, dtype)
        return held[name][:size].reshape(shape)

    def asarray(self, array, dtype=None):
        """Return the array, cast; in one order, or products compile for each."""
        return np.asarray(array, dtype=dtype, order="C")

    def to_host(self, array):
        """Return the array as a numpy array on the host."""
        return array

    def cell_terms(self, square, scores, weights, with_bound=True):
        """Turn E[eta^2] of each cell into its Polya-Gamma weight.

        Parameters
        ----------
        square : ndarray of shape (n, m)
            E[eta^2]; overwritten with omega = w tanh(c / 2) / (2 c), c the square root.
        scores : ndarray of shape (n, m)
            Scores, -1 where missing (omega is 0 there).
        weights : ndarray of shape (n, m) or None
            Weights w; None for 1.
        with_bound : bool
            Whether the bound is wanted.

        Returns
        -------
        bound : float
            Sum of -w (c / 2 + log(1 + exp(-c))) over observed cells, in float64.
        """
        space = elementwise.workspace(square.dtype)
        square, scores, weights = _long_rows(square, scores, weights)
        if weights is None:
            return elementwise.cell_terms(square, scores, *space, with_bound)
        return elementwise.weighted_cell_terms(
            square, scores, weights, *space[:5], with_bound
        )

    def centred_scores(self, scores, weights, out):
        """Write kappa = w (y - 1/2), 0 where missing, to `out` and return it."""
        flat, scores, weights = _long_rows(out, scores, weights)
        if weights is None:
            elementwise.centre(scores, flat)
        else:
            elementwise.weighted_centre(scores, weights, flat)
        return out

    def standardised(self, scores, rate, inverse, out):
        """Write (score - rate) times inverse of each cell, 0 where missing, to `out`.

        Values that are the same along a row may be broadcast.
        """
        if rate.strides[1] == 0:
            rate, inverse = rate[:, :1], inverse[:, :1]
        elementwise.standardise(scores, rate, inverse, out)

    def knowing_scores(self, logit, scores, weights, floor, out, with_bound=True):
        """Write kappa with each right answer shared between knowing and guessing.

        Parameters
        ----------
        logit : ndarray of shape (n, m)
            E[eta].
        scores, weights, with_bound : as in :meth:`cell_terms`
        floor : ndarray of shape (n, m)
            Guessing floor of the item of each cell; it may be broadcast along a row.
        out : ndarray of shape (n, m)
            Overwritten with w (y s - 1/2), s = e^eta / (e^eta + g) the probability that
            a right answer was known.

        Returns
        -------
        bound : float
            Sum of w [y (log-prior and entropy of the share) + (1 - y) log(1 - g)]; the
            bracket of y is log(1 + g e^-eta) + (1 - s) eta, 0 where g is 0.
        """
        if floor.strides[1] == 0 and out.shape[1] >= elementwise.CHUNK:
            floor = floor[:, :1]
        else:
            floor = np.ascontiguousarray(floor, dtype=out.dtype)
            tiles = logit, scores, weights, floor, out
            logit, scores, weights, floor, out = _long_rows(*tiles)
        if weights is None:
            weights = np.ones((len(scores), 1), np.float32)
        taylor, numbers, integer = elementwise.CONSTANTS[out.dtype]
        scratch = np.empty((9, elementwise.CHUNK), out.dtype)
        bits, root = scratch[2].view(integer), numbers[12:].view(integer)
        given = logit, scores, weights, floor, out
        return elementwise.share_answers(
            *given, taylor, numbers, scratch, bits, root, with_bound
        )

    def update_items(self, precision, linear, task, here, items):
        """Update the posterior of the items of a block given the abilities.

        Parameters
        ----------
        precision, linear : ndarrays of shape (n, L), (n, K)
            What the answers say, in canonical form; precisions packed.
        task : ItemTask
        here : slice
            The items of the block among all.
        items : ItemState
            The items of the block, overwritten.

        Returns
        -------
        first, second : ndarrays of shape (G, K), (G, L)
            Sums of E[beta] and packed E[beta beta'] over the answered items of groups.
        logdet : float
            Sum of the log determinants of their covariances.
        """
        groups, observed = task.groups[here], task.observed[here]
        rows = task.linear_rows(here)
        prior = task.prior_precision, task.prior_linear
        covariance, logdet = np.empty(precision.shape), np.empty(len(precision))
        out = items.mean, covariance, logdet
        solve_batch(precision, linear, *prior, groups, rows, *out)
        if task.nonnegative:
            precision, linear = precision + prior[0][groups], linear + prior[1][rows]
            solve_nonnegative_batch(precision, linear, items.mean)
        first = np.zeros((len(prior[0]), linear.shape[1]))
        second = np.zeros(prior[0].shape)
        total = second_moments(*out, groups, observed, items.second, first, second)
        return first, second, total

    def fuses(self, cells):
        """Whether the next two methods serve these cells: dense and plain.

        Plain cells have weight 1 and no offset.
        They are a half pass each in one compiled call: threads that meet at Python's
        lock for every product would spend a third of their time waiting. Few cells are
        not worth the seconds that they take to compile.
        """
        plain = cells.dense and cells.weights is None and cells.offset is None
        large = cells.scores.size >= self.fuse_from
        return plain and large and cells.scores.flags.c_contiguous

    def plain_item_sums(self, scores, second, owed, abilities):
        """Return the two sums by item, and the bound but for kappa . eta."""
        dtype, n = abilities.first.dtype, len(scores)
        linear = np.empty((n, abilities.first.shape[1]), dtype)
        precision = np.empty((n, abilities.second.shape[1]), dtype)
        tables = owed.doubled.T, abilities.first, abilities.second
        space = elementwise.workspace(dtype)
        out = *self._tiles(scores, dtype), linear, precision, space
        bound = elementwise.plain_item_sums(scores, second, *tables, *out)
        return linear, precision, bound

    def plain_ability_sums(self, scores, items, abilities):
        """Return the two sums by respondent, given the items."""
        dtype = abilities.first.dtype
        first, m = items.mean.astype(dtype, order="C"), scores.shape[1]
        moment = np.zeros((m, items.second.shape[1]))
        linear = np.zeros((m, first.shape[1]))
        given = scores, first, items.second, abilities.doubled.T
        out = *self._tiles(scores, dtype), moment, linear, elementwise.workspace(dtype)
        elementwise.plain_ability_sums(*given, *out)
        return moment, linear

    def _tiles(self, scores, dtype):
        """Return space for omega and kappa of some rows, which stays in the caches."""
        n, m = scores.shape
        shape = min(n, max(_TILE_ROWS, _TILE_CELLS // max(m, 1))), m
        return [self.space(name, shape, dtype) for name in ("omega", "kappa")]

    def gather_square(self, items2, abilities2, offsets, respondents):
        """Return E[eta^2] of the cells of a sparse block, shape (n_cells,)."""
        out = np.empty(len(respondents), dtype=abilities2.dtype)
        _gather_dot(items2, abilities2, offsets, respondents, out)
        return out

    def item_of_cells(self, offsets, n_cells):
        """Return the item of each cell of a sparse block."""
        return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))

    def sum_by_item(self, cells, table, offsets, respondents):
        """Return sum over the cells of each item of cell times row of `table`."""
        out = np.empty((len(offsets) - 1, table.shape[1]))
        _sum_by_item(cells, table, offsets, respondents, out)
        return out

    def sum_by_respondent(self, cells, table, offsets, respondents, n_respondents):
        """Return sum over the cells of each respondent of cell times item row."""
        out = np.zeros((n_respondents, table.shape[1]))
        _sum_by_respondent(cells, table, offsets, respondents, out)
        return out


def _long_rows(*tiles):
    """View contiguous tiles as one long row each: short loops cost more. None stays."""
    if all(tile is None or tile.flags.c_contiguous for tile in tiles):
        return [tile if tile is None else tile.reshape(1, -1) for tile in tiles]
    return tiles


@jit
def _gather_dot(items2, abilities2, offsets, respondents, out):
    for j in range(offsets.shape[0] - 1):
        for cell in range(offsets[j], offsets[j + 1]):
            i = respondents[cell]
            value = items2[j, 0] * abilities2[i, 0]
            for q in range(1, items2.shape[1]):
                value += items2[j, q] * abilities2[i, q]
            out[cell] = value


@jit
def _sum_by_item(cells, table, offsets, respondents, out):
    for j in range(offsets.shape[0] - 1):
        out[j] = 0.0
        for cell in range(offsets[j], offsets[j + 1]):
            i = respondents[cell]
            for q in range(table.shape[1]):
                out[j, q] += cells[cell] * table[i, q]


@jit
def _sum_by_respondent(cells, table, offsets, respondents, out):
    for j in range(offsets.shape[0] - 1):
        for cell in range(offsets[j], offsets[j + 1]):
            i = respondents[cell]
            for q in range(table.shape[1]):
                out[i, q] += cells[cell] * table[j, q]
