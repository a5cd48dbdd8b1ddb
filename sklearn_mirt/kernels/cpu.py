"""CPU kernels: elementwise cores and small batched solves, compiled with numba.

All are serial, release the GIL and write only to their own output, so a thread pool may
run them on different blocks at once.
"""

import math

import numba
import numpy as np

# "contract" lets a product and a sum become one instruction; nothing is reordered
_OPTIONS = dict(nogil=True, error_model="numpy", fastmath={"contract"})


def jit(function):
    """Compile with numba, cached on disk where a cache can be written."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no place for the cache: compile in every process
        return numba.njit(**_OPTIONS)(function)


class CpuKernels:
    """The numpy namespace and the compiled cores that the block functions call."""

    xp = np
    block_cells = 2**18  # omega stays in the caches, and Python is called seldom

    def asarray(self, array, dtype=None):
        """Return the array on the device, as it is or cast."""
        return np.asarray(array, dtype=dtype)

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

    def knowing_scores(self, logit, scores, weights, floor, out):
        """Write kappa with each right answer shared between knowing and guessing.

        Parameters
        ----------
        logit : ndarray of shape (n, m)
            E[eta].
        scores, weights : as in :meth:`cell_terms`
        floor : ndarray of shape (n, m)
            Guessing floor of the item of each cell.
        out : ndarray of shape (n, m)
            Overwritten with w (y s - 1/2), s = e^eta / (e^eta + g) the probability that
            a right answer was known.

        Returns
        -------
        bound : float
            Sum of w [y (log-prior and entropy of the share) + (1 - y) log(1 - g)].
        """
        if weights is None:
            weights = np.broadcast_to(np.float32(1), scores.shape)
        return _knowing(logit, scores, weights, floor, out)

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
        _solve_gaussian(precision, linear, *prior, groups, *out)
        if task.nonnegative:
            precision, linear = precision + prior[0][groups], linear + prior[1][groups]
            _solve_nonnegative(precision, linear, items.mean)
        first, second = (np.zeros(part.shape) for part in prior[::-1])
        total = _second_moments(*out, groups, observed, items.second, first, second)
        return first, second, total

    def fuses(self, cells):
        """Whether the next two methods do for these cells: dense, every weight 1.

        They are a half pass each in one compiled call: threads that meet at Python's
        lock for every product would spend a third of their time waiting.
        """
        plain = cells.dense and cells.weights is None
        return plain and cells.scores.flags.c_contiguous

    def plain_item_sums(self, scores, second, owed, abilities):
        """Return kappa, the two sums by item, and the bound but for kappa . eta."""
        dtype, n = abilities.first.dtype, len(scores)
        omega, kappa = np.empty((2, *scores.shape), dtype)
        linear = np.empty((n, abilities.first.shape[1]), dtype)
        precision = np.empty((n, abilities.second.shape[1]), dtype)
        out = omega, kappa, linear, precision
        tables = owed.doubled.T, abilities.first, abilities.second
        bound = _plain_item_sums(scores, second, *tables, *out, *_workspace(dtype))
        return kappa, linear, precision, bound

    def plain_ability_sums(self, scores, kappa, items, abilities):
        """Return the two sums by respondent, given the items."""
        first, m = items.mean.astype(kappa.dtype), scores.shape[1]
        moment = np.empty((m, items.second.shape[1]), kappa.dtype)
        linear = np.empty((m, first.shape[1]), kappa.dtype)
        out = np.empty_like(kappa), moment, linear
        given = scores, kappa, first, items.second, abilities.doubled.T
        _plain_ability_sums(*given, *out, *_workspace(kappa.dtype))
        return moment.astype(np.float64), linear.astype(np.float64)

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


def solve_gaussian(precision, linear):
    """Mean, packed covariance and log determinant of Gaussians in canonical form.

    Parameters
    ----------
    precision : ndarray of shape (n, k (k + 1) / 2)
        Packed positive definite precisions.
    linear : ndarray of shape (n, k)
        Precision times mean.

    Returns
    -------
    mean : (n, k), covariance : (n, k (k + 1) / 2), logdet_covariance : (n,)
    """
    n, k = linear.shape
    nothing = np.zeros((1, precision.shape[1])), np.zeros((1, k)), np.zeros(n, np.intp)
    out = np.empty((n, k)), np.empty(precision.shape), np.empty(n)
    _solve_gaussian(precision, linear, *nothing, *out)
    return out


def solve_nonnegative(precision, linear, start):
    """Return argmin of x' P x / 2 - l' x with all but the last coordinate >= 0."""
    mean = start.copy()
    _solve_nonnegative(precision, linear, mean)
    return mean


# ----------------------------------------------------------------- elementwise core
#
# With c = n ln 2 + r, |r| <= ln 2 / 2, and s = 2^-n:
#     1 - exp(-c) = (1 - s) + s u,   u = 1 - exp(-r) = r (1 - r/2 + r^2/6 - ...)
# which loses no digits near c = 0. Adding the magic number 1.5 * 2^52 (2^23) rounds to
# an integer and leaves it in the low bits, so that 2^-n is one shift of an integer view
# of a scratch row. A call of exp would keep the loops from being vectorised; all
# constants have the type of the cells for the same reason.

_CHUNK = 1024  # cells of a row in flight: all scratch rows stay in the first cache
_ODD = 31  # last power of artanh's series; the next is under 1e-17 at 1 / 3
_FLUSH = 1000  # factors (1 + e) <= 2 multiplied before their logarithm is taken


def _make_constants(dtype, integer, mantissa, bias, largest):
    taylor = [(-1.0) ** k / math.factorial(k + 1) for k in range(13)]
    high = float(np.float32(math.log(2)))  # exact products with small integers
    numbers = [1.5 * 2.0**mantissa, bias, 1 / math.log(2), largest]
    numbers += [high, math.log(2) - high, 1e-12, 0.0, 0.5, 1.0, 2.0, mantissa]
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


def _long_rows(cells, scores, weights):
    """View contiguous tiles as one long row, which costs fewer short loops."""
    tiles = [cells, scores] if weights is None else [cells, scores, weights]
    if all(t.flags.c_contiguous for t in tiles):
        tiles = [t.reshape(1, -1) for t in tiles]
    return (*tiles, None) if weights is None else tiles


@jit
def _one_minus_exp(c, out, powers, bits, taylor, numbers):
    """Write 1 - exp(-c) of a row to `out`; `bits` is an integer view of `powers`."""
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
        s = powers[i]
        out[i] = (one - s) + s * (r * p)


@jit
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


@jit
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


@jit
def _knowing(logit, scores, weights, floor, out):
    bound = 0.0
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            y, w, g = scores[j, i], weights[j, i], floor[j, i]
            if y < 0:
                out[j, i] = 0
                continue
            share = 1.0
            if g > 0:
                share = 1 / (1 + g * math.exp(-logit[j, i]))
                share = min(max(share, 1e-12), 1 - 1e-12)
                lucky = (1 - share) * math.log(g)
                entropy = -share * math.log(share) - (1 - share) * math.log1p(-share)
                bound += w * (y * (lucky + entropy) + (1 - y) * math.log1p(-g))
            out[j, i] = w * (y * share - 0.5)
    return bound


@jit
def _multiply(a, b, out):
    np.dot(a, b, out)  # BLAS; by itself, to be compiled once for each layout


@jit
def _plain_item_sums(
    scores,
    items_second,
    owed_doubled,
    first,
    second,
    omega,
    kappa,
    linear,
    precision,
    taylor,
    numbers,
    scratch,
    bits,
    half,
    product,
):
    _multiply(items_second, owed_doubled, omega)
    cells, row = omega.reshape(1, omega.size), scores.reshape(1, scores.size)
    space = taylor, numbers, scratch, bits, half, product
    bound = _terms(cells, row, *space, True)
    _centre(row, kappa.reshape(1, kappa.size))
    _multiply(kappa, first, linear)
    _multiply(omega, second, precision)
    return bound


@jit
def _plain_ability_sums(
    scores,
    kappa,
    items_first,
    items_second,
    doubled,
    omega,
    moment,
    linear,
    taylor,
    numbers,
    scratch,
    bits,
    half,
    product,
):
    _multiply(items_second, doubled, omega)
    cells, row = omega.reshape(1, omega.size), scores.reshape(1, scores.size)
    _terms(cells, row, taylor, numbers, scratch, bits, half, product, False)
    _multiply(omega.T, items_second, moment)
    _multiply(kappa.T, items_first, linear)


# --------------------------------------------------------------------- batched solves


# One matrix is too small for vector instructions, so _LANES of them are solved side by
# side: every scalar of the textbook algorithm is a row of _LANES numbers. The length of
# the rows is read from the arrays: loops of a constant length would be unrolled before
# they can be vectorised.

_LANES = 32


@jit
def _add_product(out, o, a, p, b, q, sign):
    """Add sign a[p] b[q] to the row out[o]."""
    for lane in range(out.shape[1]):  # rows as views would take seconds to compile
        out[o, lane] += sign * a[p, lane] * b[q, lane]


@jit
def _load(rows, more, groups, start, stop, lanes):
    """Write rows[j] + more[groups[j]] to the lanes."""
    for j in range(start, stop):
        for e in range(rows.shape[1]):
            lanes[e, j - start] = rows[j, e] + more[groups[j], e]
    for e in range(rows.shape[1]):  # idle lanes hold a copy, not garbage
        for lane in range(stop - start, lanes.shape[1]):
            lanes[e, lane] = lanes[e, 0]


@jit
def _store(lanes, start, stop, rows):
    for j in range(start, stop):
        for e in range(rows.shape[1]):
            rows[j, e] = lanes[e, j - start]


@jit
def _factor(low, inverse_diagonal, product):
    """Cholesky factors of packed matrices in place; 1 / diagonal and its product."""
    n_lanes = low.shape[1]
    for lane in range(n_lanes):
        product[lane] = 1.0
    for p in range(inverse_diagonal.shape[0]):
        row = p * (p + 1) // 2
        for q in range(p + 1):
            other = q * (q + 1) // 2
            for r in range(q):
                _add_product(low, row + q, low, row + r, low, other + r, -1.0)
            if q < p:
                for lane in range(n_lanes):
                    low[row + q, lane] *= inverse_diagonal[q, lane]
        for lane in range(n_lanes):
            diagonal = np.sqrt(low[row + p, lane])
            low[row + p, lane] = diagonal
            inverse_diagonal[p, lane] = 1.0 / diagonal
            product[lane] *= diagonal


@jit
def _invert_factor(low, inverse_diagonal, inverse):
    """Inverse of packed lower triangular matrices."""
    n_lanes = low.shape[1]
    for p in range(inverse_diagonal.shape[0]):
        row = p * (p + 1) // 2
        for lane in range(n_lanes):
            inverse[row + p, lane] = inverse_diagonal[p, lane]
        for q in range(p):
            for lane in range(n_lanes):
                inverse[row + q, lane] = 0.0
            for r in range(q, p):
                other = r * (r + 1) // 2 + q
                _add_product(inverse, row + q, low, row + r, inverse, other, -1.0)
            for lane in range(n_lanes):
                inverse[row + q, lane] *= inverse_diagonal[p, lane]


@jit
def _square_inverse(inverse, k, out):
    """Write inverse' inverse, packed."""
    for p in range(k):
        for q in range(p + 1):
            entry = p * (p + 1) // 2 + q
            for lane in range(out.shape[1]):
                out[entry, lane] = 0.0
            for r in range(p, k):
                row = r * (r + 1) // 2
                _add_product(out, entry, inverse, row + p, inverse, row + q, 1.0)


@jit
def _times(matrix, vector, out):
    """Write packed symmetric matrix times vector."""
    for p in range(vector.shape[0]):
        for lane in range(out.shape[1]):
            out[p, lane] = 0.0
        for q in range(vector.shape[0]):
            high, low = max(p, q), min(p, q)
            entry = high * (high + 1) // 2 + low
            _add_product(out, p, matrix, entry, vector, q, 1.0)


@jit
def _solve_gaussian(
    precision, linear, prior_precision, prior_linear, groups, mean, covariance, logdet
):
    """Solve precision[j] + prior_precision[groups[j]] and so on, each j by itself."""
    (n, k), n_packed = linear.shape, precision.shape[1]
    low, inverse = np.empty((n_packed, _LANES)), np.empty((n_packed, _LANES))
    square, inverse_diagonal = np.empty((n_packed, _LANES)), np.empty((k, _LANES))
    right, solution = np.empty((k, _LANES)), np.empty((k, _LANES))
    product = np.empty(_LANES)
    for start in range(0, n, _LANES):
        stop = min(start + _LANES, n)
        _load(precision, prior_precision, groups, start, stop, low)
        _load(linear, prior_linear, groups, start, stop, right)
        _factor(low, inverse_diagonal, product)
        _invert_factor(low, inverse_diagonal, inverse)
        _square_inverse(inverse, k, square)
        _times(square, right, solution)
        _store(square, start, stop, covariance)
        _store(solution, start, stop, mean)
        for j in range(start, stop):
            logdet[j] = -2.0 * math.log(product[j - start])


@jit
def _second_moments(
    mean, covariance, logdet, groups, observed, second, sum_first, sum_second
):
    """Write E[beta beta']; add up over observed items; return the sum of `logdet`."""
    total = 0.0
    for j in range(mean.shape[0]):
        entry, g = 0, groups[j]
        for p in range(mean.shape[1]):
            for q in range(p + 1):
                covariance[j, entry] += mean[j, p] * mean[j, q]
                entry += 1
        for e in range(covariance.shape[1]):
            second[j, e] = covariance[j, e]
        if observed[j]:
            for p in range(mean.shape[1]):
                sum_first[g, p] += mean[j, p]
            for e in range(covariance.shape[1]):
                sum_second[g, e] += covariance[j, e]
            total += logdet[j]
    return total


@jit
def _solve_nonnegative(precision, linear, mean):
    """Coordinate descent; the last coordinate (the intercept) is free."""
    n, k = linear.shape
    for j in range(n):
        for p in range(k - 1):
            mean[j, p] = max(mean[j, p], 0.0)
        for _ in range(1000):
            largest = 0.0
            for p in range(k):
                gradient = -linear[j, p]
                for q in range(k):
                    high, low = max(p, q), min(p, q)
                    gradient += precision[j, high * (high + 1) // 2 + low] * mean[j, q]
                old = mean[j, p]
                new = old - gradient / precision[j, p * (p + 1) // 2 + p]
                if p < k - 1:
                    new = max(new, 0.0)
                mean[j, p] = new
                largest = max(largest, abs(new - old))
            if largest < 1e-10:
                break


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


# ----------------------------------------------------------------------- additive model


def logistic_sums(cells, effects, intercept, side):
    """Sum gradient and curvature of a logistic model with two additive effects.

    Parameters
    ----------
    cells : tuple of ndarrays
        Respondent index, item index, score and weight of each answer.
    effects : pair of ndarrays
        Effects of respondents and of items, in logits.
    intercept : float
    side : {0, 1}
        Whether sums are over the answers of each respondent or to each item.

    Returns
    -------
    gradient, curvature : ndarrays
        Sums of w (y - p) and of w p (1 - p).
    """
    gradient, curvature = np.zeros((2, len(effects[side])))
    _logistic_sums(*cells, *effects, intercept, side == 0, gradient, curvature)
    return gradient, curvature


@jit
def _logistic_sums(
    respondent, item, score, weight, r, d, intercept, by_respondent, gradient, curvature
):
    for cell in range(score.shape[0]):
        i, j = respondent[cell], item[cell]
        p = 1.0 / (1.0 + math.exp(-(intercept + r[i] + d[j])))
        k = i if by_respondent else j
        gradient[k] += weight[cell] * (score[cell] - p)
        curvature[k] += weight[cell] * p * (1.0 - p)
