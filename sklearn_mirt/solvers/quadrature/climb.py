"""One climb of the marginal likelihood: which nodes, and the steps taken on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.quadrature import nodes
from sklearn_mirt.solvers.quadrature.fixed_nodes import FixedNodeLikelihood
from sklearn_mirt.solvers.quadrature.model import ExactSettings
from sklearn_mirt.solvers.quadrature.optimise import (
    OptimiserState,
    em_steps,
    quasi_newton,
)
from sklearn_mirt.solvers.quadrature.patterns import PatternTable
from sklearn_mirt.solvers.quadrature.respondent_nodes import AdaptiveLikelihood
from sklearn_mirt.solvers.quadrature.specification import Specification

# a normal posterior of sd s on a grid of spacing h is integrated with relative error
# 2 exp(-2 pi^2 s^2 / h^2): 1.4% at s = h / 2
_NARROW = 0.5
_NARROW_SHARE = 0.05
_LIMIT_IN_SD = 5.0
_WIDEST = 60.0
_MAX_WIDENINGS = 4
_MAX_MOVES = 6
_LIMIT = 6.0


@dataclass(frozen=True, eq=False)
class NodePlan:
    """The nodes that the settings ask for, around all respondents or each of them."""

    settings: ExactSettings
    table: PatternTable
    spec: Specification

    @property
    def n_points(self) -> int:
        """Points per dimension of nodes that all respondents share."""
        given = self.settings.n_points if self.settings.nodes != "adaptive" else None
        return given or nodes.DEFAULT_POINTS[self.spec.n_dims]

    def grid(self):
        """Return the grid of the settings, which margins and sum scores are read on."""
        return nodes.grid_nodes(self.spec.n_dims, self.n_points, _LIMIT)

    def shared(self, limit) -> FixedNodeLikelihood:
        """Return the likelihood on nodes up to `limit`, at the spacing of the grid."""
        settings, n_dims, n_points = self.settings, self.spec.n_dims, self.n_points
        if limit > _LIMIT:
            n_points = 2 * int(np.ceil(limit * (n_points - 1) / 12.0)) + 1
        counts = np.repeat(
            [block.n_categories for block in self.spec.blocks],
            [len(block.items) for block in self.spec.blocks],
        )
        n_patterns = self.table.n_patterns
        needed = nodes.estimate_memory(n_patterns, n_points**n_dims, counts, n_dims)
        nodes.check_memory(needed, settings.max_memory, n_points, n_dims)
        if settings.nodes == "gauss-hermite":
            points, log_base = nodes.gauss_hermite_nodes(n_dims, n_points)
        else:
            points, log_base = nodes.grid_nodes(n_dims, n_points, limit)
        kernels = get_kernels(settings.device)
        return FixedNodeLikelihood(self.table, self.spec, points, log_base, kernels)

    def adaptive(self) -> AdaptiveLikelihood:
        """Return the likelihood on nodes of each respondent."""
        n_dims, settings = self.spec.n_dims, self.settings
        n_points = settings.n_points if settings.nodes == "adaptive" else None
        n_points = n_points or nodes.DEFAULT_ADAPTIVE_POINTS[n_dims]
        rule = nodes.gauss_hermite_nodes(n_dims, n_points)
        return AdaptiveLikelihood(self.table, self.spec, *rule)


@dataclass(frozen=True, eq=False)
class Climb:
    """Steps from the parameters of `state`, which is updated, to a maximum."""

    plan: NodePlan
    state: OptimiserState

    def run(self):
        """Maximise; return the likelihood on the nodes that served."""
        settings, limit = self.plan.settings, self.plan.settings.node_limit
        if settings.nodes == "adaptive":
            return self._on_adaptive_nodes()
        likelihood = self.plan.shared(limit or _LIMIT)
        watched = settings.nodes == "auto"
        if watched and _too_narrow(likelihood, self.state.free):
            return self._on_adaptive_nodes()
        self._ascend(likelihood)
        if watched and _too_narrow(likelihood, self.state.free):
            return self._on_adaptive_nodes()
        if limit is None and settings.nodes != "gauss-hermite":
            likelihood = self._on_wider_grids(likelihood)
        return likelihood

    def _ascend(self, likelihood):
        settings, state = self.plan.settings, self.state
        likelihood.prepare(state.free)
        em_steps(likelihood, state, settings.n_em, settings.tol)
        likelihood.prepare(state.free)
        quasi_newton(likelihood, state, settings.tol, settings.max_iter)
        likelihood.reset()

    def _on_wider_grids(self, likelihood):
        """Widen the grid, at the same spacing, until it holds the ability's spread."""
        limit, spec = _LIMIT, self.plan.spec
        for _ in range(_MAX_WIDENINGS):
            _, latent = spec.unpack(spec.expand(self.state.free))
            spread = np.sqrt(np.diag(spec.latent.covariance(latent)).max())
            wanted = min(_LIMIT_IN_SD * spread, _WIDEST)
            if wanted <= limit * 1.05:
                break
            limit = 1.1 * wanted
            likelihood = self.plan.shared(limit)
            self.state.converged = False
            self._ascend(likelihood)
        return likelihood

    def _on_adaptive_nodes(self):
        """Alternate between climbing on each respondent's nodes and moving them."""
        settings, state = self.plan.settings, self.state
        likelihood = self.plan.adaptive()
        for k in range(_MAX_MOVES):
            before = state.objective
            likelihood.prepare(state.free)
            # nodes are about to move: the first climb need not be exact
            tol = settings.tol if k else max(settings.tol, 1e-2)
            em_steps(likelihood, state, 1 if k else settings.n_em, tol)
            quasi_newton(likelihood, state, tol, settings.max_iter)
            settled = abs(state.objective - before) < 1e-4
            if (k and settled) or state.n_iter >= settings.max_iter:
                break
        likelihood.prepare(state.free)
        return likelihood


def _too_narrow(likelihood, free) -> bool:
    """Return whether many posteriors are narrower than the grid can see."""
    likelihood.reset()
    _, covariance, _ = likelihood.moments(free)
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[:, 0], 0.0))
    axis = np.unique(likelihood.all_nodes[:, 0])
    weights = likelihood.table.weights
    narrow = spread < _NARROW * (axis[1] - axis[0])
    return bool(weights[narrow].sum() > _NARROW_SHARE * weights.sum())
