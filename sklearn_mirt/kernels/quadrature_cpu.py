"""Compiled cores of the exact fit: exponentials of long rows, adaptive nodes.

numpy's double precision exp is scalar on many machines; here the range is reduced and a
polynomial evaluated in loops that compilers turn into vector instructions.
"""

import math

import numpy as np

from sklearn_mirt.kernels.cpu import jit

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
            work[i, j] = 1.0 + r * p
        # the whole number sits in the low bits: move it into the exponent
        for j in range(m):
            bits[i, j] += scratch_bits[j] << 52
