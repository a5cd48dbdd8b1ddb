"""The marginal log-likelihood on fixed nodes, with its exact gradient.

With nodes theta_q of weights w_q and pattern i of weight n_i,

    log L = sum_i n_i log sum_q w_q prod_j P_j(y_ij | theta_q),

and by Fisher's identity its gradient is that of the expected complete-data
log-likelihood at the same parameters (Bock and Aitkin 1981, Psychometrika 46,
443-459). Both directions are matrix products: log-likelihoods at nodes are Z C, with Z
the indicators of categories and C the log-odds of categories at nodes, and expected
counts are Z' W. Everything stays in log space until after the row maximum is taken
off, so no number of items underflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.quadrature.nodes import chunk_rows
from sklearn_mirt.solvers.quadrature.patterns import PatternTable
from sklearn_mirt.solvers.quadrature.specification import Specification
from sklearn_mirt.solvers.quadrature.standard_errors import item_hessian

_PRUNE_BELOW = 1e-6


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Log-likelihood, log prior and the gradient of their sum in free parameters."""

    log_likelihood: float
    log_prior: float
    gradient: np.ndarray

    @property
    def objective(self) -> float:
        """What is maximised."""
        return self.log_likelihood + self.log_prior


@dataclass(frozen=True, eq=False)
class _Expectation:
    """One E-step: tables at nodes, expected counts, node mass."""

    free: np.ndarray
    pairs: list
    counts: list[np.ndarray]
    mass: np.ndarray
    log_likelihood: float


def _row_functions(kernels):
    """Return the rows of a chunk and the exponential in place, for a device."""
    # numba is loaded on first use, not with the package
    from sklearn_mirt.solvers.kernels.cpu import CpuKernels
    from sklearn_mirt.solvers.kernels.quadrature import exp_rows

    if isinstance(kernels, CpuKernels):
        return chunk_rows, exp_rows

    def exp_rows_of_arrays(work):
        peak = work.max(1)
        work -= peak[:, None]
        kernels.xp.exp(work, out=work)
        return peak, work.sum(1)

    return lambda n_nodes: max(16, kernels.block_cells // n_nodes), exp_rows_of_arrays


class FixedNodeLikelihood:
    """Marginal log-likelihood of a pattern table on nodes shared by all respondents.

    Parameters
    ----------
    table : PatternTable
    spec : Specification
    nodes : ndarray of shape (n_nodes, n_dims)
    log_base : ndarray of shape (n_nodes,)
        Log weights to be multiplied by the density of ability, then normalised.
    kernels : kernels of a device, optional
        Where the products of patterns and nodes are computed; the CPU's by default.
    """

    adaptive = False

    def __init__(
        self, table: PatternTable, spec: Specification, nodes, log_base, kernels=None
    ):
        self.table = table
        self.spec = spec
        self.all_nodes, self.all_log_base = nodes, log_base
        self.active = np.arange(len(nodes))
        self.n_evaluations = 0
        self._last: _Expectation | None = None
        self.kernels = kernels or get_kernels("cpu")
        self._chunk, self._exp_rows = _row_functions(self.kernels)

    @property
    def nodes(self) -> np.ndarray:
        """Nodes in use."""
        return self.all_nodes[self.active]

    def prepare(self, free: np.ndarray) -> None:
        """Drop the nodes that carry no posterior mass for anybody.

        Nodes are dropped, lightest first, as long as all they carry together is below
        1e-6 of one respondent, which bounds the change of the log-likelihood; `reset`
        brings all of them back for the last evaluation.
        """
        self.reset()
        if len(self.all_nodes) <= 100:
            return
        mass = self._expect(free).mass
        order = np.argsort(mass)
        light = order[np.cumsum(mass[order]) < _PRUNE_BELOW]
        self.active = np.setdiff1d(self.active, light)
        self._last = None

    def reset(self) -> None:
        """Use every node again."""
        self.active = np.arange(len(self.all_nodes))
        self._last = None

    def log_weights(self, latent: np.ndarray) -> np.ndarray:
        """Return the log prior weights of the nodes in use."""
        latent_normal = self.spec.latent
        weights = latent_normal.log_weights(latent, self.all_nodes, self.all_log_base)
        return weights[self.active]

    def _joint(self, log_tables, log_weights):
        """Yield (rows, exp(joint - peak), peak, sum over nodes) in chunks of patterns.

        The joint log-likelihood of patterns and nodes is a product: indicators, mask
        and a unit column, times log-odds and logs of the lowest category.
        """
        odds = [(t[:, 1:] - t[:, :1]).reshape(-1, t.shape[2]) for t in log_tables]
        base = np.concatenate([table[:, 0] for table in log_tables])
        if self.table.complete:
            rest = [(log_weights + base.sum(0))[None]]
        else:
            rest = [base, log_weights[None]]
        stacked = self.kernels.asarray(np.concatenate([np.concatenate(odds), *rest]))
        step = self._chunk(len(log_weights))
        for start in range(0, self.table.n_patterns, step):
            rows = slice(start, start + step)
            work = self._design[rows] @ stacked
            yield rows, work, *self._exp_rows(work)

    def posteriors(self, free: np.ndarray):
        """Yield (rows, log marginal likelihood, posterior node weights) in chunks."""
        items, latent = self.spec.unpack(self.spec.expand(free))
        tables = [
            block.model.log_table(params, self.nodes)
            for block, params in zip(self.spec.blocks, items, strict=True)
        ]
        host = self.kernels.to_host
        for rows, work, peak, total in self._joint(tables, self.log_weights(latent)):
            work /= total[:, None]
            yield rows, np.log(host(total)) + host(peak), host(work)

    def _expect(self, free: np.ndarray) -> _Expectation:
        """Run the E-step, or return the last one if it was at the same parameters."""
        last = self._last
        if last is not None and np.array_equal(last.free, free):
            return last
        self.n_evaluations += 1
        spec, nodes = self.spec, self.nodes
        items, latent = spec.unpack(spec.expand(free))
        pairs = [
            block.model.tables(params, nodes)
            for block, params in zip(spec.blocks, items, strict=True)
        ]
        log_weights = self.log_weights(latent)
        tables = [log_p for log_p, _ in pairs]
        log_likelihood, counts, mass = self._expected_counts(tables, log_weights)
        self._last = _Expectation(free.copy(), pairs, counts, mass, log_likelihood)
        return self._last

    def evaluate(self, free: np.ndarray) -> Evaluation:
        """Return the log-likelihood and the gradient at free parameters."""
        spec, nodes = self.spec, self.nodes
        full = spec.expand(free)
        _, latent = spec.unpack(full)
        last = self._expect(free)
        parts = [
            block.model.gradient(first, nodes, count).ravel()
            for block, (_, first), count in zip(
                spec.blocks, last.pairs, last.counts, strict=True
            )
        ]
        parts.append(self._latent_gradient(latent, last.mass))
        gradient = np.concatenate(parts) + spec.log_prior_gradient(full)
        return Evaluation(
            last.log_likelihood, spec.log_prior(full), spec.reduce(gradient)
        )

    def _expected_counts(self, tables, log_weights):
        """Return log-likelihood, counts (J, K, Q) per block, and node mass (Q,)."""
        xp, design = self.kernels.xp, self._design
        weights = self.kernels.asarray(self.table.weights)
        above = xp.zeros((design.shape[1] - 1, len(log_weights)))
        mass, log_likelihood = xp.zeros(len(log_weights)), 0.0
        for rows, work, peak, total in self._joint(tables, log_weights):
            log_likelihood += weights[rows] @ (xp.log(total) + peak)
            # weights go to the narrow factor of each product, never to the posteriors
            scale = weights[rows] / total
            above += (design[rows, :-1] * scale[:, None]).T @ work
            mass += scale @ work
        above, mass = self.kernels.to_host(above), self.kernels.to_host(mass)
        n_columns = self.table.indicators.shape[1]
        answered = np.broadcast_to(mass, (self.spec.n_items, len(mass)))
        if not self.table.complete:
            answered = above[n_columns:]
        counts = self._split_counts(above[:n_columns], answered)
        return float(log_likelihood), counts, mass

    @cached_property
    def _design(self):
        table = self.table
        parts = [table.indicators, np.ones((table.n_patterns, 1))]
        if table.mask is not None:
            parts.insert(1, table.mask)
        return self.kernels.asarray(np.ascontiguousarray(np.concatenate(parts, 1)))

    def _split_counts(self, above, answered):
        counts = []
        for block, (columns, items) in zip(
            self.spec.blocks, self.table.column_slices(), strict=True
        ):
            upper = above[columns].reshape(len(block.items), block.n_categories - 1, -1)
            lowest = answered[items] - upper.sum(1)
            counts.append(np.concatenate([lowest[:, None], upper], axis=1))
        return counts

    def _latent_gradient(self, latent, mass):
        if not self.spec.n_latent:
            return np.zeros(0)
        nodes, every = self.nodes, self.all_nodes
        # the weights are normalised over all nodes, in use or not
        weights = np.exp(self.spec.latent.log_weights(latent, every, self.all_log_base))
        return self.spec.latent.gradient(
            latent,
            (nodes * mass[:, None]).T @ nodes,
            mass.sum(),
            (every * weights[:, None]).T @ every,
        )

    def complete_information(self, free: np.ndarray):
        """Return the complete-data information blocks: per item block, then latent."""
        spec, nodes = self.spec, self.nodes
        _, latent = spec.unpack(spec.expand(free))
        last = self._expect(free)
        blocks = [
            block.model.information(log_p, first, nodes, count.sum(1))
            for block, (log_p, first), count in zip(
                spec.blocks, last.pairs, last.counts, strict=True
            )
        ]
        return blocks, spec.latent.information(latent, last.mass.sum())

    def expected_counts(self, free: np.ndarray):
        """Return expected category counts (J, K, Q) of each block, and node mass."""
        last = self._expect(free)
        return last.counts, last.mass

    def item_hessian(self, free: np.ndarray) -> np.ndarray:
        """Return the Hessian of log L in all item parameters (Louis, exact)."""
        return item_hessian(self, free)

    def moments(self, free: np.ndarray):
        """Return posterior means (n, D), covariances and log marginals of patterns."""
        nodes, n = self.nodes, self.table.n_patterns
        n_dims = nodes.shape[1]
        outer = (nodes[:, :, None] * nodes[:, None, :]).reshape(len(nodes), -1)
        mean, second = np.empty((n, n_dims)), np.empty((n, n_dims**2))
        log_marginal = np.empty(n)
        for rows, log_rows, posterior in self.posteriors(free):
            log_marginal[rows] = log_rows
            mean[rows] = posterior @ nodes
            second[rows] = posterior @ outer
        covariance = second.reshape(n, n_dims, n_dims)
        covariance -= mean[:, :, None] * mean[:, None, :]
        return mean, covariance, log_marginal
