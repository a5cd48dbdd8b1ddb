"""Elementwise cores of the CPU kernels, and the half passes that call them.

Compiled with numba. Functions that call each other must stand in one file; see
`compiling`.
"""

import math

import numpy as np

from sklearn_mirt.solvers.kernels.compiling import jit, jit_inside

# With c = n ln 2 + r, |r| <= ln 2 / 2, and s = 2^-n:
#     1 - exp(-c) = (1 - s) + s u,   u = 1 - exp(-r) = r (1 - r/2 + r^2/6 - ...)
# which loses no digits near c = 0. Adding the magic number 1.5 * 2^52 (2^23) rounds to
# an integer and leaves it in the low bits, so that 2^-n is one shift of an integer view
# of a scratch row. A call of exp would keep the loops from being vectorised; all
# constants have the type of the cells for the same reason.

CHUNK = 1024  # cells of a row in flight: all scratch rows stay in the first cache
_ODD = 31  # last power of artanh's series; the next is under 1e-17 at 1 / 3
_FLUSH = 1000  # factors (1 + e) <= 2 multiplied before their logarithm is taken


def _make_constants(dtype, integer, mantissa, bias, largest):
    taylor = [(-1.0) ** k / math.factorial(k + 1) for k in range(13)]
    high = float(np.float32(math.log(2)))  # exact products with small integers
    numbers = [1.5 * 2.0**mantissa, bias, 1 / math.log(2), largest]
    numbers += [high, math.log(2) - high, 1e-12, 0.0, 0.5, 1.0, 2.0, mantissa]
    numbers += [math.sqrt(0.5)]
    return np.array(taylor, dtype), np.array(numbers, dtype), integer


CONSTANTS = {
    np.dtype(np.float32): _make_constants(np.float32, np.int32, 23, 127, 87.0),
    np.dtype(np.float64): _make_constants(np.float64, np.int64, 52, 1023, 708.0),
}


def workspace(dtype):
    """Constants and rows that the elementwise core works with; see cell_terms."""
    taylor, numbers, integer = CONSTANTS[dtype]
    scratch = np.empty((3, CHUNK), dtype)
    bits = scratch[2].view(integer)  # same memory as the row of powers of two
    return taylor, numbers, scratch, bits, np.zeros(CHUNK), np.ones(CHUNK)


@jit_inside
def _one_minus_exp(c, out, powers, bits, taylor, numbers):
    """Write 1 - exp(-c) of a row to `out` and exp(-c) to `powers`, viewed by `bits`."""
    magic, bias, inverse, largest = numbers[0], numbers[1], numbers[2], numbers[3]
    high, low, one, shift = numbers[4], numbers[5], numbers[9], int(numbers[11])
    t0, t1, t2, t3, t4 = taylor[0], taylor[1], taylor[2], taylor[3], taylor[4]
    t5, t6, t7, t8 = taylor[5], taylor[6], taylor[7], taylor[8]
    t9, t10, t11, t12 = taylor[9], taylor[10], taylor[11], taylor[12]
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
def cell_terms(
    square, scores, taylor, numbers, scratch, bits, half, product, with_bound
):
    """Turn E[eta^2] of rows into weights omega; see ``CpuKernels.cell_terms``."""
    tiny, zero, one, two = numbers[6], numbers[7], numbers[9], numbers[10]
    bound, pending = 0.0, 0
    for j in range(square.shape[0]):
        for start in range(0, square.shape[1], CHUNK):
            row = square[j, start : start + CHUNK]
            score = scores[j, start : start + CHUNK]
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
def weighted_cell_terms(
    square, scores, weights, taylor, numbers, scratch, bits, total, with_bound
):
    """Do the same where every answer has a weight."""
    tiny, zero, half = numbers[6], numbers[7], numbers[8]
    one, two, three = numbers[9], numbers[10], numbers[9] + numbers[10]
    for j in range(square.shape[0]):
        for start in range(0, square.shape[1], CHUNK):
            row = square[j, start : start + CHUNK]
            score = scores[j, start : start + CHUNK]
            weight = weights[j, start : start + CHUNK]
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
def centre(scores, out):
    """Write y - 1/2, 0 where missing."""
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            y = out.dtype.type(scores[j, i])
            out[j, i] = y - out.dtype.type(0.5) if y >= 0 else out.dtype.type(0)


@jit
def standardise(scores, rate, inverse, out):
    """Write (y - rate) inverse, 0 where missing."""
    for j in range(out.shape[0]):
        r, s = rate[j, 0], inverse[j, 0]
        for i in range(out.shape[1]):
            y = out.dtype.type(scores[j, i])
            if rate.shape[1] > 1:
                r, s = rate[j, i], inverse[j, i]
            out[j, i] = (y - r) * s if y >= 0 else out.dtype.type(0)


@jit
def weighted_centre(scores, weights, out):
    """Write w (y - 1/2), 0 where missing."""
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
def share_answers(
    logit, scores, weights, floor, out, taylor, numbers, scratch, bits, root, with_bound
):
    """Share right answers with guessing; see ``CpuKernels.knowing_scores``."""
    zero, half, one = numbers[7], numbers[8], numbers[9]
    total = np.zeros(CHUNK)
    for j in range(out.shape[0]):
        for start in range(0, out.shape[1], CHUNK):
            eta = logit[j, start : start + CHUNK]
            kappa = out[j, start : start + CHUNK]
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
def plain_item_sums(
    scores, items, owed, first, second, omega, kappa, linear, precision, space
):
    """Sum by item, a tile of rows at a time; return the bound but for kappa . eta."""
    bound, rows = 0.0, omega.shape[0]
    for a in range(0, scores.shape[0], rows):
        b = min(a + rows, scores.shape[0])
        weights, centred = omega[: b - a], kappa[: b - a]
        _multiply(items[a:b], owed, weights)
        row = scores[a:b].reshape(1, weights.size)
        bound += cell_terms(weights.reshape(1, weights.size), row, *space, True)
        centre(row, centred.reshape(1, weights.size))
        _multiply(centred, first, linear[a:b])
        _multiply(weights, second, precision[a:b])
    return bound


@jit
def plain_ability_sums(
    scores, first, items, doubled, omega, kappa, moment, linear, space
):
    """Add up sums by respondent, a tile of rows at a time."""
    rows = omega.shape[0]
    moment_here = np.empty(moment.shape, omega.dtype)
    linear_here = np.empty(linear.shape, omega.dtype)
    for a in range(0, scores.shape[0], rows):
        b = min(a + rows, scores.shape[0])
        weights, centred = omega[: b - a], kappa[: b - a]
        _multiply(items[a:b], doubled, weights)
        row = scores[a:b].reshape(1, weights.size)
        cell_terms(weights.reshape(1, weights.size), row, *space, False)
        centre(row, centred.reshape(1, weights.size))
        _multiply(weights.T, items[a:b], moment_here)
        _multiply(centred.T, first[a:b], linear_here)
        _add(moment_here, moment)
        _add(linear_here, linear)


@jit_inside
def _add(part, total):
    for i in range(part.shape[0]):
        for q in range(part.shape[1]):
            total[i, q] += part[i, q]
