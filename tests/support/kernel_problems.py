"""Blocks of cells with random items and abilities, and what a pass sums up."""

import numpy as np
from numpy.testing import assert_allclose

from sklearn_mirt.data.cells import DenseBlock, SparseBlock
from sklearn_mirt.models import packing
from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.kernels import item_blocks as blocks

CPU = get_kernels("cpu")


def omega(square, scores, weights=1.0):
    """The formula, in double precision."""
    c = np.sqrt(np.asarray(square, dtype=np.float64) + 1e-12)
    return np.where(scores >= 0, weights * np.tanh(c / 2) / (2 * c), 0.0)


def cell_bound(square, scores, weights=1.0):
    c = np.sqrt(np.asarray(square, dtype=np.float64) + 1e-12)
    return np.sum(np.where(scores >= 0, -weights * (c / 2 + np.log1p(np.exp(-c))), 0.0))


def some_gaussians(n, k, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, k, k + 2))
    precision = root @ root.swapaxes(1, 2) + 0.1 * np.eye(k)
    return precision, rng.standard_normal((n, k))


class NumpyKernels:
    """A backend of plain numpy: what the block functions may ask of a kernel."""

    xp = np

    def space(self, name, shape, dtype):
        return np.empty(shape, dtype)

    def asarray(self, array, dtype=None):
        return np.asarray(array, dtype=dtype)

    def to_host(self, array):
        return array

    def cell_terms(self, square, scores, weights, with_bound=True):
        w = 1.0 if weights is None else weights
        bound = cell_bound(square, scores, w)
        square[...] = omega(square, scores, w)
        return bound if with_bound else 0.0

    def centred_scores(self, scores, weights, out):
        w = 1.0 if weights is None else weights
        out[...] = np.where(scores >= 0, w * (scores - 0.5), 0.0)
        return out

    def knowing_scores(self, logit, scores, weights, floor, out, with_bound=True):
        w = np.ones(scores.shape) if weights is None else weights
        s = np.where(floor > 0, 1 / (1 + floor * np.exp(-logit)), 1.0)
        s = np.where(floor > 0, np.clip(s, 1e-12, 1 - 1e-12), s)
        out[...] = np.where(scores >= 0, w * (scores * s - 0.5), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = (1 - s) * np.log(floor) - s * np.log(s) - (1 - s) * np.log1p(-s)
        gain = scores * gain + (1 - scores) * np.log1p(-floor)
        return np.sum(np.where((scores >= 0) & (floor > 0), w * gain, 0.0))

    def fuses(self, cells):
        return False

    def solve_gaussian(self, precision, linear):
        full = packing.unpack(precision)
        inverse = np.linalg.inv(full)
        mean = np.einsum("npq,nq->np", inverse, linear)
        return mean, packing.pack(inverse), -np.linalg.slogdet(full)[1]

    def update_items(self, precision, linear, task, here, items):
        groups, observed = task.groups[here], task.observed[here]
        mean, covariance, logdet = self.solve_gaussian(
            precision + task.prior_precision[groups],
            linear + task.prior_linear[task.linear_rows(here)],
        )
        items.mean[:], items.second[:] = mean, covariance + packing.outer(mean)
        member = (groups == np.arange(len(task.prior_precision))[:, None]) & observed
        return member @ items.mean, member @ items.second, logdet @ observed


def sparse_block(block):
    item, respondent = np.nonzero(block.scores >= 0)
    counts = np.bincount(item, minlength=len(block.scores))
    return SparseBlock(
        block.start,
        block.stop,
        np.concatenate([[0], np.cumsum(counts)]),
        respondent.astype(np.int32),
        block.scores[item, respondent],
        None if block.weights is None else block.weights[item, respondent],
    )


def problem(weighted, floored, n=9, j=14, d=2, seed=0):
    rng = np.random.default_rng(seed)
    k = d + 1
    scores = rng.choice([-1, 0, 0.5, 1], (j, n)).astype(np.float32)
    scores[3] = -1
    weights = (1 + rng.random((j, n))).astype(np.float32) if weighted else None
    block = DenseBlock(2, j, scores[2:], None if weights is None else weights[2:])
    mean = rng.standard_normal((j, k))
    spread = np.linalg.inv(some_gaussians(j, k)[0])
    items = blocks.ItemState(mean, packing.pack(spread) + packing.outer(mean))
    theta = rng.standard_normal((n, d))
    variance = packing.pack(np.linalg.inv(some_gaussians(n, d)[0]))
    carry = np.eye(k) + 0.1 * rng.standard_normal((k, k))
    precision, linear = some_gaussians(2, k, seed=1)
    task = blocks.ItemTask(
        *blocks.AbilityTables.of(theta, variance, carry, CPU, np.float64),
        carry,
        np.linspace(0, 0.4, j) if floored else None,
        packing.pack(precision),
        linear,
        np.arange(j) % 2,
        np.any(scores >= 0, axis=1),
    )
    return block, items, task


def assert_same_sums(one, two):
    for name in ("bound", "moment", "linear", "group_first", "group_second", "logdet"):
        assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-6, atol=1e-9)


def sweep(block, items, task, kernels):
    """The sums of a sweep and the items after it."""
    after = items.empty_like()
    after.mean[:], after.second[:] = np.nan, np.nan
    return blocks.sweep(block, items, after, task, kernels), after
