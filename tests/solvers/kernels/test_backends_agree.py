"""The GPU's arithmetic, run with numpy in the place of cupy, against the CPU kernels.

Where cupy and a device are at hand the same tests run there too (marker ``gpu``).
"""

import builtins
import os
import sys
import types

import numpy as np
import pytest
from kernel_problems import assert_same_sums, problem, sparse_block
from numpy.testing import assert_allclose
from scipy import sparse

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.data.responses import ResponseData
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models import packing
from sklearn_mirt.models.item_design import ItemDesign
from sklearn_mirt.solvers.kernels import arrays as gpu
from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.kernels import item_blocks as blocks
from sklearn_mirt.solvers.kernels.gaussian_solves import (
    solve_gaussian,
    solve_nonnegative,
)
from sklearn_mirt.solvers.variational import fold_in as fold_in_module
from sklearn_mirt.solvers.variational import solver as variational

CPU = get_kernels("cpu")


def numpy_in_place_of_cupy():
    return gpu.ArrayKernels(np, sparse.csr_array)


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def kernels(request):
    if request.param == "numpy":
        return numpy_in_place_of_cupy()
    pytest.importorskip("cupy", reason="cupy is not installed")
    try:
        return get_kernels("cuda")
    except RuntimeError as error:
        pytest.skip(str(error))


def moved(task, kernels):
    """The task with its arrays on the device."""
    there = kernels.asarray

    def move(value):
        if isinstance(value, blocks.AbilityTables):
            return blocks.AbilityTables(*map(there, vars(value).values()))
        return there(value) if isinstance(value, np.ndarray) else value

    parts = {name: move(value) for name, value in vars(task).items()}
    return blocks.ItemTask(**{**parts, "carry": task.carry})


# -------------------------------------------------------------------- block functions


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("floored", [False, True])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("storage", [lambda block: block, sparse_block])
def test_a_sweep_is_the_same(kernels, weighted, floored, nonnegative, storage):
    block, items, task = problem(weighted, floored)
    block = storage(block)
    task = blocks.ItemTask(**{**vars(task), "nonnegative": nonnegative})
    one, two = items.empty_like(), items.empty_like()
    expected = blocks.sweep(block, items, one, task, CPU)
    there = blocks.ItemState(*map(kernels.asarray, vars(items).values()))
    after = blocks.ItemState(*map(kernels.asarray, vars(two).values()))
    task = moved(task, kernels)
    block = blocks.on_device(block, kernels)
    found = blocks.sweep(block, there, after, task, kernels).on_host(kernels)
    assert_same_sums(found, expected)
    here = slice(block.start, block.stop)
    for name in ("mean", "second"):
        ours = kernels.to_host(getattr(after, name))[here]
        assert_allclose(ours, getattr(one, name)[here], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_elementwise_core_is_the_same_and_keeps_its_type(
    kernels, dtype, tolerance, weighted
):
    rng = np.random.default_rng(0)
    square = np.exp(3 * rng.standard_normal((6, 300))).astype(dtype)
    scores = rng.choice([-1, 0, 1], square.shape).astype(np.int8)
    weights = rng.random(square.shape).astype(np.float32) if weighted else None
    there = kernels.asarray(square.copy())
    bound = kernels.cell_terms(
        there,
        kernels.asarray(scores),
        None if weights is None else kernels.asarray(weights),
    )
    expected = CPU.cell_terms(square, scores, weights)
    assert there.dtype == dtype
    assert_allclose(kernels.to_host(there), square, rtol=tolerance)
    assert_allclose(float(bound), expected, rtol=tolerance)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_batched_solves_are_the_same(kernels, k):
    rng = np.random.default_rng(k)
    root = rng.standard_normal((15, k, k + 2))
    precision = packing.pack(root @ root.swapaxes(1, 2) + 0.1 * np.eye(k))
    linear = rng.standard_normal((15, k))
    there = kernels.asarray(precision), kernels.asarray(linear)
    expected = solve_gaussian(precision, linear)
    for ours, theirs in zip(kernels.solve_gaussian(*there), expected, strict=True):
        assert_allclose(kernels.to_host(ours), theirs, rtol=1e-8, atol=1e-10)
    found = kernels.solve_nonnegative(*there, kernels.asarray(expected[0]))
    wanted = solve_nonnegative(precision, linear, expected[0])
    assert_allclose(kernels.to_host(found), wanted, atol=1e-8)


# ------------------------------------------------------------------------- whole fits

CASES = {
    "dense": {},
    "sparse": {"sparse": True},
    "weights": {"weighted": True},
    "sparse weights": {"sparse": True, "weighted": True},
    "floor": {"guessing": 0.2},
    "sparse floor": {"sparse": True, "guessing": 0.2},
    "positive slopes": {"positive": True},
    "single precision": {"dtype": "float32"},
    "accelerated": {"accelerate": True},
}


def answers(sparse=False, weighted=False):
    X = make_responses(50, 160, 2, missing=0.2, random_state=0).responses
    weights = np.random.default_rng(1).integers(1, 4, X.shape) if weighted else None
    if not sparse:
        return ResponseData.from_wide(X, weights=weights)
    i, j = np.nonzero(~np.isnan(X) & (np.random.default_rng(2).random(X.shape) < 0.15))
    weights = None if weights is None else weights[i, j]
    return ResponseData.from_long(i, j, X[i, j], weights=weights)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_fit_is_the_same(kernels, case, monkeypatch):
    case = dict(case)
    data = answers(case.pop("sparse", False), case.pop("weighted", False))
    n = data.n_items
    design = ItemDesign(
        np.arange(n) % 3,
        np.arange(3),
        np.full(n, case.pop("guessing", 0.0)),
        case.pop("positive", False),
    )
    settings = {"max_iter": 15, "tol": 0.0, "accelerate": False, "dtype": "float64"}
    solver = variational.VariationalSolver(**{**settings, **case})
    here = solver.solve(data, 2, design)
    monkeypatch.setattr(variational, "get_kernels", lambda device: kernels)
    monkeypatch.setattr(kernels, "block_cells", 2000)
    there = solver.solve(data, 2, design)
    tolerance = 1e-3 if solver.dtype == "float32" else 1e-6
    assert_allclose(there.trace, here.trace, rtol=tolerance / 100)
    for part in ("items", "abilities"):
        one, two = (getattr(fit, part).mean for fit in (here, there))
        assert isinstance(two, np.ndarray)
        assert_allclose(two, one, atol=tolerance)
        one, two = (getattr(fit, part).covariances for fit in (here, there))
        assert_allclose(two, one, atol=tolerance)


def test_new_respondents_are_scored_the_same(kernels, monkeypatch):
    data = answers()
    X = data.to_wide()
    mirt = MIRTTransformer(2, max_iter=10, tol=1.0).fit(X)
    here = mirt.transform(X), mirt.score_samples(X)
    monkeypatch.setattr(fold_in_module, "get_kernels", lambda device: kernels)
    assert_allclose(mirt.transform(X), here[0], atol=1e-6)
    assert_allclose(mirt.score_samples(X), here[1], rtol=1e-8)


# ------------------------------------------------------------------------------ errors


def test_cuda_without_cupy_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def no_cupy(name, *args, **kwargs):
        if name.startswith("cupy"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_cupy)
    with pytest.raises(RuntimeError, match=r"needs CuPy.*sklearn-mirt\[gpu\]"):
        get_kernels("cuda")


def fake_cupy(count):
    """A cupy that is installed; `count` stands for what its driver answers."""

    class CUDARuntimeError(RuntimeError):
        pass

    def answer():
        if isinstance(count, str):
            raise CUDARuntimeError(count)
        return count

    cupy, cupyx = types.ModuleType("cupy"), types.ModuleType("cupyx")
    runtime = types.SimpleNamespace(
        getDeviceCount=answer, CUDARuntimeError=CUDARuntimeError
    )
    cupy.cuda = types.SimpleNamespace(runtime=runtime)
    scipy_module = types.ModuleType("cupyx.scipy")
    scipy_module.sparse = types.SimpleNamespace(csr_matrix=None)
    return {"cupy": cupy, "cupyx": cupyx, "cupyx.scipy": scipy_module}


@pytest.mark.parametrize(
    "count, message",
    [
        (0, "found no device; use device='cpu'"),
        ("cudaErrorInitializationError", "forked.*start it by spawn"),
    ],
)
def test_cuda_without_a_device_is_refused_and_never_replaced(
    monkeypatch, count, message
):
    for name, module in fake_cupy(count).items():
        monkeypatch.setitem(sys.modules, name, module)
    X = make_responses(10, 12, random_state=0).responses
    with pytest.raises(RuntimeError, match=message):
        MIRTTransformer(device="cuda").fit(X)


def test_a_device_that_answers_gets_kernels_of_its_arrays(monkeypatch):
    modules = fake_cupy(1)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    kernels = get_kernels("cuda")
    assert isinstance(kernels, gpu.ArrayKernels)
    assert kernels.xp is modules["cupy"]


@pytest.mark.gpu
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_fit_on_the_device_is_used_without_it():
    pytest.importorskip("cupy", reason="cupy is not installed")
    X = make_responses(20, 30, random_state=0).responses
    mirt = MIRTTransformer(device="cuda").fit(X)
    assert all(
        isinstance(value, np.ndarray | np.generic | int | float | str | bool | tuple)
        for name, value in vars(mirt).items()
        if name.endswith("_") and not name.startswith("_")
    )
    assert mirt.set_params(device="cpu").transform(X).shape == (20, 2)
