"""Compiled cores of the exact fit: exponentials of long rows, adaptive nodes.

numpy's double precision exp is scalar on many machines; here the range is reduced and a
polynomial evaluated in loops that compilers turn into vector instructions.
"""

import math

import numpy as np

from sklearn_mirt.solvers.kernels.compiling import jit, jit_inside

# exp(r) on |r| <= ln 2 / 2 by its Taylor polynomial: the remainder r^12 / 12! is below
# 7e-15, and the rounding of Horner's scheme adds about as much
_C = [1.0 / math.factorial(k) for k in range(12)]
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11 = _C[2:]
_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
_MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number
_LOWEST = -700.0


def exp_rows(work: np.ndarray):
    """Replace rows by exp(row - max); return the row maxima and the sums.

    Parameters
    ----------
    work : ndarray of shape (n, m), C-contiguous float64
        Overwritten; differences below -700 count as -700.

    Returns
    -------
    peak, total : ndarray of shape (n,)
    """
    peak = work.max(1)
    scratch = np.empty(work.shape[1])
    _exp_rows(work, work.view(np.int64), peak, scratch, scratch.view(np.int64))
    return peak, work.sum(1)


@jit_inside
def _exp_near_zero(r):
    p = _C10 + r * _C11
    p = _C9 + r * p
    p = _C8 + r * p
    p = _C7 + r * p
    p = _C6 + r * p
    p = _C5 + r * p
    p = _C4 + r * p
    p = _C3 + r * p
    p = _C2 + r * p
    p = 1.0 + r * p
    return 1.0 + r * p


@jit
def _exp_rows(work, bits, peak, scratch, scratch_bits):
    n, m = work.shape
    for i in range(n):
        top = peak[i]
        for j in range(m):
            x = work[i, j] - top
            x = max(x, _LOWEST)
            shifted = x * _LOG2E + _MAGIC
            scratch[j] = shifted
            k = shifted - _MAGIC
            r = (x - k * _LN2_HIGH) - k * _LN2_LOW
            work[i, j] = _exp_near_zero(r)
        # the whole number sits in the low bits: move it into the exponent
        for j in range(m):
            bits[i, j] += scratch_bits[j] << 52


# sums may be reordered here, so that they become vector instructions; the exponential
# above may not, since its rounding to whole numbers is a matter of order
def _fast_sums(function):
    options = dict(
        nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"}
    )
    return jit(function, options)


_RESCALE_EVERY = 500  # factors of at most 2 whose product stays far below overflow


def two_pl_adaptive(scores, observed, beta, rule, prior, weights, want_information):
    """Integrate the two-parameter model over each respondent's own nodes.

    Parameters
    ----------
    scores : ndarray of shape (n, J)
        Scores in [0, 1].
    observed : ndarray of shape (n, J), bool
    beta : ndarray of shape (J, D + 1)
        Slopes, then the intercept.
    rule : tuple
        Centres (n, D), Cholesky factors (n, D, D), points (R, D), log base (R,).
    prior : tuple
        Precision (D, D) of ability and the log of its density at zero.
    weights : ndarray of shape (n,)
    want_information : bool
        Whether the complete-data information is wanted.

    Returns
    -------
    log_marginal (n,), mean (n, D), covariance (n, D, D), gradient (J, D + 1),
    information (J, D + 1, D + 1)
    """
    n, n_items = scores.shape
    n_params = beta.shape[1]
    log_marginal, mean = np.empty(n), np.empty((n, n_params - 1))
    covariance = np.empty((n, n_params - 1, n_params - 1))
    gradient = np.zeros((n_items, n_params))
    information = np.zeros((n_items, n_params, n_params))
    scratch = np.empty((3, len(rule[3])))
    _two_pl_adaptive(
        scores, observed, beta, *rule, *prior, weights, want_information,
        scratch, scratch[1:].view(np.int64),
        log_marginal, mean, covariance, gradient, information,
    )  # fmt: skip
    return log_marginal, mean, covariance, gradient, information


@jit
def _exp_of_minus_abs(eta, out, out_bits, scratch, scratch_bits):
    """Write exp(-|eta|) to `out`, by the same reduction as `_exp_rows`."""
    for r in range(len(eta)):
        x = max(-abs(eta[r]), _LOWEST)
        shifted = x * _LOG2E + _MAGIC
        scratch[r] = shifted
        k = shifted - _MAGIC
        s = (x - k * _LN2_HIGH) - k * _LN2_LOW
        out[r] = _exp_near_zero(s)
    for r in range(len(eta)):
        out_bits[r] += scratch_bits[r] << 52


@_fast_sums
def _place_nodes(centre, factor, points, log_base, precision, log_zero, theta, log_w):
    """Write the nodes (D + 1, R), last row 1, and their log prior weights."""
    n_dims = len(centre)
    log_det = 0.0
    for d in range(n_dims):
        log_det += math.log(factor[d, d])
    for r in range(len(log_base)):
        for d in range(n_dims):
            t = centre[d]
            for e in range(d + 1):
                t += factor[d, e] * points[r, e]
            theta[d, r] = t
        theta[n_dims, r] = 1.0
        square = 0.0
        for d in range(n_dims):
            for e in range(n_dims):
                square += theta[d, r] * precision[d, e] * theta[e, r]
        log_w[r] = log_base[r] + log_det + log_zero - 0.5 * square


@_fast_sums
def _add_item(eta, small, y, p, product, log_w):
    """Add an answer's log-probability to `log_w`, the log(1 + e) part as a product."""
    for r in range(len(eta)):
        one = 1.0 + small[r]
        product[r] *= one
        ratio = 1.0 / one
        p[r] = ratio if eta[r] > 0 else small[r] * ratio
        log_w[r] += y * eta[r] - max(eta[r], 0.0)


@_fast_sums
def _softmax(log_w):
    """Turn log weights into weights in place; return the log of their sum."""
    top = log_w.max()
    total = 0.0
    for r in range(len(log_w)):
        log_w[r] = math.exp(log_w[r] - top)
        total += log_w[r]
    for r in range(len(log_w)):
        log_w[r] /= total
    return top + math.log(total)


@_fast_sums
def _moments(weighted, theta, mean, covariance):
    """Write posterior mean and covariance from nodes and weighted nodes."""
    n_dims = len(mean)
    for d in range(n_dims):
        s = 0.0
        for r in range(weighted.shape[1]):
            s += weighted[d, r]
        mean[d] = s
    for d in range(n_dims):
        for e in range(d + 1):
            s = 0.0
            for r in range(weighted.shape[1]):
                s += weighted[d, r] * (theta[e, r] - mean[e])
            covariance[d, e] = s
            covariance[e, d] = s


@_fast_sums
def _add_gradient(y, weight, p, weighted, mean, gradient):
    n_params = len(gradient)
    for k in range(n_params):
        s = 0.0
        for r in range(len(p)):
            s += p[r] * weighted[k, r]
        first = mean[k] if k < n_params - 1 else 1.0
        gradient[k] += weight * (y * first - s)


@_fast_sums
def _add_information(weight, p, weighted, theta, information):
    n_params = len(information)
    for k in range(n_params):
        for m in range(k + 1):
            s = 0.0
            for r in range(len(p)):
                s += p[r] * (1.0 - p[r]) * weighted[k, r] * theta[m, r]
            information[k, m] += weight * s
            if m < k:
                information[m, k] += weight * s


@_fast_sums
def _two_pl_adaptive(
    scores, observed, beta, centre, factor, points, log_base, precision, log_zero,
    weights, want_information, scratch, bits,
    log_marginal, mean, covariance, gradient, information,
):  # fmt: skip
    n, n_items = scores.shape
    n_params, n_nodes = beta.shape[1], len(log_base)
    theta = np.empty((n_params, n_nodes))
    weighted = np.empty((n_params, n_nodes))
    p = np.empty((n_items, n_nodes))
    log_w, product = np.empty(n_nodes), np.empty(n_nodes)
    eta = scratch[0]
    for i in range(n):
        _place_nodes(
            centre[i], factor[i], points, log_base, precision, log_zero, theta, log_w
        )
        product[:] = 1.0
        pending = 0
        for j in range(n_items):
            if not observed[i, j]:
                continue
            for r in range(n_nodes):
                t = 0.0
                for k in range(n_params):
                    t += beta[j, k] * theta[k, r]
                eta[r] = t
            _exp_of_minus_abs(eta, scratch[1], bits[0], scratch[2], bits[1])
            _add_item(eta, scratch[1], scores[i, j], p[j], product, log_w)
            pending += 1
            if pending == _RESCALE_EVERY:
                log_w -= np.log(product)
                product[:] = 1.0
                pending = 0
        log_w -= np.log(product)
        log_marginal[i] = _softmax(log_w)
        for k in range(n_params):
            for r in range(n_nodes):
                weighted[k, r] = log_w[r] * theta[k, r]
        _moments(weighted, theta, mean[i], covariance[i])
        for j in range(n_items):
            if not observed[i, j]:
                continue
            _add_gradient(
                scores[i, j], weights[i], p[j], weighted, mean[i], gradient[j]
            )
            if want_information:
                _add_information(weights[i], p[j], weighted, theta, information[j])
