"""Kernels written in array operations only: for CuPy, and with numpy for its tests."""

import numpy as np

from sklearn_mirt.models import packing
from sklearn_mirt.solvers.kernels.item_blocks import share_knowing

_DESCENT_STEPS = 200


def cuda_kernels():
    """Return the kernels of the current CUDA device.

    Raises
    ------
    RuntimeError
        CuPy is not installed, or no device answers.
    """
    try:
        import cupy
        from cupyx.scipy import sparse
    except ImportError as error:
        raise RuntimeError(
            "device='cuda' needs CuPy, which is not installed; install the extra "
            "'gpu' (sklearn-mirt[gpu]) or use device='cpu'"
        ) from error
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(
            f"device='cuda' found no usable device ({error}); a process forked after "
            "CUDA was started has none: start it by spawn"
        ) from error
    if n_devices == 0:
        raise RuntimeError("device='cuda' found no device; use device='cpu'")
    return ArrayKernels(cupy, sparse.csr_matrix)


class ArrayKernels:
    """The kernels of kernels/cpu.py in operations of an array namespace.

    Parameters
    ----------
    xp : module
        cupy, or numpy in tests.
    csr : type
        Compressed-row matrix of the namespace.
    """

    block_cells, least_blocks = 2**24, 1  # few large launches

    def __init__(self, xp, csr):
        self.xp = xp
        self._csr = csr

    def space(self, name, shape, dtype):
        """Return memory for one block."""
        return self.xp.empty(shape, dtype)

    def asarray(self, array, dtype=None):
        """Return the array on the device."""
        return self.xp.asarray(array, dtype=dtype)

    def to_host(self, array):
        """Return the array, or number, on the host."""
        return array.get() if hasattr(array, "get") else array

    def cell_terms(self, square, scores, weights, with_bound=True):
        """Turn E[eta^2] into Polya-Gamma weights; see ``CpuKernels.cell_terms``."""
        xp = self.xp
        c = xp.sqrt(square + square.dtype.type(1e-12))
        u = -xp.expm1(-c)  # 1 - exp(-c)
        weight = self._weight(scores, weights, square.dtype)
        square[...] = weight * u / ((2 - u) * (2 * c))
        if not with_bound:
            return 0.0
        terms = weight * (c / 2 + xp.log(2 - u))
        return -terms.sum(dtype=np.float64)

    def centred_scores(self, scores, weights, out):
        """Write w (y - 1/2), 0 where missing, to `out` and return it."""
        half = scores.astype(out.dtype) - out.dtype.type(0.5)
        out[...] = self._weight(scores, weights, out.dtype) * half
        return out

    def standardised(self, scores, rate, inverse, out):
        """Write (score - rate) times inverse of each cell, 0 where missing."""
        out[...] = self._weight(scores, None, out.dtype) * (scores - rate) * inverse

    def knowing_scores(self, logit, scores, weights, floor, out, with_bound=True):
        """Share right answers with guessing; see ``CpuKernels.knowing_scores``."""
        xp = self.xp
        known, gain = share_knowing(logit, floor, xp)
        weight = self._weight(scores, weights, np.float64)
        out[...] = weight * (scores * known - 0.5)
        if not with_bound:
            return 0.0
        terms = scores * gain + (1 - scores) * xp.log1p(-floor)
        return (weight * terms).sum(dtype=np.float64)

    def _weight(self, scores, weights, dtype):
        seen = (scores >= 0).astype(dtype)
        return seen if weights is None else seen * weights.astype(dtype, copy=False)

    def fuses(self, cells):
        """Whether there are compiled half passes: none here."""
        return False

    def update_items(self, precision, linear, task, here, items):
        """Update the items of a block; see ``CpuKernels.update_items``."""
        groups, observed = task.groups[here], task.observed[here]
        precision = precision + task.prior_precision[groups]  # float64 from here on
        linear = linear + task.prior_linear[task.linear_rows(here)]
        mean, covariance, logdet = self.solve_gaussian(precision, linear)
        if task.nonnegative:
            mean = self.solve_nonnegative(precision, linear, mean)
        second = covariance + packing.outer(mean, self.xp)
        items.mean[...], items.second[...] = mean, second
        member = self._members(groups, observed, len(task.prior_precision))
        return member @ mean, member @ second, (logdet * observed).sum()

    def _members(self, groups, observed, n_groups):
        """Return the matrix (groups, items) of 1 where an observed item belongs."""
        xp = self.xp
        member = groups == xp.arange(n_groups)[:, None]
        return (member & observed).astype(np.float64)

    def solve_gaussian(self, precision, linear):
        """Mean, packed covariance and log determinant from canonical form."""
        xp = self.xp
        full = packing.unpack(precision, xp)
        covariance = xp.linalg.inv(full)
        lower = xp.linalg.cholesky(full)
        logdet = -2 * xp.log(xp.diagonal(lower, axis1=1, axis2=2)).sum(1)
        mean = (covariance @ linear[:, :, None])[:, :, 0]
        return mean, packing.pack(covariance, xp), logdet

    def solve_nonnegative(self, precision, linear, start):
        """Return argmin of x' P x / 2 - l' x with all but the last coordinate >= 0."""
        xp = self.xp
        full = packing.unpack(precision, xp)
        x = start.copy()
        k = x.shape[1]
        x[:, : k - 1] = xp.maximum(x[:, : k - 1], 0)
        for _ in range(_DESCENT_STEPS):
            for p in range(k):
                gradient = (full[:, p] * x).sum(1) - linear[:, p]
                x[:, p] -= gradient / full[:, p, p]
                if p < k - 1:
                    x[:, p] = xp.maximum(x[:, p], 0)
        return x

    def gather_square(self, items2, abilities2, offsets, respondents):
        """Return items . respondents of the cells of a sparse block."""
        item = self.item_of_cells(offsets, len(respondents))
        out = items2[item, 0] * abilities2[respondents, 0]
        for q in range(1, items2.shape[1]):  # without a table of cells x entries
            out += items2[item, q] * abilities2[respondents, q]
        return out

    def item_of_cells(self, offsets, n_cells):
        """Return the item of each cell of a sparse block."""
        cells = self.xp.arange(n_cells)
        return self.xp.searchsorted(offsets, cells, side="right") - 1

    def sum_by_item(self, cells, table, offsets, respondents):
        """Return sum over the cells of each item of cell times row of `table`."""
        return self._matrix(cells, offsets, respondents, len(table)) @ table

    def sum_by_respondent(self, cells, table, offsets, respondents, n_respondents):
        """Return sum over the cells of each respondent of cell times item row."""
        matrix = self._matrix(cells, offsets, respondents, n_respondents)
        return (matrix.T @ table).astype(np.float64)

    def _matrix(self, cells, offsets, respondents, n_respondents):
        shape = (len(offsets) - 1, n_respondents)
        # cuSPARSE wants 32-bit places, which a block of cells never exceeds
        return self._csr((cells, respondents, offsets.astype(np.int32)), shape=shape)
