"""Exact marginal maximum likelihood for short tests.

Bock-Aitkin EM steps, then quasi-Newton in the metric of the complete-data information,
then Newton steps on the exact observed information where the number of parameters
allows; on equally spaced, Gauss-Hermite or adaptive nodes.

References
----------
Bock and Aitkin (1981), Psychometrika 46, 443-459. Jamshidian and Jennrich (1997), JRSS
B 59, 569-587. Naylor and Smith (1982), Applied Statistics 31, 214-225 (adaptive nodes).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.item_models import NormalPrior
from sklearn_mirt.solvers import checks, nodes
from sklearn_mirt.solvers.design import ExactModel, prepare
from sklearn_mirt.solvers.exact_fit import ExactFit
from sklearn_mirt.solvers.marginal import FixedNodeLikelihood
from sklearn_mirt.solvers.optimise import (
    OptimiserState,
    em_steps,
    newton_finish,
    quasi_newton,
)
from sklearn_mirt.solvers.patterns import collapse_patterns
from sklearn_mirt.solvers.standard_errors import observed_information

_NEWTON_MAX_FREE = 600
_RUNAWAY_SLOPE = 25.0
_NARROW = 0.6


@dataclass(frozen=True)
class ExactSettings:
    """How an exact fit is computed.

    Parameters
    ----------
    nodes : {"auto", "grid", "gauss-hermite", "adaptive"}
        "auto" takes the grid, unless posteriors are too narrow for it.
    n_points : int, optional
        Points per dimension; 61, 31, 15 for 1, 2, 3 dimensions on a grid.
    node_limit : float, optional
        The grid covers [-node_limit, node_limit] in each dimension. None is 6, widened
        where the estimated spread of ability asks for more.
    tol : float
        Largest gradient at the end, in complete-data standard errors.
    max_iter : int
    n_em : int
        EM steps before the quasi-Newton finish.
    standard_errors : bool
    n_starts : int
        Starts; the best objective wins.
    random_state : int
        Seed of the starts after the first.
    max_memory : int
        Bytes that may be allocated.
    """

    nodes: str = "auto"
    n_points: int | None = None
    node_limit: float | None = None
    tol: float = 1e-4
    max_iter: int = 500
    n_em: int = 6
    standard_errors: bool = True
    n_starts: int = 1
    random_state: int = 0
    max_memory: int = 4 * 2**30


def fit_quadrature(
    responses,
    *,
    model: ExactModel | None = None,
    settings: ExactSettings | None = None,
    weights=None,
    cell_weights=None,
    respondents=None,
    items=None,
    start: np.ndarray | None = None,
    callback=None,
) -> ExactFit:
    """Fit an item response model by exact marginal maximum likelihood.

    Parameters
    ----------
    responses : array-like of shape (n_respondents, n_items)
        Scores in [0, 1] or ordered categories; NaN where there is no answer.
    model : ExactModel, optional
    settings : ExactSettings, optional
    weights : array-like of shape (n_respondents,), optional
        Weight of each respondent, e.g. how often its pattern occurred.
    cell_weights : array-like of shape (n_respondents, n_items), optional
        Number of answers each score is the mean of.
    respondents, items : array-like of ids, optional
        For messages and tables.
    start : ndarray of shape (n_items, n_dims + 1), optional
        Starting slopes and intercepts of dichotomous items.
    callback : callable, optional
        Called as ``callback(n_iter, log_likelihood)``.

    Returns
    -------
    ExactFit

    Raises
    ------
    ValueError
        n_dims over 3; q_matrix of a wrong shape or with an all-zero row; scores that the
        item model cannot have.
    MemoryError
        If the nodes would take more than ``settings.max_memory``.

    Warns
    -----
    ResponseDataWarning
        Unconnected respondents and items, items answered alike by everybody, closed
        gaps between categories, too few items, slopes that run away.
    ConvergenceWarning
        If the tolerance is not met in ``settings.max_iter`` iterations.
    """
    model = model or ExactModel()
    settings = settings or ExactSettings()
    nodes.check_n_dims(model.n_dims)
    responses = np.asarray(responses, dtype=float)
    respondents = _ids(respondents, len(responses))
    items = _ids(items, responses.shape[1])
    checks.warn_unconnected(responses, respondents, items)
    weights = np.ones(len(responses)) if weights is None else np.asarray(weights, float)
    problem = _Problem(model, settings, responses, weights, cell_weights, items)
    fit = problem.best_fit(callback)
    if _ran_away(fit):
        fit = _restrain(problem, fit, callback)
    if not fit.converged:
        warnings.warn(
            f"The exact fit did not converge in {fit.n_iter} iterations (gradient "
            f"{fit.gradient_norm:.2g} standard errors, tol {settings.tol:g}). Raise "
            "max_iter, or give priors.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return fit


def _ids(ids, n: int) -> np.ndarray:
    out = np.empty(n, dtype=object)
    out[:] = list(range(n)) if ids is None else list(ids)
    return out


def _ran_away(fit: ExactFit) -> bool:
    return bool(np.abs(fit.slopes).max(initial=0.0) > _RUNAWAY_SLOPE)


def _restrain(problem, fit, callback):
    """Refit with weak priors where the likelihood has no inner maximum."""
    runaway = fit.items[np.abs(fit.slopes).max(1) > _RUNAWAY_SLOPE]
    prior = NormalPrior(0.0, 3.0)
    warnings.warn(
        f"The slopes of items {checks.name_some(runaway)} grow without bound: the "
        "responses are (nearly) perfectly ordered and the likelihood has no maximum. "
        "Fitted with weak normal priors instead (slopes and intercepts, sd 3).",
        ResponseDataWarning,
        stacklevel=3,
    )
    model = replace(
        problem.model,
        slope_prior=problem.model.slope_prior or prior,
        intercept_prior=problem.model.intercept_prior or prior,
    )
    return replace(problem, model=model).best_fit(callback)


def _perturbed(spec, rng) -> np.ndarray:
    """Return another start: slopes turned at random and shaken, extras shaken."""
    full = spec.template.copy()
    arrays, latent = spec.unpack(full)  # views
    turn = np.linalg.qr(rng.normal(size=(spec.n_dims, spec.n_dims)))[0]
    for array in arrays:
        slopes = array[:, : spec.n_dims]
        if spec.n_dims > 1:
            slopes[:] = slopes @ turn
        array += rng.normal(0.0, 0.3, array.shape)
    latent += rng.normal(0.0, 0.1, len(latent))
    return np.where(spec.index >= 0, full, spec.template)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Model, settings and data of one fit."""

    model: ExactModel
    settings: ExactSettings
    responses: np.ndarray
    weights: np.ndarray
    cell_weights: np.ndarray | None
    items: np.ndarray

    def best_fit(self, callback) -> ExactFit:
        """Return the fit of the best of the starts, with standard errors."""
        rng = np.random.default_rng(self.settings.random_state)
        runs = []
        for k in range(self.settings.n_starts):
            with warnings.catch_warnings():
                if k:  # the first start has said all there is to warn of
                    warnings.simplefilter("ignore", ResponseDataWarning)
                runs.append(self._run(k, rng, callback))
        likelihood, state, prepared = max(runs, key=lambda run: run[1].objective)
        return self._finish(likelihood, state, prepared)

    def _run(self, k, rng, callback):
        prepared = prepare(self.model, self.responses, self.items)
        spec = prepared.spec
        free = spec.contract(_perturbed(spec, rng) if k else spec.template)
        table = collapse_patterns(
            prepared.responses, self.weights, spec.blocks, self.cell_weights
        )
        likelihood = self._likelihood(table, spec)
        state = OptimiserState(free)
        self._climb(likelihood, state)
        return likelihood, state, prepared

    def _climb(self, likelihood, state):
        settings = self.settings
        likelihood.prepare(state.free)
        em_steps(likelihood, state, settings.n_em, settings.tol)
        likelihood.prepare(state.free)
        quasi_newton(likelihood, state, settings.tol, settings.max_iter)
        likelihood.reset()

    def _likelihood(self, table, spec):
        settings, n_dims = self.settings, self.model.n_dims
        n_points = settings.n_points or nodes.DEFAULT_POINTS[n_dims]
        counts = np.concatenate(
            [np.full(len(b.items), b.n_categories) for b in spec.blocks]
        )
        needed = nodes.estimate_memory(
            table.n_patterns, n_points**n_dims, counts, n_dims
        )
        nodes.check_memory(needed, settings.max_memory, n_points, n_dims)
        if settings.nodes == "gauss-hermite":
            grid = nodes.gauss_hermite_nodes(n_dims, n_points)
        else:
            limit = settings.node_limit or 6.0
            grid = nodes.grid_nodes(n_dims, n_points, limit)
        return FixedNodeLikelihood(table, spec, *grid)

    def _finish(self, likelihood, state, prepared) -> ExactFit:
        spec, settings = prepared.spec, self.settings
        information = None
        if settings.standard_errors or spec.n_free <= _NEWTON_MAX_FREE:
            likelihood.prepare(state.free)
            information = newton_finish(likelihood, state, observed_information)
            likelihood.reset()
        evaluation = likelihood.evaluate(state.free)
        return ExactFit(
            items=self.items,
            spec=spec,
            free=state.free,
            nodes=likelihood.all_nodes,
            log_base=likelihood.all_log_base,
            adaptive=likelihood.adaptive,
            log_likelihood=evaluation.log_likelihood,
            log_prior=evaluation.log_prior,
            log_likelihoods=np.array(state.trace),
            converged=state.converged,
            n_iter=state.n_iter,
            gradient_norm=state.gradient_norm,
            n_respondents=float(self.weights.sum()),
            categories=prepared.categories,
            information=information,
            known={"guessing": self.model.guessing},
        )
