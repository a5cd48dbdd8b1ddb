"""Every implementation keeps the contracts that solvers/base.py writes down."""

import inspect
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sklearn_mirt import ResponseData, ShardedResponses
from sklearn_mirt.data.cells import DenseBlock
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models import packing
from sklearn_mirt.models.item_design import ItemDesign
from sklearn_mirt.solvers import base
from sklearn_mirt.solvers.kernels.arrays import ArrayKernels
from sklearn_mirt.solvers.kernels.cpu import CpuKernels
from sklearn_mirt.solvers.kernels.item_blocks import (
    DenseCellsOperator,
    ItemState,
    ItemTask,
)
from sklearn_mirt.solvers.runners.dask_cluster import DaskRunner
from sklearn_mirt.solvers.runners.streaming import StateFile, StreamingRunner
from sklearn_mirt.solvers.runners.threads import RUNS, LocalRunner, runs
from sklearn_mirt.solvers.variational.by_items import ItemFit
from sklearn_mirt.solvers.variational.by_respondents import RespondentFit, TableFit
from sklearn_mirt.solvers.variational.loop import Ascent
from sklearn_mirt.solvers.variational.problem import Problem


def assert_keeps(instance, protocol):
    """Assert that an object has the attributes and methods of a protocol."""
    names = {
        name
        for cls in protocol.__mro__
        if getattr(cls, "_is_protocol", False)
        for name in (*vars(cls), *cls.__dict__.get("__annotations__", ()))
        if not name.startswith("_")
    }
    assert names
    for name in names:
        assert hasattr(instance, name), f"{name} is missing"
        if callable(wanted := getattr(protocol, name, None)):
            found = inspect.signature(getattr(type(instance), name)).parameters
            wanted = inspect.signature(wanted).parameters
            assert list(found) == list(wanted), name
            for one, two in zip(found.values(), wanted.values(), strict=True):
                assert (one.kind, one.default) == (two.kind, two.default), name


# -------------------------------------------------------------------------- runners


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1}
    with distributed.LocalCluster(dashboard_address=None, **options) as cluster:
        with distributed.Client(cluster) as client:
            yield client


SHARD_RUNNERS = ["streaming", "files", "dask"]


@pytest.fixture(params=["threads", *SHARD_RUNNERS])
def new_runner(request, tmp_path):
    """Return a function of n_jobs, which Dask leaves to its cluster."""
    if request.param == "dask":
        client = request.getfixturevalue("client")
        return lambda n_jobs=1: DaskRunner(client)
    return {
        "threads": LocalRunner,
        "streaming": StreamingRunner,
        "files": partial(StreamingRunner, scratch=tmp_path),
    }[request.param]


class Block:
    """A block on disk."""

    def __init__(self, number):
        self.number = number

    def load(self):
        return np.full(3, 0.1) * self.number


def scaled(block, scale):
    return block * scale


def numbered(block):
    return [round(block[0] / 0.1)]


class State:
    """A state that can be a file: its attributes are arrays."""

    def __init__(self, seen):
        self.seen = seen


def counted(block, state, step):
    """Add a step to the state of a block; the sum is of blocks times states."""
    seen = step if state is None else state.seen + step
    return State(np.asarray(seen)), block * seen


def test_a_runner_has_what_the_protocol_names(new_runner):
    assert_keeps(new_runner(1), base.Runner)


@pytest.mark.parametrize("new_runner", SHARD_RUNNERS, indirect=True)
def test_a_shard_runner_has_what_the_protocol_names(new_runner):
    assert_keeps(new_runner(1), base.ShardRunner)


@pytest.mark.slow
def test_a_runner_opens_blocks_and_adds_up_in_their_order(new_runner):
    blocks = [Block(k) for k in range(150)]
    found = []
    for n_jobs in (1, 2, 3):
        runner = new_runner(n_jobs)
        with runner.running():
            assert runner.map_reduce(numbered, blocks) == list(range(150))
            found.append(runner.map_reduce(scaled, blocks, 0.7))
    parts = [sum(scaled(b.load(), 0.7) for b in r) for r in runs(blocks, runner.n_runs)]
    for total in found:  # floating-point sums tell orders apart
        assert_array_equal(total, sum(parts))
    assert_array_equal(LocalRunner(1, RUNS).map_reduce(numbered, blocks[:1]), [0])


@pytest.mark.parametrize("new_runner", SHARD_RUNNERS, indirect=True)
def test_states_stay_with_their_blocks(new_runner, tmp_path):
    runner = new_runner(2)
    with runner.running():
        blocks = runner.persist([Block(k) for k in range(40)])
        first, one = runner.sweep(counted, blocks, [None] * 40, 1.0)
        second, two = runner.sweep(counted, blocks, first, 2.0)
        again, three = runner.sweep(counted, blocks, first, 2.0)
        assert_array_equal(one, runner.map_reduce(scaled, blocks, 1.0))
        assert_array_equal(two, runner.map_reduce(scaled, blocks, 3.0))
        assert_array_equal(three, two)  # the earlier states are as they were
        assert len(second) == len(again) == 40
        (tmp_path / "kept").mkdir()
        files = runner.store(second, tmp_path / "kept")
    assert {type(file) for file in files} == {StateFile}
    assert [float(file.load().seen) for file in files] == [3.0] * 40
    assert [file.path.parent for file in files] == [tmp_path / "kept"] * 40
    assert runner.bytes_sent >= 0 and runner.bytes_received >= 0


# --------------------------------------------------------------------------- kernels


@pytest.fixture(params=["cpu", "arrays"])
def kernels(request):
    return (
        CpuKernels() if request.param == "cpu" else ArrayKernels(np, sparse.csr_matrix)
    )


SCORES = np.array([[1, 0, -1, 1], [0.25, 1, 0, -1]])
MISSING = SCORES < 0


def test_kernels_have_what_the_protocol_names(kernels):
    assert_keeps(kernels, base.Kernels)
    cells = DenseCellsOperator(DenseBlock(0, 2, np.zeros((2, 4)), None), kernels)
    kernels.fuse_from = 0
    if kernels.fuses(cells):
        assert kernels.plain_item_sums and kernels.plain_ability_sums
    assert kernels.block_cells > 0 and kernels.least_blocks > 0


def test_arrays_go_to_the_device_and_back(kernels):
    array = np.arange(6.0).reshape(2, 3)
    there = kernels.asarray(array, dtype=np.float32)
    assert there.dtype == np.float32
    assert_array_equal(kernels.to_host(there), array)
    assert kernels.to_host(2.0) == 2.0
    space = kernels.space("square", (2, 3), np.float32)
    assert space.shape == (2, 3) and space.dtype == np.float32


@pytest.mark.parametrize("weights", [None, np.array([[1, 2, 0, 3.0], [1, 1, 2, 0]])])
def test_terms_of_cells_are_the_formulas(kernels, weights):
    weight = np.where(MISSING, 0.0, 1.0 if weights is None else weights)
    square = np.linspace(0.5, 4, 8).reshape(2, 4)
    c = np.sqrt(square)
    omega, kappa = square.copy(), np.empty((2, 4))
    bound = kernels.cell_terms(omega, SCORES, weights)
    assert_allclose(omega, weight * np.tanh(c / 2) / (2 * c), rtol=1e-9, atol=1e-300)
    assert_allclose(bound, -(weight * np.log(2 * np.cosh(c / 2))).sum(), rtol=1e-9)
    assert kernels.centred_scores(SCORES, weights, kappa) is kappa
    assert_allclose(kappa, weight * (SCORES - 0.5))


def test_standardised_scores_are_the_formula(kernels):
    rates, inverse = np.full((2, 4), 0.3), np.full((2, 4), 2.0)
    out = np.empty((2, 4))
    kernels.standardised(SCORES, rates, inverse, out)
    assert_allclose(out, np.where(MISSING, 0, (SCORES - 0.3) * 2))


def test_guessing_shares_right_answers(kernels):
    logit, floor = np.linspace(-3, 3, 8).reshape(2, 4), np.full((2, 4), 0.2)
    out = np.empty((2, 4))
    kernels.knowing_scores(logit, SCORES, None, floor, out)
    known = np.exp(logit) / (np.exp(logit) + floor)
    assert_allclose(out, np.where(MISSING, 0, SCORES * known - 0.5), rtol=1e-9)


def test_items_are_updated_to_their_posterior(kernels):
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((5, 3, 3))
    precisions = roots @ roots.transpose(0, 2, 1) + np.eye(3)
    linear, groups = rng.standard_normal((5, 3)), np.array([0, 1, 0, 1, 1])
    task = ItemTask(
        prior_precision=packing.pack(np.array([np.eye(3), 2 * np.eye(3)])),
        prior_linear=np.array([[0.0, 0, 1], [1, 0, 0]]),
        groups=groups,
        observed=np.array([True, True, False, True, True]),
    )
    items = ItemState(np.empty((5, 3)), np.empty((5, 6)))
    first, second, logdet = kernels.update_items(
        packing.pack(precisions), linear, task, slice(0, 5), items
    )
    covariances = np.linalg.inv(precisions + np.eye(3) * (1 + groups)[:, None, None])
    means = np.einsum("jpq,jq->jp", covariances, linear + task.prior_linear[groups])
    assert_allclose(items.mean, means)
    assert_allclose(items.second, packing.second_moments(means, covariances))
    seen = task.observed
    for g in (0, 1):
        assert_allclose(first[g], means[seen & (groups == g)].sum(0))
        assert_allclose(second[g], items.second[seen & (groups == g)].sum(0))
    assert_allclose(logdet, np.linalg.slogdet(covariances[seen])[1].sum())


def test_products_of_sparse_cells_are_those_of_the_full_table(kernels):
    rng = np.random.default_rng(1)
    table = rng.standard_normal((3, 4)) * (rng.random((3, 4)) < 0.6)
    item, respondents = np.nonzero(table)
    offsets = np.searchsorted(item, np.arange(4))
    place = offsets, respondents.astype(np.int32)
    cells = table[item, respondents]
    of_items, of_respondents = rng.standard_normal((3, 2)), rng.standard_normal((4, 2))
    assert_array_equal(kernels.item_of_cells(offsets, len(cells)), item)
    assert_allclose(
        kernels.gather_square(of_items, of_respondents, *place),
        (of_items @ of_respondents.T)[item, respondents],
    )
    assert_allclose(
        kernels.sum_by_item(cells, of_respondents, *place), table @ of_respondents
    )
    assert_allclose(
        kernels.sum_by_respondent(cells, of_items, *place, 4), table.T @ of_items
    )


# ------------------------------------------------------------------------------ fits

N, J, D = 90, 40, 2


@pytest.fixture(params=["items", "table", "shards"])
def new_fit(request, tmp_path):
    """Return a function that makes a fit, by items, or by respondents in two ways."""
    X = make_responses(N, J, D, missing=0.1, n_groups=2, random_state=0).responses
    X[7], X[:, 3] = np.nan, np.nan
    design = ItemDesign(np.arange(J) % 2, np.arange(2), np.zeros(J))
    settings = CpuKernels(), StreamingRunner(1), np.dtype(np.float64)
    if request.param == "shards":
        chunks = pytest.importorskip("dask.array").from_array(X, chunks=(30, J))
        data = ShardedResponses.from_wide(chunks, tmp_path / "shards")
        answers = data.item_weight, data.item_score, data.n_answered
        problem = Problem(data, design, *answers, *settings)
        return lambda: RespondentFit(problem, data.shards)
    kind = ItemFit if request.param == "items" else TableFit
    return lambda: kind(Problem.of(ResponseData.from_wide(X), design, *settings))


def test_a_fit_has_what_the_protocol_names(new_fit):
    fit = new_fit()
    fit.begin(D)
    assert_keeps(fit, base.Fit)
    assert_keeps(fit.state, base.FitState)


@pytest.mark.parametrize("plain_passes", [5, np.inf])
def test_the_loop_drives_a_fit_up(new_fit, plain_passes):
    fit = new_fit()
    fit.begin(D)
    ascent = Ascent(fit, max_iter=60, tol=1e-6, plain_passes=plain_passes)
    ascent.run()
    trace = ascent.position.trace
    assert len(trace) > 10 and (np.diff(trace) >= 0).all()
    assert_allclose(fit.evaluate(), trace[-1], rtol=1e-12)
    result = fit.result(trace, True)
    assert result.items.slopes.shape == (J, D) and result.n_iter == len(trace)
    assert_array_equal(result.items.mean[3], result.prior.means[1])  # no answers
    again = new_fit()
    again.begin(D, result)
    again.pass_(learn_prior=True)
    assert again.evaluate() >= trace[-1] - 1e-6 * abs(trace[-1])


def test_a_pass_returns_the_bound_of_the_state_before_and_leaves_it(new_fit):
    fit = new_fit()
    fit.begin(D)
    fit.pass_(learn_prior=True)
    before, mean = fit.state, fit.state.mean.copy()
    bound = fit.evaluate()
    assert_allclose(fit.pass_(learn_prior=False), bound, rtol=1e-12)
    assert fit.state is not before
    assert_array_equal(before.mean, mean)
    fit.state = before
    assert_allclose(fit.evaluate(), bound, rtol=1e-12)


def test_a_runner_may_be_entered(new_runner):
    runner = new_runner(2)
    with runner.running() as entered:
        assert entered is runner
