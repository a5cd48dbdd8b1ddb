"""The marginal log-likelihood on nodes of each respondent's own.

Where many items make posteriors narrower than a grid's spacing, fixed nodes miss them
and fail without a sign. Here pattern i has nodes

    theta_iq = m_i + L_i x_q,     sum_q w_q |L_i| f(theta_iq) / phi(x_q),

with x_q, w_q the Gauss-Hermite rule, m_i and L_i L_i' the centre and covariance of its
posterior (Naylor and Smith 1982, Applied Statistics 31, 214-225; Liu and Pierce 1994,
Biometrika 81, 624-629). Nodes stay where they are while an optimiser works, so that the
objective is smooth and its gradient exact; `prepare` moves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_mirt.models.item_models import TwoPL
from sklearn_mirt.solvers.quadrature.ability_likelihood import (
    AbilityLikelihood,
    posterior_modes,
)
from sklearn_mirt.solvers.quadrature.fixed_nodes import Evaluation
from sklearn_mirt.solvers.quadrature.patterns import PatternTable
from sklearn_mirt.solvers.quadrature.specification import Specification
from sklearn_mirt.solvers.quadrature.standard_errors import category_scores

_CHUNK_ELEMENTS = 2_000_000


@dataclass(frozen=True, eq=False)
class _Expectation:
    """One E-step: sums over patterns at some parameters."""

    free: np.ndarray
    gradients: list[np.ndarray]
    information: list[np.ndarray] | None
    moment: np.ndarray
    log_likelihood: float


class AdaptiveLikelihood:
    """Marginal log-likelihood on nodes around each pattern's posterior.

    Parameters
    ----------
    table : PatternTable
    spec : Specification
    points : ndarray of shape (n_points, n_dims)
        Standard Gauss-Hermite nodes.
    log_base : ndarray of shape (n_points,)
        Log of their weights over the standard normal density.
    """

    adaptive = True

    def __init__(self, table: PatternTable, spec: Specification, points, log_base):
        self.table, self.spec = table, spec
        self.points, self.log_base = points, log_base
        n, n_dims = table.n_patterns, spec.n_dims
        self.centre, self.factor = np.zeros((n, n_dims)), np.empty((n, n_dims, n_dims))
        self._placed = False
        self.n_evaluations = 0
        self._last: _Expectation | None = None

    def prepare(self, free: np.ndarray) -> None:
        """Centre and scale the nodes at the posteriors under these parameters.

        First at modes; these are off centre for skewed posteriors, so then at mean and
        covariance. Nodes that are near already only take the second step, twice.
        """
        if not self._placed:
            self._start_at_modes(free)
            self._move_to_moments(free)
        else:
            self._move_to_moments(free)
            self._move_to_moments(free)

    def _start_at_modes(self, free):
        likelihood = AbilityLikelihood(self.spec, self.spec.expand(free), self.table)
        for rows in self._chunks():
            modes = posterior_modes(likelihood, rows)
            _, information = likelihood.derivatives(modes, rows, expected=True)
            covariance = np.linalg.inv(information + likelihood.precision)
            self.centre[rows] = modes
            self.factor[rows] = np.linalg.cholesky(covariance)
        self._placed = True

    def _move_to_moments(self, free):
        mean, covariance, _ = self.moments(free)
        self.centre = mean
        self.factor = _safe_cholesky(covariance, self.factor)
        self._last = None

    def reset(self) -> None:
        """Do nothing: every node is always in use."""

    def _chunks(self):
        widths = sum(
            len(b.items) * b.n_categories * (1 + b.model.n_extras(b.n_categories))
            for b in self.spec.blocks
        )
        step = max(1, _CHUNK_ELEMENTS // (widths * len(self.points)))
        for start in range(0, self.table.n_patterns, step):
            yield np.arange(start, min(start + step, self.table.n_patterns))

    def _nodes(self, rows):
        """Return nodes (n, R, D) and the log of their Lebesgue weights (n, R)."""
        factor = self.factor[rows]
        nodes = self.centre[rows][:, None] + np.einsum(
            "nde,re->nrd", factor, self.points
        )
        scale = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(1)
        return nodes, self.log_base + scale[:, None]

    def _expectations(self, free):
        """Yield (rows, nodes, log marginal, posterior, [(log_p, first, hot)])."""
        items, latent = self.spec.unpack(self.spec.expand(free))
        n_points = len(self.points)
        for rows in self._chunks():
            nodes, log_joint = self._nodes(rows)
            flat = nodes.reshape(-1, nodes.shape[2])
            log_joint = log_joint + self.spec.latent.log_density(latent, nodes)
            parts = []
            for block, params, hot in zip(
                self.spec.blocks, items, self.table.answers(rows), strict=True
            ):
                log_p, first = block.model.tables(params, flat)
                by_node = log_p.reshape(*log_p.shape[:2], len(rows), n_points)
                log_joint += np.einsum("jknr,jkn->nr", by_node, hot)
                parts.append((log_p, first, hot))
            peak = log_joint.max(1)
            posterior = np.exp(log_joint - peak[:, None])
            total = posterior.sum(1)
            yield rows, nodes, np.log(total) + peak, posterior / total[:, None], parts

    def evaluate(self, free: np.ndarray) -> Evaluation:
        """Return the log-likelihood and the gradient at free parameters."""
        last = self._expect(free)
        spec = self.spec
        full = spec.expand(free)
        _, latent = spec.unpack(full)
        parts = [gradient.ravel() for gradient in last.gradients]
        if spec.n_latent:
            prior_moment = spec.latent.covariance(latent)
            n = self.table.weights.sum()
            parts.append(spec.latent.gradient(latent, last.moment, n, prior_moment))
        gradient = np.concatenate(parts) + spec.log_prior_gradient(full)
        return Evaluation(
            last.log_likelihood, spec.log_prior(full), spec.reduce(gradient)
        )

    def _expect(self, free, *, with_information=False):
        """Run the E-step, or return the last one if it was at the same parameters."""
        last = self._last
        if last is not None and np.array_equal(last.free, free):
            if last.information is not None or not with_information:
                return last
        self.n_evaluations += 1
        if self._compiled:
            self._last = self._compiled_expectation(free, with_information)
        else:
            self._last = self._general_expectation(free)
        return self._last

    @cached_property
    def _compiled(self) -> bool:
        """Whether the compiled two-parameter kernel applies."""
        blocks = self.spec.blocks
        return (
            len(blocks) == 1
            and isinstance(blocks[0].model, TwoPL)
            and self.table.cell_weights is None
        )

    def _kernel(self, free, with_information):
        from sklearn_mirt.solvers.kernels.quadrature import two_pl_adaptive

        (beta,), latent = self.spec.unpack(self.spec.expand(free))
        precision = self.spec.latent.precision(latent)
        log_zero = self.spec.latent.log_density(latent, np.zeros(self.spec.n_dims))
        rule = (self.centre, self.factor, self.points, self.log_base)
        return two_pl_adaptive(
            self.table.indicators,
            self._observed,
            np.ascontiguousarray(beta),
            rule,
            (precision, float(log_zero)),
            self.table.weights,
            with_information,
        )

    @cached_property
    def _observed(self):
        order = self.table.item_order
        return np.ascontiguousarray(~np.isnan(self.table.responses[:, order]))

    def _compiled_expectation(self, free, with_information):
        weights = self.table.weights
        log_marginal, mean, covariance, gradient, information = self._kernel(
            free, with_information
        )
        moment = np.einsum("n,nde->de", weights, covariance)
        moment += (mean * weights[:, None]).T @ mean
        return _Expectation(
            free.copy(),
            [gradient],
            [information] if with_information else None,
            moment,
            float(weights @ log_marginal),
        )

    def _general_expectation(self, free):
        spec, weights = self.spec, self.table.weights
        gradients = [np.zeros(b.shape) for b in spec.blocks]
        information = [np.zeros((*b.shape, b.n_parameters)) for b in spec.blocks]
        moment = np.zeros((spec.n_dims, spec.n_dims))
        log_likelihood = 0.0
        for rows, nodes, log_marginal, posterior, parts in self._expectations(free):
            log_likelihood += weights[rows] @ log_marginal
            mass = posterior * weights[rows][:, None]
            flat = nodes.reshape(-1, spec.n_dims)
            moment += (flat * mass.reshape(-1, 1)).T @ flat
            for k, (log_p, first, hot) in enumerate(parts):
                model = spec.blocks[k].model
                counts = (hot[..., None] * mass).reshape(log_p.shape)
                gradients[k] += model.gradient(first, flat, counts)
                information[k] += model.information(log_p, first, flat, counts.sum(1))
        return _Expectation(
            free.copy(), gradients, information, moment, float(log_likelihood)
        )

    def complete_information(self, free: np.ndarray):
        """Return the complete-data information blocks: per item block, then latent."""
        _, latent = self.spec.unpack(self.spec.expand(free))
        n = self.table.weights.sum()
        blocks = self._expect(free, with_information=True).information
        return blocks, self.spec.latent.information(latent, n)

    def item_hessian(self, free: np.ndarray) -> np.ndarray:
        """Return the Hessian of log L in all item parameters (Louis, exact)."""
        spec, weights = self.spec, self.table.weights
        items, _ = spec.unpack(spec.expand(free))
        size = sum(int(np.prod(b.shape)) for b in spec.blocks)
        total = np.zeros((size, size))
        for rows, nodes, _, posterior, parts in self._expectations(free):
            mass = posterior * weights[rows][:, None]
            flat = nodes.reshape(-1, spec.n_dims)
            scores, at = [], 0
            for block, params, (log_p, first, hot) in zip(
                spec.blocks, items, parts, strict=True
            ):
                counts = (hot[..., None] * mass).reshape(log_p.shape)
                for matrix in block.model.hessian(params, flat, counts):
                    where = slice(at, at + len(matrix))
                    total[where, where] += matrix
                    at += len(matrix)
                scores.append(_answer_scores(first, flat, hot))
            together = np.concatenate(scores, axis=1)
            total += (together * mass.reshape(-1, 1)).T @ together
            by_row = together.reshape(*posterior.shape, size)
            mean = np.einsum("nr,nrp->np", posterior, by_row)
            total -= (mean * weights[rows][:, None]).T @ mean
        return total

    def moments(self, free: np.ndarray):
        """Return posterior means (n, D), covariances and log marginals of patterns."""
        if self._compiled:
            log_marginal, mean, covariance, _, _ = self._kernel(free, False)
            return mean, covariance, log_marginal
        n, n_dims = self.table.n_patterns, self.spec.n_dims
        mean, covariance = np.empty((n, n_dims)), np.empty((n, n_dims, n_dims))
        log_marginal = np.empty(n)
        for rows, nodes, log_rows, posterior, _ in self._expectations(free):
            log_marginal[rows] = log_rows
            mean[rows] = np.einsum("nr,nrd->nd", posterior, nodes)
            off = nodes - mean[rows][:, None]
            covariance[rows] = np.einsum("nr,nrd,nre->nde", posterior, off, off)
        return mean, covariance, log_marginal


def _answer_scores(first, flat, hot):
    """Return scores of the given answers (n R, items x params)."""
    n_points = first.shape[3] // hot.shape[2]
    spread = np.repeat(hot, n_points, axis=2)
    scores = category_scores(first, flat)
    picked = np.einsum("qjkp,jkq->qjp", scores, spread)
    return picked.reshape(len(flat), -1)


def _safe_cholesky(covariance, fallback):
    """Return Cholesky factors; the fallback where a covariance is not proper."""
    out = fallback.copy()
    smallest = np.linalg.eigvalsh(covariance)[:, 0]
    fine = smallest > 1e-6 * np.einsum("ndd->n", covariance)
    out[fine] = np.linalg.cholesky(covariance[fine])
    return out
