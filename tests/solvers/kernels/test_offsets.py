"""Known offsets of the logit, cell by cell, and prior means item by item."""

from dataclasses import replace

import numpy as np
import pytest
from kernel_problems import (
    NumpyKernels,
    assert_same_sums,
    problem,
    some_gaussians,
    sparse_block,
    sweep,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from sklearn_mirt.data.responses import ResponseData
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models import packing
from sklearn_mirt.models.item_design import make_design
from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.kernels import item_blocks as blocks
from sklearn_mirt.solvers.kernels import respondent_blocks as by_respondents
from sklearn_mirt.solvers.kernels.arrays import ArrayKernels
from sklearn_mirt.solvers.variational.solver import VariationalSolver

CPU = get_kernels("cpu")
BACKENDS = pytest.mark.parametrize("kernels", [CPU, ArrayKernels(np, csr_matrix)])
CASES = pytest.mark.parametrize("weighted", [False, True])
FLOORS = pytest.mark.parametrize("floored", [False, True])
STORED = pytest.mark.parametrize("stored", [lambda block: block, sparse_block])


def offset_problem(weighted=False, floored=False):
    """A problem without a change of coordinates, with an offset of each cell."""
    block, items, task = problem(weighted, floored)
    task = replace(task, owed=task.abilities, carry=np.eye(3))
    rng = np.random.default_rng(5)
    offset = 2 * rng.standard_normal(block.scores.shape)
    return replace(block, logit_offset=offset), items, task


def stored_with_offset(stored, block):
    """The block as it is stored, with its offset."""
    out = stored(block)
    if out is block:
        return block
    item, respondent = np.nonzero(block.scores >= 0)
    return replace(out, logit_offset=block.logit_offset[item, respondent])


def shifted(items, shift):
    """The items with intercepts moved by `shift`."""
    covariance = items.second - packing.outer(items.mean)
    mean = items.mean.copy()
    mean[:, -1] += shift
    return blocks.ItemState(mean, covariance + packing.outer(mean))


def canonical(sums, d=2):
    """Precision and linear term of the abilities."""
    n_packed = d * (d + 1) // 2
    linear = sums.linear[:, :d] - sums.moment[:, n_packed:-1]
    return sums.moment[:, :n_packed], linear


def item_shifts(block, items):
    shift = np.linspace(-2, 2, len(items.mean))
    offset = np.broadcast_to(shift[block.start :, None], block.scores.shape)
    return shift, replace(block, logit_offset=np.ascontiguousarray(offset))


@CASES
@FLOORS
@BACKENDS
@STORED
def test_an_offset_of_an_item_is_a_shift_of_its_intercept(
    kernels, weighted, floored, stored
):
    block, items, task = offset_problem(weighted, floored)
    shift, block = item_shifts(block, items)
    one = blocks.sum_for_abilities(
        stored_with_offset(stored, block), items, task, kernels
    )
    plain = replace(block, logit_offset=None)
    two = blocks.sum_for_abilities(plain, shifted(items, shift), task, kernels)
    assert_allclose(one.bound, two.bound, rtol=1e-10)
    for ours, theirs in zip(canonical(one), canonical(two), strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@FLOORS
@BACKENDS
@STORED
def test_items_with_an_offset_are_updated_as_shifted_ones(kernels, floored, stored):
    block, items, task = offset_problem(floored=floored)
    shift, block = item_shifts(block, items)
    one, after = sweep(stored_with_offset(stored, block), items, task, kernels)
    # the same prior of the shifted intercepts: a mean for each item
    precision = packing.unpack(task.prior_precision)[task.groups]
    linear = task.prior_linear[task.groups] + precision[:, :, -1] * shift[:, None]
    moved = replace(task, prior_linear=linear, prior_rows=np.arange(len(shift)))
    plain = replace(block, logit_offset=None)
    two, expected = sweep(plain, shifted(items, shift), moved, kernels)
    here = slice(block.start, block.stop)
    back = shifted(blocks.ItemState(expected.mean, expected.second), -shift)
    assert_allclose(one.bound, two.bound, rtol=1e-10)
    assert_allclose(after.mean[here], back.mean[here], rtol=1e-8, atol=1e-10)
    assert_allclose(after.second[here], back.second[here], rtol=1e-8, atol=1e-10)
    for ours, theirs in zip(canonical(one), canonical(two), strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


def formula(block, items, abilities):
    """Bound and sums by respondent, cell by cell."""
    bound, moment, linear = 0.0, 0.0 * abilities.second, 0.0 * abilities.first
    for (j, i), y in np.ndenumerate(block.scores):
        if y < 0:
            continue
        beta, second = items.mean[block.start + j], items.second[block.start + j]
        o, eta = block.logit_offset[j, i], beta @ abilities.first[i]
        square = second @ abilities.doubled[i] + 2 * o * eta + o**2
        w = 1.0 if block.weights is None else block.weights[j, i]
        c = np.sqrt(square)
        weight, kappa = w * np.tanh(c / 2) / (2 * c), w * (y - 0.5)
        bound += kappa * (eta + o) - w * (c / 2 + np.log1p(np.exp(-c)))
        moment[i] += weight * second
        linear[i] += (kappa - weight * o) * beta
    return bound, moment, linear


@CASES
@STORED
@pytest.mark.parametrize("kernels", [CPU, ArrayKernels(np, csr_matrix)])
def test_offsets_are_the_formula(kernels, weighted, stored):
    block, items, task = offset_problem(weighted)
    found = blocks.sum_for_abilities(
        stored_with_offset(stored, block), items, task, kernels
    )
    bound, moment, linear = formula(block, items, task.abilities)
    assert_allclose(found.bound, bound, rtol=1e-10)
    assert_allclose(found.moment, moment, rtol=1e-8)
    assert_allclose(found.linear, linear, rtol=1e-8, atol=1e-10)


@CASES
@FLOORS
@STORED
@pytest.mark.parametrize("kernels", [NumpyKernels(), ArrayKernels(np, csr_matrix)])
def test_kernels_agree_on_offsets(kernels, weighted, floored, stored):
    block, items, task = offset_problem(weighted, floored)
    if isinstance(kernels, NumpyKernels):
        stored = offset_problem  # dense only
        other = block
    else:
        other = stored_with_offset(stored, block)
    one, after = sweep(block, items, task, CPU)
    two, twin = sweep(other, items, task, kernels)
    assert_same_sums(one, two)
    assert_allclose(after.mean, twin.mean, rtol=1e-8)


@CASES
@FLOORS
def test_bounds_by_respondent_with_offsets_add_up(weighted, floored):
    block, items, task = offset_problem(weighted, floored)
    rows = blocks.bound_by_respondent(block, items, task, CPU)
    total = blocks.sum_for_abilities(block, items, task, CPU).bound
    assert_allclose(rows.sum(), total, rtol=1e-6)


def test_an_offset_of_zero_changes_nothing():
    block, items, task = offset_problem()
    plain = sweep(replace(block, logit_offset=None), items, task, CPU)[0]
    zero = sweep(
        replace(block, logit_offset=0.0 * block.logit_offset), items, task, CPU
    )
    assert_same_sums(plain, zero[0])


def test_an_offset_that_cancels_the_logit_is_no_square_root_of_a_negative():
    n, d = 4, 1
    theta = np.full((n, d), 3.0)
    tables = blocks.AbilityTables.of(
        theta, np.zeros((n, 1)), np.eye(2), CPU, np.float32
    )
    mean = np.array([[1.7, 0.3]])
    items = blocks.ItemState(mean, packing.outer(mean).astype(np.float32))
    offset = np.full((1, n), -(1.7 * 3.0 + 0.3), dtype=np.float32)
    block = blocks.DenseBlock(0, 1, np.ones((1, n), np.int8), None, offset)
    task = blocks.ItemTask(tables[0], tables[0])
    found = blocks.sum_for_abilities(block, items, task, CPU)
    assert_allclose(found.bound, -n * np.log(2), rtol=1e-4)


class Rows:
    """One block of respondents by items, with an offset of each cell."""

    def __init__(self, block):
        self.block = block

    def blocks(self, n_cells):
        return [self.block]


@pytest.mark.parametrize("step", ["sweep_respondents", "sum_for_items"])
def test_respondents_in_rows_take_offsets_too(step):
    rng = np.random.default_rng(0)
    n, j, d = 6, 8, 2
    scores = rng.choice([-1, 0, 1], (n, j)).astype(np.int8)
    shift = rng.standard_normal(j)
    state = by_respondents.AbilityState(
        rng.standard_normal((n, d)), packing.pack(np.tile(0.1 * np.eye(d), (n, 1, 1)))
    )
    mean = rng.standard_normal((j, d + 1))
    covariance = packing.pack(np.tile(0.05 * np.eye(d + 1), (j, 1, 1)))
    rest = np.eye(d), np.zeros(d), None, np.dtype(float)

    def run(mean, offset):
        block = blocks.DenseBlock(0, n, scores, None, offset)
        task = by_respondents.ShardTask(mean, covariance, *rest)
        return getattr(by_respondents, step)(Rows(block), state, task, CPU)

    offset = np.tile(shift, (n, 1))
    one, ours = run(mean, offset)
    two, theirs = run(mean + shift[:, None] * np.eye(d + 1)[-1], None)
    assert_allclose(one.mean, two.mean, rtol=1e-8, atol=1e-10)
    assert_allclose(one.covariance, two.covariance, rtol=1e-8)
    assert_allclose(ours.bound, theirs.bound, rtol=1e-10)
    assert_allclose(ours.moment, theirs.moment, rtol=1e-8)
    # the items' linear terms: kappa - omega o against kappa
    pulled = theirs.linear - shift[:, None] * theirs.moment[:, [3, 4, 5]]
    assert_allclose(ours.linear, pulled, rtol=1e-8, atol=1e-10)


class OffsetData(ResponseData):
    """Answers whose blocks have the same offset in every cell."""

    def blocks(self, *args):
        return [
            replace(block, logit_offset=np.full(block.scores.shape, 0.7))
            for block in super().blocks(*args)
        ]


def test_a_fit_takes_the_offsets_of_its_blocks():
    X = make_responses(150, 20, 1, random_state=0).responses
    solver = VariationalSolver(max_iter=500, tol=1e-9)
    fits = []
    for kind in (ResponseData, OffsetData):
        data = kind.from_wide(X)
        design = make_design(data.items, None, None, False)
        fits.append(solver.solve(data, 1, design))
    plain, offset = fits
    assert_allclose(offset.trace[-1], plain.trace[-1], rtol=1e-6)
    assert_allclose(offset.items.slopes, plain.items.slopes, atol=2e-3)
    assert_allclose(offset.items.intercepts + 0.7, plain.items.intercepts, atol=2e-3)


# ---------------------------------------------------------------------- prior by item


@BACKENDS
@pytest.mark.parametrize("nonnegative", [False, True])
def test_prior_rows_that_are_the_groups_change_no_bit(kernels, nonnegative):
    block, items, task = problem(False, False)
    task = replace(task, nonnegative=nonnegative)
    by_item = replace(
        task,
        prior_linear=task.prior_linear[task.groups],
        prior_rows=np.arange(len(task.groups)),
    )
    one, after = sweep(block, items, task, kernels)
    two, twin = sweep(block, items, by_item, kernels)
    for name, value in vars(one).items():
        assert_array_equal(value, getattr(two, name))
    assert_array_equal(after.mean, twin.mean)
    assert_array_equal(after.second, twin.second)


@BACKENDS
def test_prior_means_by_item_give_the_posterior(kernels):
    n, k = 37, 3
    precision, linear = some_gaussians(n, k, seed=0)
    prior, _ = some_gaussians(2, k, seed=1)
    means = np.random.default_rng(2).standard_normal((n, k))
    groups = np.arange(n) % 2
    task = blocks.ItemTask(
        prior_precision=packing.pack(prior),
        prior_linear=np.einsum("npq,nq->np", prior[groups], means),
        groups=groups,
        observed=np.ones(n, dtype=bool),
        prior_rows=np.arange(n),
    )
    after = blocks.ItemState(np.empty((n, k)), np.empty((n, k * (k + 1) // 2)))
    first, second, _ = kernels.update_items(
        packing.pack(precision), linear, task, slice(0, n), after
    )
    total = precision + prior[groups]
    right = linear + np.einsum("npq,nq->np", prior[groups], means)
    expected = np.linalg.solve(total, right[:, :, None])[:, :, 0]
    assert_allclose(after.mean, expected, rtol=1e-8, atol=1e-10)
    covariance = packing.unpack(after.second - packing.outer(after.mean))
    assert_allclose(covariance, np.linalg.inv(total), rtol=1e-6, atol=1e-10)
    assert first.shape == (2, k) and second.shape == (2, k * (k + 1) // 2)
    assert_allclose(first[1], expected[groups == 1].sum(0), rtol=1e-8)
