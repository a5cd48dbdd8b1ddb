"""CPU kernels: elementwise cores and products, compiled with numba.

All are serial, release the GIL and write only to their own output, so a thread pool may
run them on different blocks at once.
"""

import math
import threading

import numpy as np

from sklearn_mirt.solvers.kernels.compiling import jit, jit_inside
from sklearn_mirt.solvers.kernels.gaussian_solves import (
    second_moments,
    solve_batch,
    solve_nonnegative_batch,
)


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
        space = _workspace(square.dtype)
        square, scores, weights = _long_rows(square, scores, weights)
        if weights is None:
            return _terms(square, scores, *space, with_bound)
        return _weighted_terms(square, scores, weights, *space[:5], with_bound)

    def centred_scores(self, scores, weights, out):
        """Write kappa = w (y - 1/2), 0 where missing, to `out` and return it."""
        flat, scores, weights = _long_rows(out, scores, weights)
        if weights is None:
            _centre(scores, flat)
        else:
            _weighted_centre(scores, weights, flat)
        return out

    def standardised(self, scores, rate, inverse, out):
        """Write (score - rate) times inverse of each cell, 0 where missing, to `out`.

        Values that are the same along a row may be broadcast.
        """
        if rate.strides[1] == 0:
            rate, inverse = rate[:, :1], inverse[:, :1]
        _standardise(scores, rate, inverse, out)

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
        if floor.strides[1] == 0 and out.shape[1] >= _CHUNK:
            floor = floor[:, :1]
        else:
            floor = np.ascontiguousarray(floor, dtype=out.dtype)
            tiles = logit, scores, weights, floor, out
            logit, scores, weights, floor, out = _long_rows(*tiles)
        if weights is None:
            weights = np.ones((len(scores), 1), np.float32)
        taylor, numbers, integer = _CONSTANTS[out.dtype]
        scratch = np.empty((9, _CHUNK), out.dtype)
        bits, root = scratch[2].view(integer), numbers[12:].view(integer)
        given = logit, scores, weights, floor, out
        return _knowing(*given, taylor, numbers, scratch, bits, root, with_bound)

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
        prior = task.prior_precision, task.prior_linear
        covariance, logdet = np.empty(precision.shape), np.empty(len(precision))
        out = items.mean, covariance, logdet
        solve_batch(precision, linear, *prior, groups, *out)
        if task.nonnegative:
            precision, linear = precision + prior[0][groups], linear + prior[1][groups]
            solve_nonnegative_batch(precision, linear, items.mean)
        first, second = (np.zeros(part.shape) for part in prior[::-1])
        total = second_moments(*out, groups, observed, items.second, first, second)
        return first, second, total

    def fuses(self, cells):
        """Whether the next two methods do for these cells: dense, every weight 1.

        They are a half pass each in one compiled call: threads that meet at Python's
        lock for every product would spend a third of their time waiting. Few cells are
        not worth the seconds that they take to compile.
        """
        plain = cells.dense and cells.weights is None
        large = cells.scores.size >= self.fuse_from
        return plain and large and cells.scores.flags.c_contiguous

    def plain_item_sums(self, scores, second, owed, abilities):
        """Return the two sums by item, and the bound but for kappa . eta."""
        dtype, n = abilities.first.dtype, len(scores)
        linear = np.empty((n, abilities.first.shape[1]), dtype)
        precision = np.empty((n, abilities.second.shape[1]), dtype)
        tables = owed.doubled.T, abilities.first, abilities.second
        out = *self._tiles(scores, dtype), linear, precision, _workspace(dtype)
        bound = _plain_item_sums(scores, second, *tables, *out)
        return linear, precision, bound

    def plain_ability_sums(self, scores, items, abilities):
        """Return the two sums by respondent, given the items."""
        dtype = abilities.first.dtype
        first, m = items.mean.astype(dtype, order="C"), scores.shape[1]
        moment, linear = (
            np.zeros((m, items.second.shape[1])),
            np.zeros((m, first.shape[1])),
        )
        given = scores, first, items.second, abilities.doubled.T
        out = *self._tiles(scores, dtype), moment, linear, _workspace(dtype)
        _plain_ability_sums(*given, *out)
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


# ----------------------------------------------------------------- elementwise core
#
# With c = n ln 2 + r, |r| <= ln 2 / 2, and s = 2^-n:
#     1 - exp(-c) = (1 - s) + s u,   u = 1 - exp(-r) = r (1 - r/2 + r^2/6 - ...)
# which loses no digits near c = 0. Adding the magic number 1.5 * 2^52 (2^23) rounds to
# an integer and leaves it in the low bits, so that 2^-n is one shift of an integer view
# of a scratch row. A call of exp would keep the loops from being vectorised; all
# constants have the type of the cells for the same reason.

_TILE_CELLS = 2**18  # of omega and kappa at a time
_TILE_ROWS = 32  # at least: else their sums by column would cost as much as the cells
_CHUNK = 1024  # cells of a row in flight: all scratch rows stay in the first cache
_ODD = 31  # last power of artanh's series; the next is under 1e-17 at 1 / 3
_FLUSH = 1000  # factors (1 + e) <= 2 multiplied before their logarithm is taken


def _make_constants(dtype, integer, mantissa, bias, largest):
    taylor = [(-1.0) ** k / math.factorial(k + 1) for k in range(13)]
    high = float(np.float32(math.log(2)))  # exact products with small integers
    numbers = [1.5 * 2.0**mantissa, bias, 1 / math.log(2), largest]
    numbers += [high, math.log(2) - high, 1e-12, 0.0, 0.5, 1.0, 2.0, mantissa]
    numbers += [math.sqrt(0.5)]
    return np.array(taylor, dtype), np.array(numbers, dtype), integer


_CONSTANTS = {
    np.dtype(np.float32): _make_constants(np.float32, np.int32, 23, 127, 87.0),
    np.dtype(np.float64): _make_constants(np.float64, np.int64, 52, 1023, 708.0),
}


def _workspace(dtype):
    """Constants and rows that the elementwise core works with; see _terms."""
    taylor, numbers, integer = _CONSTANTS[dtype]
    scratch = np.empty((3, _CHUNK), dtype)
    bits = scratch[2].view(integer)  # same memory as the row of powers of two
    return taylor, numbers, scratch, bits, np.zeros(_CHUNK), np.ones(_CHUNK)


def _long_rows(*tiles):
    """View contiguous tiles as one long row each: short loops cost more. None stays."""
    if all(tile is None or tile.flags.c_contiguous for tile in tiles):
        return [tile if tile is None else tile.reshape(1, -1) for tile in tiles]
    return tiles


@jit_inside
def _one_minus_exp(c, out, powers, bits, taylor, numbers):
    """Write 1 - exp(-c) of a row to `out` and exp(-c) to `powers`, viewed by `bits`."""
    magic, bias, inverse, largest = numbers[0], numbers[1], numbers[2], numbers[3]
    high, low, one, shift = numbers[4], numbers[5], numbers[9], int(numbers[11])
    t0, t1, t2, t3, t4, t5 = (
        taylor[0],
        taylor[1],
        taylor[2],
        taylor[3],
        taylor[4],
        taylor[5],
    )
    t6, t7, t8, t9, t10 = taylor[6], taylor[7], taylor[8], taylor[9], taylor[10]
    t11, t12 = taylor[11], taylor[12]
    n = c.shape[0]
    for i in range(n):
        x = min(c[i], largest)
        rounded = magic - x * inverse
        k = rounded - magic
        powers[i] = rounded + bias
        out[i] = (x + k * high) + k * low
    for i in range(n):
        bits[i] = bits[i] << shift
    for i in range(n):
        r = out[i]
        p = t12 * r + t11
        p = p * r + t10
        p = p * r + t9
        p = p * r + t8
        p = p * r + t7
        p = p * r + t6
        p = p * r + t5
        p = p * r + t4
        p = p * r + t3
        p = p * r + t2
        p = p * r + t1
        p = p * r + t0
        s, u = powers[i], r * p
        out[i] = (one - s) + s * u
        powers[i] = s - s * u


@jit_inside
def _flush(half, product):
    """Return -sum(half + log(product)) and start both rows anew."""
    total = 0.0
    for i in range(half.shape[0]):
        total -= half[i] + math.log(product[i])
        half[i] = 0.0
        product[i] = 1.0
    return total


@jit
def _terms(square, scores, taylor, numbers, scratch, bits, half, product, with_bound):
    tiny, zero, one, two = numbers[6], numbers[7], numbers[9], numbers[10]
    bound, pending = 0.0, 0
    for j in range(square.shape[0]):
        for start in range(0, square.shape[1], _CHUNK):
            row = square[j, start : start + _CHUNK]
            score = scores[j, start : start + _CHUNK]
            n = row.shape[0]
            c, u = scratch[0, :n], scratch[1, :n]
            for i in range(n):
                c[i] = np.sqrt(row[i] + tiny)
            _one_minus_exp(c, u, scratch[2, :n], bits[:n], taylor, numbers)
            for i in range(n):
                observed = one if score[i] >= 0 else zero
                row[i] = observed * u[i] / ((two - u[i]) * (two * c[i]))
            if with_bound:
                for i in range(n):
                    observed = one if score[i] >= 0 else zero
                    half[i] += 0.5 * (observed * c[i])
                    product[i] *= one + observed * (one - u[i])
                pending += 1
                if pending == _FLUSH:
                    bound += _flush(half, product)
                    pending = 0
    return bound + _flush(half, product)


@jit
def _weighted_terms(
    square, scores, weights, taylor, numbers, scratch, bits, total, with_bound
):
    tiny, zero, half = numbers[6], numbers[7], numbers[8]
    one, two, three = numbers[9], numbers[10], numbers[9] + numbers[10]
    for j in range(square.shape[0]):
        for start in range(0, square.shape[1], _CHUNK):
            row = square[j, start : start + _CHUNK]
            score = scores[j, start : start + _CHUNK]
            weight = weights[j, start : start + _CHUNK]
            n = row.shape[0]
            c, u, s = scratch[0, :n], scratch[1, :n], scratch[2, :n]
            for i in range(n):
                c[i] = np.sqrt(row[i] + tiny)
            _one_minus_exp(c, u, s, bits[:n], taylor, numbers)
            for i in range(n):
                w = weight[i] if score[i] >= 0 else zero
                row[i] = w * u[i] / ((two - u[i]) * (two * c[i]))
            if with_bound:
                for i in range(n):
                    w = weight[i] if score[i] >= 0 else zero
                    total[i] -= w * (half * c[i])
                    u[i] = (one - u[i]) / (three - u[i])
                _artanh(u, s, c)
                for i in range(n):  # log(1 + e) = 2 artanh(e / (2 + e)), e = 1 - u
                    w = weight[i] if score[i] >= 0 else zero
                    total[i] -= w * (two * c[i])
    return total.sum()


@jit_inside
def _artanh(t, square, out):
    """Write t + t^3 / 3 + ... of a row to `out`; t is at most 1 / 3."""
    one = t.dtype.type(1)
    for i in range(t.shape[0]):
        square[i] = t[i] * t[i]
        out[i] = one / t.dtype.type(_ODD)
    for k in range(_ODD - 2, 0, -2):
        factor = one / t.dtype.type(k)
        for i in range(t.shape[0]):
            out[i] = out[i] * square[i] + factor
    for i in range(t.shape[0]):
        out[i] *= t[i]


@jit
def _centre(scores, out):
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            y = out.dtype.type(scores[j, i])
            out[j, i] = y - out.dtype.type(0.5) if y >= 0 else out.dtype.type(0)


@jit
def _standardise(scores, rate, inverse, out):
    for j in range(out.shape[0]):
        r, s = rate[j, 0], inverse[j, 0]
        for i in range(out.shape[1]):
            y = out.dtype.type(scores[j, i])
            if rate.shape[1] > 1:
                r, s = rate[j, i], inverse[j, i]
            out[j, i] = (y - r) * s if y >= 0 else out.dtype.type(0)


@jit
def _weighted_centre(scores, weights, out):
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            if scores[j, i] >= 0:
                out[j, i] = weights[j, i] * (scores[j, i] - 0.5)
            else:
                out[j, i] = 0


@jit_inside
def _log(x, bits, exponent, square, numbers, root, out):
    """Write log(x) of a row to `out`; x, whose bits `bits` views, is overwritten.

    x = 2^k m with m from sqrt(1/2) to sqrt(2), and log m = 2 artanh((m - 1) / (m + 1)).
    """
    high, low, one, two = numbers[4], numbers[5], numbers[9], numbers[10]
    shift = int(numbers[11])
    for i in range(x.shape[0]):
        k = (bits[i] - root[0]) >> shift
        bits[i] -= k << shift
        exponent[i] = k
    for i in range(x.shape[0]):
        x[i] = (x[i] - one) / (x[i] + one)
    _artanh(x, square, out)
    for i in range(x.shape[0]):
        out[i] = exponent[i] * high + (two * out[i] + exponent[i] * low)


@jit
def _knowing(
    logit, scores, weights, floor, out, taylor, numbers, scratch, bits, root, with_bound
):
    zero, half, one = numbers[7], numbers[8], numbers[9]
    total = np.zeros(_CHUNK)
    for j in range(out.shape[0]):
        for start in range(0, out.shape[1], _CHUNK):
            eta = logit[j, start : start + _CHUNK]
            kappa = out[j, start : start + _CHUNK]
            n = kappa.shape[0]
            c, a, e = scratch[0, :n], scratch[1, :n], scratch[2, :n]
            g, y, w = scratch[3, :n], scratch[4, :n], scratch[5, :n]
            cost, u, v = scratch[6, :n], scratch[7, :n], scratch[8, :n]
            for i in range(n):  # rows of one type and stride: what follows is packed
                g[i] = floor[j, 0] if floor.shape[1] == 1 else floor[j, start + i]
                y[i] = scores[j, start + i]
                w[i] = weights[j, 0] if weights.shape[1] == 1 else weights[j, start + i]
                w[i] = w[i] if y[i] >= zero else zero
                c[i] = abs(eta[i])
            _one_minus_exp(c, a, e, bits[:n], taylor, numbers)
            for i in range(n):  # share = top / (top + g bottom): nothing overflows
                top = one if eta[i] >= zero else e[i]
                bottom = e[i] if eta[i] >= zero else one
                a[i] = top + g[i] * bottom
                known = top / a[i]
                cost[i] = c[i] * (one - known if eta[i] >= zero else known)
                kappa[i] = w[i] * (y[i] * known - half)
            if with_bound:
                for i in range(n):
                    e[i] = a[i]
                _log(e, bits[:n], u, v, numbers, root, a)
                for i in range(n):
                    gain = a[i] + cost[i] if g[i] > zero else zero
                    total[i] += w[i] * (y[i] * gain)
                    e[i] = one - g[i]
                _log(e, bits[:n], u, v, numbers, root, a)
                for i in range(n):
                    total[i] += w[i] * ((one - y[i]) * a[i])
    return total.sum()


@jit_inside
def _multiply(a, b, out):
    np.dot(a, b, out)  # BLAS; by itself, to be compiled once for each layout


@jit
def _plain_item_sums(
    scores, items, owed, first, second, omega, kappa, linear, precision, space
):
    bound, rows = 0.0, omega.shape[0]
    for a in range(0, scores.shape[0], rows):
        b = min(a + rows, scores.shape[0])
        weights, centred = omega[: b - a], kappa[: b - a]
        _multiply(items[a:b], owed, weights)
        row = scores[a:b].reshape(1, weights.size)
        bound += _terms(weights.reshape(1, weights.size), row, *space, True)
        _centre(row, centred.reshape(1, weights.size))
        _multiply(centred, first, linear[a:b])
        _multiply(weights, second, precision[a:b])
    return bound


@jit
def _plain_ability_sums(
    scores, first, items, doubled, omega, kappa, moment, linear, space
):
    rows = omega.shape[0]
    moment_here = np.empty(moment.shape, omega.dtype)
    linear_here = np.empty(linear.shape, omega.dtype)
    for a in range(0, scores.shape[0], rows):
        b = min(a + rows, scores.shape[0])
        weights, centred = omega[: b - a], kappa[: b - a]
        _multiply(items[a:b], doubled, weights)
        row = scores[a:b].reshape(1, weights.size)
        _terms(weights.reshape(1, weights.size), row, *space, False)
        _centre(row, centred.reshape(1, weights.size))
        _multiply(weights.T, items[a:b], moment_here)
        _multiply(centred.T, first[a:b], linear_here)
        _add(moment_here, moment)
        _add(linear_here, linear)


@jit_inside
def _add(part, total):
    for i in range(part.shape[0]):
        for q in range(part.shape[1]):
            total[i, q] += part[i, q]


# ------------------------------------------------------------------------- sparse cells


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
