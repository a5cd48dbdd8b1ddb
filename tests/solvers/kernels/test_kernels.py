"""Kernels: against plain numpy, against other solvers, dense against sparse."""

import errno
import pickle
from dataclasses import replace

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_problems import (
    CPU,
    NumpyKernels,
    assert_same_sums,
    cell_bound,
    omega,
    problem,
    some_gaussians,
    sparse_block,
    sweep,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, nnls
from scipy.sparse import csr_matrix

from sklearn_mirt.data.cells import DenseBlock
from sklearn_mirt.models import packing
from sklearn_mirt.solvers.kernels import compiling, cpu, get_kernels
from sklearn_mirt.solvers.kernels import item_blocks as blocks
from sklearn_mirt.solvers.kernels.arrays import ArrayKernels
from sklearn_mirt.solvers.kernels.gaussian_solves import (
    solve_gaussian,
    solve_nonnegative,
)

TOLERANCE = {np.float32: 2e-6, np.float64: 1e-13}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


# ----------------------------------------------------------------- elementwise core


def some_cells(dtype, shape=(7, 1500), seed=0, scale=3.0):
    """E[eta^2] over many orders of magnitude, scores with gaps, weights."""
    rng = np.random.default_rng(seed)
    square = np.exp(scale * rng.standard_normal(shape)).astype(dtype)
    scores = rng.choice([-1, 0, 1], shape).astype(np.int8)
    weights = rng.choice([0.0, 0.5, 1.0, 7.0], shape).astype(np.float32)
    return square, scores, weights


@DTYPES
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 1500), (2000, 3)])
def test_cell_terms_are_the_formula(dtype, shape):
    square, scores, _ = some_cells(dtype, shape)
    out = square.copy()
    bound = CPU.cell_terms(out, scores, None)
    assert_allclose(out, omega(square, scores), rtol=TOLERANCE[dtype])
    assert_allclose(bound, cell_bound(square, scores), rtol=TOLERANCE[dtype])
    assert out.dtype == dtype


@DTYPES
def test_cell_terms_with_weights_are_the_formula(dtype):
    square, scores, weights = some_cells(dtype)
    out = square.copy()
    bound = CPU.cell_terms(out, scores, weights)
    assert_allclose(out, omega(square, scores, weights), rtol=TOLERANCE[dtype])
    assert_allclose(bound, cell_bound(square, scores, weights), rtol=TOLERANCE[dtype])


@DTYPES
def test_cell_terms_hold_at_the_ends_of_the_scale(dtype):
    c = [0, 1e-30, 1e-12, 1e-8, 1e-4, 0.01, 0.3465, 0.3466, 0.69314, 0.69315, 1, 50]
    c += [86.9, 87.1, 500, 707, 709, 1e4, 1e15]
    square = (np.array([c]) ** 2).astype(dtype)
    scores = np.ones(square.shape, dtype=np.int8)
    out = square.copy()
    bound = CPU.cell_terms(out, scores, None)
    # in float32 the square root of a tiny square carries its rounding
    assert_allclose(out, omega(square, scores), rtol=10 * TOLERANCE[dtype])
    assert_allclose(bound, cell_bound(square, scores), rtol=TOLERANCE[dtype])
    assert_allclose(out[0, 0], 0.25, rtol=1e-6)
    assert np.all(np.diff(out[0]) <= 1e-7)


@DTYPES
def test_cell_terms_do_not_depend_on_the_layout(dtype):
    square, scores, weights = some_cells(dtype, (6, 2100))
    for w in (None, weights):
        one = square.copy()
        bound = CPU.cell_terms(one, scores, w)
        wide = np.zeros((6, 4200), dtype=dtype)
        wide[:, ::2] = square
        view = wide[:, ::2]
        assert_allclose(CPU.cell_terms(view, scores, w), bound, rtol=1e-12)
        assert_array_equal(view, one)


def test_cell_terms_without_bound_give_the_same_omega():
    square, scores, weights = some_cells(np.float64)
    for w in (None, weights):
        one, two = square.copy(), square.copy()
        CPU.cell_terms(one, scores, w)
        CPU.cell_terms(two, scores, w, with_bound=False)
        assert_array_equal(one, two)


def test_the_bound_of_many_cells_neither_overflows_nor_underflows():
    square = np.zeros((1, 3_000_000))
    scores = np.ones(square.shape, dtype=np.int8)
    bound = CPU.cell_terms(square, scores, None)
    assert_allclose(bound, -square.size * (np.log(2) + 5e-7), rtol=1e-6)


@DTYPES
@pytest.mark.parametrize("scores_type", [np.int8, np.float32])
def test_centred_scores_are_the_formula(dtype, scores_type):
    rng = np.random.default_rng(0)
    scores = rng.choice([-1, 0, 1], (5, 70)).astype(scores_type)
    if scores_type == np.float32:
        scores[scores == 1] = rng.random((scores == 1).sum())
    weights = rng.random((5, 70)).astype(np.float32)
    for w in (None, weights):
        expected = np.where(scores >= 0, scores - 0.5, 0.0)
        expected = expected if w is None else expected * w
        out = np.empty((5, 70), dtype=dtype)
        assert CPU.centred_scores(scores, w, out) is out
        assert_allclose(out, expected, rtol=1e-6)


def test_kernels_read_read_only_memory():
    square, scores, weights = some_cells(np.float64, (3, 40))
    expected = omega(square, scores, weights)
    for array in (scores, weights):
        array.setflags(write=False)
    CPU.cell_terms(square, scores, weights)
    assert_allclose(square, expected)
    out = np.empty((3, 40))
    CPU.centred_scores(scores, weights, out)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", ["rows", "columns", "strided"])
@pytest.mark.parametrize("n", [30, 1500])
def test_knowing_scores_share_right_answers_with_luck(weighted, layout, n):
    rng = np.random.default_rng(0)
    logit = 3 * rng.standard_normal((4, n))
    logit[:, :4] = [-800, 800, -40, 40]  # out of the range of exp, and of 1 + exp
    scores = rng.choice([-1, 0, 0.5, 1], (4, n)).astype(np.float32)
    floors = np.array([[0.0], [0.1], [0.25], [0.5]])
    if layout == "columns":
        floors = np.resize(floors, (1, n))
    floor = np.broadcast_to(floors, (4, n))
    weights = rng.random((4, n)).astype(np.float32) if weighted else None
    out = np.empty((4, n))
    if layout == "strided":
        out = np.empty((4, 2 * n))[:, :n]
    bound = CPU.knowing_scores(logit, scores, weights, floor, out)
    kappa = out.copy()
    assert CPU.knowing_scores(logit, scores, weights, floor, out, False) == 0
    assert_array_equal(out, kappa)
    logit = np.clip(logit, -27, 27)  # beyond, the formulas below overflow
    w = 1.0 if weights is None else weights
    # the posterior that a right answer was known: s p / (s p + (1 - s) ... ) by Bayes
    p = 1 / (1 + np.exp(-logit))
    share = p / (floor + (1 - floor) * p)
    assert_allclose(
        out, np.where(scores >= 0, w * (scores * share - 0.5), 0), atol=1e-7
    )
    # at its optimum the entropy bound is log(share of knowing at odds e^eta : g)
    s = np.clip(np.exp(logit) / (np.exp(logit) + floor), 1e-12, 1 - 1e-12)
    gain = (1 - s) * np.log(np.maximum(floor, 1e-300)) - s * np.log(s)
    gain = scores * (gain - (1 - s) * np.log1p(-s)) + (1 - scores) * np.log1p(-floor)
    assert_allclose(bound, np.sum(np.where((scores >= 0) & (floor > 0), w * gain, 0)))


# ------------------------------------------------------------------ batched solves


@pytest.mark.parametrize("k", [1, 2, 3, 5, 9])
def test_solve_gaussian_agrees_with_numpy(k):
    precision, linear = some_gaussians(20, k)
    mean, covariance, logdet = solve_gaussian(packing.pack(precision), linear)
    inverse = np.linalg.inv(precision)
    assert_allclose(packing.unpack(covariance), inverse, rtol=1e-9, atol=1e-12)
    assert_allclose(mean, np.einsum("npq,nq->np", inverse, linear), atol=1e-10)
    assert_allclose(logdet, -np.linalg.slogdet(precision)[1], rtol=1e-10, atol=1e-10)


def test_solve_gaussian_holds_for_badly_scaled_precisions():
    precision = np.array([[[1e12, 1e3], [1e3, 1e-3]], [[1e-6, 0], [0, 1e8]]])
    linear = np.ones((2, 2))
    mean, covariance, _ = solve_gaussian(packing.pack(precision), linear)
    inverse = np.linalg.inv(precision)
    assert_allclose(packing.unpack(covariance), inverse, rtol=1e-8)
    assert_allclose(mean, np.einsum("npq,nq->np", inverse, linear), rtol=1e-8)


def test_solve_gaussian_of_nothing_is_nothing():
    mean, covariance, logdet = solve_gaussian(np.empty((0, 3)), np.empty((0, 2)))
    assert (mean.shape, covariance.shape, logdet.shape) == ((0, 2), (0, 3), (0,))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_solve_nonnegative_agrees_with_scipy(k):
    precision, linear = some_gaussians(30, k, seed=k)
    start = np.linalg.solve(precision, linear[..., None])[..., 0]
    before = start.copy()
    found = solve_nonnegative(packing.pack(precision), linear, start)
    assert_array_equal(start, before)
    active = 0
    for p, b, x in zip(precision, linear, found, strict=True):
        root = np.linalg.cholesky(p)  # x' P x / 2 - b' x = |R' x - R^-1 b|^2 / 2 + ...
        target = np.linalg.solve(root, b)
        low = np.r_[np.zeros(k - 1), -np.inf]
        expected = lsq_linear(root.T, target, (low, np.inf), tol=1e-14).x
        assert_allclose(x, expected, atol=1e-6)
        active += np.count_nonzero(x[:-1] == 0)
    assert np.all(found[:, :-1] >= 0)
    assert active > 0


def test_solve_nonnegative_agrees_with_nnls_where_the_intercept_is_not_needed():
    precision, linear = some_gaussians(20, 3)
    precision[:, 2, :2] = precision[:, :2, 2] = 0.0
    found = solve_nonnegative(packing.pack(precision), linear, np.zeros((20, 3)))
    for p, b, x in zip(precision, linear, found, strict=True):
        root = np.linalg.cholesky(p[:2, :2])
        assert_allclose(x[:2], nnls(root.T, np.linalg.solve(root, b[:2]))[0], atol=1e-8)
        assert_allclose(x[2], b[2] / p[2, 2])


def test_a_solve_too_slow_to_settle_ends_near_the_minimum():
    r = 1 - 1e-7  # slopes creep along a valley, by under 1e-6 a sweep
    full = np.array([[1.0, r, 0.0], [r, 1.0, 0.0], [0.0, 0.0, 2.0]])
    best, start = np.array([2.0, 1.0, 0.5]), np.array([3.0, 0.5, 0.0])
    linear = full @ best
    found = solve_nonnegative(packing.pack(full[None]), linear[None], start[None])[0]

    def value(x):
        return 0.5 * x @ full @ x - linear @ x

    assert np.abs(found - best).max() > 0.1  # it has not settled
    assert value(start) - value(best) > 0.1
    assert 0 <= value(found) - value(best) < 1e-6
    assert_allclose(found[2], 0.5)


# -------------------------------------------------------------------------- packing

SIZES = st.integers(1, 6)


def symmetric(n, k, seed):
    half = np.random.default_rng(seed).standard_normal((n, k, k))
    return half + half.swapaxes(1, 2)


@given(st.integers(0, 4), SIZES, st.integers(0, 1000))
def test_packing_is_undone_by_unpacking(n, k, seed):
    full = symmetric(n, k, seed)
    assert packing.pack(full).shape == (n, k * (k + 1) // 2)
    assert_array_equal(packing.unpack(packing.pack(full)), full)
    assert packing.size(k * (k + 1) // 2) == k


@given(SIZES, st.integers(0, 1000))
def test_packed_products_are_those_of_matrices(k, seed):
    a, b = symmetric(2, k, seed)
    dot = (packing.pack(a) * packing.multiplicity(k)) @ packing.pack(b)
    assert_allclose(dot, np.trace(a @ b), atol=1e-10)
    v = a[:, :1].T
    assert_allclose(packing.unpack(packing.outer(v))[0], v.T @ v)


@given(SIZES, st.integers(0, 1000))
def test_congruence_is_a_matrix_product_on_both_sides(k, seed):
    rng = np.random.default_rng(seed)
    m, s = rng.standard_normal((k, k)), symmetric(3, k, seed)
    moved = packing.pack(s) @ packing.congruence(m).T
    assert_allclose(packing.unpack(moved), m @ s @ m.T, atol=1e-10)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_leading_block_comes_first_and_the_last_row_last(k):
    full = symmetric(1, k, 0)
    d = k - 1
    packed = packing.pack(full)
    assert_array_equal(packed[:, : d * k // 2], packing.pack(full[:, :d, :d]))
    assert_array_equal(packed[:, d * k // 2 :], full[:, d])


# ------------------------------------------------------------------- block functions


def sums(block, items, task, kernels):
    return blocks.sum_for_abilities(block, items, task, kernels), items


CASES = pytest.mark.parametrize("weighted", [False, True])
FLOORS = pytest.mark.parametrize("floored", [False, True])
FUNCTIONS = pytest.mark.parametrize("function", [sweep, sums])


@CASES
@FLOORS
@FUNCTIONS
@pytest.mark.parametrize("kernels", [NumpyKernels(), ArrayKernels(np, csr_matrix)])
@pytest.mark.parametrize("fuse_from", [0, np.inf])
def test_compiled_and_array_kernels_agree(
    kernels, function, weighted, floored, fuse_from, monkeypatch
):
    monkeypatch.setattr(cpu.CpuKernels, "fuse_from", fuse_from)
    block, items, task = problem(weighted, floored)
    one, after = function(block, items, task, CPU)
    two, twin = function(block, items, task, kernels)
    assert_same_sums(one, two)
    assert_allclose(after.mean, twin.mean, rtol=1e-8)
    assert_allclose(after.second, twin.second, rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiles_make_no_difference(dtype, monkeypatch):
    """A fused half pass goes through its rows by tiles; the last is a smaller one."""
    monkeypatch.setattr(cpu.CpuKernels, "fuse_from", 0)
    block, items, task = problem(False, False)
    assert len(block.scores) == 12
    abilities = blocks.AbilityTables(
        *(part.astype(dtype) for part in vars(task.abilities).values())
    )
    task = replace(task, abilities=abilities, owed=abilities)
    items = blocks.ItemState(items.mean, items.second.astype(dtype))
    whole, after = sweep(block, items, task, CPU)
    monkeypatch.setattr(cpu, "_TILE_ROWS", 5)
    monkeypatch.setattr(cpu, "_TILE_CELLS", 1)
    tiled, twin = sweep(block, items, task, CPU)
    assert_allclose(after.mean, twin.mean, rtol=1e-5)
    for name in ("bound", "moment", "linear"):
        rtol = 1e-12 if dtype == np.float64 else 1e-5
        assert_allclose(
            getattr(whole, name), getattr(tiled, name), rtol=rtol, atol=1e-5
        )


@CASES
@FLOORS
@FUNCTIONS
def test_sparse_blocks_agree_with_dense_blocks(function, weighted, floored):
    block, items, task = problem(weighted, floored)
    one, after = function(block, items, task, CPU)
    for kernels in (CPU, ArrayKernels(np, csr_matrix)):
        two, twin = function(sparse_block(block), items, task, kernels)
        assert_same_sums(one, two)
        assert_allclose(after.mean, twin.mean, rtol=1e-8)


@CASES
@FLOORS
def test_bounds_by_respondent_add_up_to_the_bound_of_the_cells(weighted, floored):
    block, items, task = problem(weighted, floored)
    rows = blocks.bound_by_respondent(block, items, task, CPU)
    total = blocks.sum_for_abilities(block, items, task, CPU).bound
    assert_allclose(rows.sum(), total, rtol=1e-6)
    for other in (sparse_block(block), block):
        again = blocks.bound_by_respondent(other, items, task, CPU)
        assert_allclose(again, rows, rtol=1e-9)


def test_a_block_reads_and_writes_its_own_items_only():
    block, items, task = problem(False, False)
    mean, second = items.mean.copy(), items.second.copy()
    _, after = sweep(block, items, task, CPU)
    assert_array_equal(items.mean, mean)
    assert_array_equal(items.second, second)
    assert np.isnan(after.mean[: block.start]).all()
    assert np.isfinite(after.mean[block.start :]).all()


def test_missing_cells_do_not_count_whatever_their_weight():
    block, items, task = problem(True, False)
    weights = block.weights.copy()
    weights[block.scores < 0] = 1e6
    other = DenseBlock(block.start, block.stop, block.scores, weights)
    one, _ = sweep(block, items, task, CPU)
    assert_same_sums(one, sweep(other, items, task, CPU)[0])


def test_items_without_answers_take_no_part_in_sums_over_items():
    block, items, task = problem(False, False)
    total, after = sweep(block, items, task, CPU)
    answered = np.arange(len(items.mean)) != 3
    for group in (0, 1):
        member = answered & (task.groups == group)
        member[: block.start] = False
        assert_allclose(total.group_first[group], after.mean[member].sum(0))
        assert_allclose(total.group_second[group], after.second[member].sum(0))


def test_change_of_coordinates_moves_first_and_second_moments():
    _, items, task = problem(False, False)
    out = blocks.change_coordinates(items, task.carry, CPU)
    assert_allclose(out.mean, items.mean @ task.carry.T)
    moved = task.carry @ packing.unpack(items.second) @ task.carry.T
    assert_allclose(packing.unpack(out.second), moved)


def test_kernels_travel_without_the_memory_of_threads():
    block, items, task = problem(False, False)
    kernels = get_kernels("cpu")
    here, _ = sweep(block, items, task, kernels)
    sent = pickle.dumps(kernels)
    assert len(sent) < 200
    there, _ = sweep(block, items, task, pickle.loads(sent))
    assert_same_sums(here, there)


# ----------------------------------------------------------------------- compilation


def function_without_a_file():
    """A function that numba finds no place to cache for."""
    names = {}
    exec("def twice(x):\n    return 2 * x", names)
    return names["twice"]


def test_what_cannot_be_cached_is_compiled_all_the_same():
    twice = compiling.jit(function_without_a_file())
    assert twice(21) == 42
    if not numba.config.DISABLE_JIT:
        assert twice.signatures


@pytest.mark.parametrize("disk", ["has room", "is full", "is on fire"])
def test_saving_compiled_code_may_fail_for_want_of_room_alone(disk):
    saved = []

    def save(*what):
        if disk == "is full":
            raise OSError(errno.ENOSPC, "No space left on device")
        if disk == "is on fire":
            raise ValueError("a fault of ours")
        saved.extend(what)

    save_if_possible = compiling._unless_full(save)
    if disk == "is on fire":
        with pytest.raises(ValueError, match="a fault of ours"):
            save_if_possible("signature", "code")
    else:
        save_if_possible("signature", "code")
    assert saved == (["signature", "code"] if disk == "has room" else [])


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match="device must be 'cpu' or 'cuda', got 'tpu'"):
        get_kernels("tpu")
