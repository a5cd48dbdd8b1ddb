"""The marginal likelihood: exact against brute force, gradient, information."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from sklearn_mirt.models.item_models import (
    GeneralizedPartialCredit,
    GradedResponse,
    ThreePL,
    TwoPL,
)
from sklearn_mirt.solvers.kernels.arrays import ArrayKernels
from sklearn_mirt.solvers.kernels.quadrature import exp_rows
from sklearn_mirt.solvers.quadrature.ability_distribution import LatentNormal
from sklearn_mirt.solvers.quadrature.fit import fit_quadrature
from sklearn_mirt.solvers.quadrature.fixed_nodes import FixedNodeLikelihood
from sklearn_mirt.solvers.quadrature.model import ExactSettings
from sklearn_mirt.solvers.quadrature.nodes import gauss_hermite_nodes, grid_nodes
from sklearn_mirt.solvers.quadrature.patterns import collapse_patterns
from sklearn_mirt.solvers.quadrature.respondent_nodes import AdaptiveLikelihood
from sklearn_mirt.solvers.quadrature.specification import (
    build_specification,
    make_blocks,
)
from sklearn_mirt.solvers.quadrature.standard_errors import observed_information


def mixed_problem(missing, models=None, categories=None, n=60, seed=0):
    """Return (table, specification, parameters) of items of several models."""
    rng = np.random.default_rng(seed)
    if models is None:
        two, graded = TwoPL(), GradedResponse()
        models = [two, two, ThreePL(), graded, graded, GeneralizedPartialCredit()]
        categories = [2, 2, 2, 3, 3, 3]
    responses = np.stack([rng.integers(0, k, n) for k in categories], axis=1) * 1.0
    if missing:
        responses[rng.random(responses.shape) < 0.2] = np.nan
    blocks = make_blocks(models, categories, 2)
    starts = [rng.normal(size=b.shape) * 0.5 for b in blocks]
    free = [np.ones(b.shape, dtype=bool) for b in blocks]
    free[0][0, 1] = False
    priors = [np.stack([np.zeros(b.shape), np.full(b.shape, 0.3)]) for b in blocks]
    spec = build_specification(
        blocks, zip(starts, free, priors, strict=True), LatentNormal(2, True, True)
    )
    table = collapse_patterns(responses, rng.integers(1, 3, n) * 1.0, blocks)
    return table, spec, spec.contract(spec.template) + 0.1


def likelihoods(table, spec, free):
    adaptive = AdaptiveLikelihood(table, spec, *gauss_hermite_nodes(2, 11))
    fixed = FixedNodeLikelihood(table, spec, *grid_nodes(2, 41, 8.0))
    for likelihood in (adaptive, fixed):
        likelihood.prepare(free)
    return fixed, adaptive


@pytest.mark.parametrize("missing", [False, True])
def test_gradient_and_information_agree_with_differences(missing):
    table, spec, free = mixed_problem(missing)
    for likelihood in likelihoods(table, spec, free):
        gradient = likelihood.evaluate(free).gradient
        information = observed_information(likelihood, free)
        for p in range(0, len(free), 3):
            step = np.zeros(len(free))
            step[p] = 1e-5
            ends = [likelihood.evaluate(free + s * step) for s in (1, -1)]
            slope = (ends[0].objective - ends[1].objective) / 2e-5
            bend = (ends[0].gradient - ends[1].gradient) / 2e-5
            np.testing.assert_allclose(slope, gradient[p], atol=1e-6)
            np.testing.assert_allclose(bend, -information[p], atol=1e-5)


@pytest.mark.parametrize("missing", [False, True])
def test_fixed_and_adaptive_nodes_agree(missing):
    table, spec, free = mixed_problem(missing)
    fixed, adaptive = likelihoods(table, spec, free)
    a, b = fixed.evaluate(free), adaptive.evaluate(free)
    np.testing.assert_allclose(a.log_likelihood, b.log_likelihood, atol=1e-4)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-3)
    for x, y in zip(fixed.moments(free), adaptive.moments(free), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-3)


def test_compiled_kernel_equals_the_general_path():
    table, spec, free = mixed_problem(True, [TwoPL()] * 6, [2] * 6)
    compiled = AdaptiveLikelihood(table, spec, *gauss_hermite_nodes(2, 7))
    compiled.prepare(free)
    general = AdaptiveLikelihood(table, spec, *gauss_hermite_nodes(2, 7))
    general.centre, general.factor = compiled.centre, compiled.factor
    general.__dict__["_compiled"] = False
    assert compiled._compiled
    a, b = compiled.evaluate(free), general.evaluate(free)
    np.testing.assert_allclose(a.log_likelihood, b.log_likelihood, rtol=1e-13)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-11)
    information = [x.complete_information(free)[0][0] for x in (compiled, general)]
    np.testing.assert_allclose(*information, atol=1e-11)
    for x, y in zip(compiled.moments(free), general.moments(free), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)


@pytest.mark.parametrize("missing", [False, True])
def test_device_path_in_array_operations_equals_the_compiled_one(missing):
    table, spec, free = mixed_problem(missing)
    nodes = grid_nodes(2, 21)
    kernels = ArrayKernels(np, sparse.csr_matrix)
    pair = [FixedNodeLikelihood(table, spec, *nodes, k) for k in (None, kernels)]
    for likelihood in pair:
        likelihood.prepare(free)
    a, b = (likelihood.evaluate(free) for likelihood in pair)
    np.testing.assert_allclose(a.log_likelihood, b.log_likelihood, rtol=1e-13)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-10)
    for x, y in zip(*(p.moments(free) for p in pair), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)


@pytest.mark.gpu
def test_cuda_fit_equals_the_cpu_fit():
    pytest.importorskip("cupy")
    data = np.random.default_rng(0).integers(0, 2, (300, 6)) * 1.0
    fits = [
        fit_quadrature(data, settings=ExactSettings(nodes="grid", device=device))
        for device in ("cpu", "cuda")
    ]
    values = [fit.log_likelihood for fit in fits]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-8)


def test_log_likelihood_by_brute_force():
    rng = np.random.default_rng(1)
    responses = rng.integers(0, 2, (30, 4)) * 1.0
    slopes, intercepts = rng.normal(size=(4, 1)), rng.normal(size=4)
    blocks = make_blocks([TwoPL()] * 4, [2] * 4, 1)
    spec = build_specification(
        blocks,
        [
            (
                np.column_stack([slopes, intercepts]),
                np.ones((4, 2), dtype=bool),
                np.zeros((2, 4, 2)),
            )
        ],
        LatentNormal(1),
    )
    nodes, base = grid_nodes(1, 61)
    table = collapse_patterns(responses, np.ones(30), blocks)
    found = FixedNodeLikelihood(table, spec, nodes, base)
    found = found.evaluate(spec.contract(spec.template)).log_likelihood
    weights = np.exp(-0.5 * nodes[:, 0] ** 2)
    weights /= weights.sum()
    p = expit(nodes @ slopes.T + intercepts)
    wanted = 0.0
    for y in responses:
        wanted += np.log(weights @ np.prod(np.where(y == 1, p, 1 - p), axis=1))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_product_of_over_a_thousand_answers_does_not_overflow():
    """Items without slopes are independent: the likelihood is a product."""
    rng = np.random.default_rng(0)
    n_items = 1100  # 2^1100 is beyond double precision
    responses = rng.integers(0, 2, (3, n_items)) * 1.0
    responses[0, 200:900] = np.nan
    intercepts = 0.01 * rng.normal(size=n_items)
    blocks = make_blocks([TwoPL()] * n_items, [2] * n_items, 1)
    spec = build_specification(
        blocks,
        [
            (
                np.column_stack([np.zeros(n_items), intercepts]),
                np.ones((n_items, 2), dtype=bool),
                np.zeros((2, n_items, 2)),
            )
        ],
        LatentNormal(1),
    )
    table = collapse_patterns(responses, np.ones(3), blocks)
    likelihood = AdaptiveLikelihood(table, spec, *gauss_hermite_nodes(1, 7))
    free = spec.contract(spec.template)
    likelihood.prepare(free)
    assert likelihood._compiled
    wanted = np.log(expit(np.where(responses == 1, intercepts, -intercepts)))
    found = likelihood.evaluate(free).log_likelihood
    np.testing.assert_allclose(found, wanted[~np.isnan(responses)].sum(), rtol=1e-12)


def test_patterns_are_collapsed_with_their_weights():
    blocks = make_blocks([TwoPL()] * 2, [2] * 2, 1)
    responses = np.array([[1.0, np.nan], [0.0, 1.0], [1.0, np.nan], [1.0, 0.0]])
    table = collapse_patterns(responses, np.array([1.0, 2.0, 3.0, 4.0]), blocks)
    assert table.n_patterns == 3
    np.testing.assert_array_equal(table.responses[table.inverse], responses)
    assert sorted(table.weights) == [2.0, 4.0, 4.0]


def test_repeats_count_as_answers():
    """A mean of n answers with weight n is n answers, but for patterns' numbers."""
    blocks = make_blocks([TwoPL()] * 2, [2] * 2, 1)
    spec = build_specification(
        blocks,
        [
            (
                np.array([[1.0, 0.2], [0.7, -0.5]]),
                np.ones((2, 2), dtype=bool),
                np.zeros((2, 2, 2)),
            )
        ],
        LatentNormal(1),
    )
    nodes = grid_nodes(1, 61)
    free = spec.contract(spec.template)
    mean = collapse_patterns(
        np.array([[0.75, 1.0]]), np.ones(1), blocks, np.array([[4.0, 1.0]])
    )
    found = FixedNodeLikelihood(mean, spec, *nodes).evaluate(free).log_likelihood
    p = expit(nodes[0] * [1.0, 0.7] + [0.2, -0.5])
    weights = np.exp(-0.5 * nodes[0][:, 0] ** 2)
    weights /= weights.sum()
    wanted = np.log(weights @ (p[:, 0] ** 3 * (1 - p[:, 0]) * p[:, 1]))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_exponentials_of_rows():
    rng = np.random.default_rng(0)
    work = rng.normal(size=(5, 1003)) * 100.0
    wanted = np.exp(work - work.max(1, keepdims=True))
    peak, total = exp_rows(work)
    np.testing.assert_allclose(work, wanted, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(total, wanted.sum(1), rtol=1e-13)


@pytest.mark.parametrize("variances", [False, True])
@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_latent_covariances_are_proper_whatever_the_parameters(n_dims, variances):
    latent = LatentNormal(n_dims, variances, True)
    rng = np.random.default_rng(n_dims)
    for _ in range(20):
        sigma = latent.covariance(rng.normal(size=latent.n_parameters) * 2)
        assert np.linalg.eigvalsh(sigma).min() > 0
        if not variances:
            np.testing.assert_allclose(np.diag(sigma), 1.0)


def test_node_rules_integrate_polynomials():
    nodes, base = gauss_hermite_nodes(2, 5)
    weights = np.exp(LatentNormal(2).log_weights(np.zeros(0), nodes, base))
    np.testing.assert_allclose(weights.sum(), 1.0)
    np.testing.assert_allclose(weights @ nodes**2, 1.0)
    np.testing.assert_allclose(weights @ nodes**4, 3.0)
    np.testing.assert_allclose(weights @ (nodes[:, 0] ** 2 * nodes[:, 1] ** 4), 3.0)
