"""Batched solves of small Gaussian systems, compiled with numba."""

import math

import numpy as np

from sklearn_mirt.solvers.kernels.compiling import jit, jit_inside


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
    nothing, rows = np.zeros((1, precision.shape[1])), np.zeros(n, np.intp)
    out = np.empty((n, k)), np.empty(precision.shape), np.empty(n)
    solve_batch(precision, linear, nothing, np.zeros((1, k)), rows, rows, *out)
    return out


def solve_nonnegative(precision, linear, start):
    """Return argmin of x' P x / 2 - l' x with all but the last coordinate >= 0."""
    mean = start.copy()
    solve_nonnegative_batch(precision, linear, mean)
    return mean


# One matrix is too small for vector instructions, so _LANES of them are solved side by
# side: every scalar of the textbook algorithm is a row of _LANES numbers. The length of
# the rows is read from the arrays: loops of a constant length would be unrolled before
# they can be vectorised.

_LANES = 32


@jit_inside
def _add_product(out, o, a, p, b, q, sign):
    """Add sign a[p] b[q] to the row out[o]."""
    for lane in range(out.shape[1]):  # rows as views would take seconds to compile
        out[o, lane] += sign * a[p, lane] * b[q, lane]


@jit_inside
def _load(rows, more, places, start, stop, lanes):
    """Write rows[j] + more[places[j]] to the lanes."""
    for j in range(start, stop):
        for e in range(rows.shape[1]):
            lanes[e, j - start] = rows[j, e] + more[places[j], e]
    for e in range(rows.shape[1]):  # idle lanes hold a copy, not garbage
        for lane in range(stop - start, lanes.shape[1]):
            lanes[e, lane] = lanes[e, 0]


@jit_inside
def _store(lanes, start, stop, rows):
    for j in range(start, stop):
        for e in range(rows.shape[1]):
            rows[j, e] = lanes[e, j - start]


@jit_inside
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


@jit_inside
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


@jit_inside
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


@jit_inside
def _times(matrix, vector, out):
    """Write packed symmetric matrix times vector."""
    for p in range(vector.shape[0]):
        for lane in range(out.shape[1]):
            out[p, lane] = 0.0
        for q in range(vector.shape[0]):
            entry = p * (p + 1) // 2 + q if q <= p else q * (q + 1) // 2 + p
            _add_product(out, p, matrix, entry, vector, q, 1.0)


@jit
def solve_batch(
    precision,
    linear,
    prior_precision,
    prior_linear,
    groups,
    linear_rows,
    mean,
    covariance,
    logdet,
):
    """Solve one Gaussian for each j, with its prior added.

    Precision: precision[j] + prior_precision[groups[j]]; linear term:
    linear[j] + prior_linear[linear_rows[j]].
    """
    (n, k), n_packed = linear.shape, precision.shape[1]
    low, inverse = np.empty((n_packed, _LANES)), np.empty((n_packed, _LANES))
    square, inverse_diagonal = np.empty((n_packed, _LANES)), np.empty((k, _LANES))
    right, solution = np.empty((k, _LANES)), np.empty((k, _LANES))
    product = np.empty(_LANES)
    for start in range(0, n, _LANES):
        stop = min(start + _LANES, n)
        _load(precision, prior_precision, groups, start, stop, low)
        _load(linear, prior_linear, linear_rows, start, stop, right)
        _factor(low, inverse_diagonal, product)
        _invert_factor(low, inverse_diagonal, inverse)
        _square_inverse(inverse, k, square)
        _times(square, right, solution)
        _store(square, start, stop, covariance)
        _store(solution, start, stop, mean)
        for j in range(start, stop):
            logdet[j] = -2.0 * math.log(product[j - start])


@jit
def second_moments(
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
def solve_nonnegative_batch(precision, linear, mean):
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
