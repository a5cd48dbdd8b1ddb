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

from sklearn_mirt.data.checks import name_some
from sklearn_mirt.exceptions import NotConvergedWarning, ResponseDataWarning
from sklearn_mirt.solvers.quadrature import checks, nodes
from sklearn_mirt.solvers.quadrature.climb import Climb, NodePlan
from sklearn_mirt.solvers.quadrature.fit_result import ExactFit
from sklearn_mirt.solvers.quadrature.model import ExactModel, ExactSettings
from sklearn_mirt.solvers.quadrature.optimise import OptimiserState, newton_finish
from sklearn_mirt.solvers.quadrature.patterns import collapse_patterns
from sklearn_mirt.solvers.quadrature.prepare import ORDERED, prepare
from sklearn_mirt.solvers.quadrature.standard_errors import observed_information

# floating-point operations of an observed information that is worth its polish alone
_NEWTON_MAX_WORK = 2e10
_RUNAWAY_SLOPE = 25.0
_MAX_RESTRAINTS = 5


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
        Starting slopes and intercepts of dichotomous items, in the orientation of the
        fit where that is fixed.
    callback : callable, optional
        Called as ``callback(n_iter, log_likelihood)``.

    Returns
    -------
    ExactFit

    Raises
    ------
    ValueError
        n_dims over 3; q_matrix of a wrong shape or with an all-zero row; scores that
        the item model cannot have.
    MemoryError
        If the nodes would take more than ``settings.max_memory``.

    Warns
    -----
    ResponseDataWarning
        Unconnected respondents and items, items answered alike by everybody, closed
        gaps between categories, too few items, slopes that run away.
    NotConvergedWarning
        If the tolerance is not met in ``settings.max_iter`` iterations.
    """
    model = model or ExactModel()
    settings = settings or ExactSettings()
    nodes.check_n_dims(model.n_dims)
    responses = np.asarray(responses, dtype=float)
    if responses.ndim != 2:
        raise ValueError(
            "responses must be a table, one row per respondent and one column per "
            f"item; got {responses.ndim} dimension(s)."
        )
    respondents = _ids(respondents, len(responses))
    items = _ids(items, responses.shape[1])
    checks.warn_unconnected(responses, respondents, items)
    weights = np.ones(len(responses)) if weights is None else np.asarray(weights, float)
    problem = _Problem(model, settings, responses, weights, cell_weights, items, start)
    fit = problem.best_fit(callback)
    fit = _restrain(problem, fit, callback)
    if not fit.converged:
        warnings.warn(
            f"The exact fit did not converge in {fit.n_iter} iterations (gradient "
            f"{fit.gradient_norm:.2g} standard errors, tol {settings.tol:g}). Raise "
            "max_iter, or give priors.",
            NotConvergedWarning,
            stacklevel=2,
        )
    return fit


def _ids(ids, n: int) -> np.ndarray:
    out = np.empty(n, dtype=object)
    out[:] = list(range(n)) if ids is None else list(ids)
    return out


def _runaway(fit: ExactFit) -> np.ndarray:
    """Return positions of items whose free slopes have grown out of all measure."""
    n_dims = fit.spec.n_dims
    found = []
    for item, _, where in fit.item_positions():
        free = fit.spec.index[where][:n_dims] >= 0
        if (np.abs(fit.slopes[item]) > _RUNAWAY_SLOPE)[free].any():
            found.append(item)
    return np.array(found, dtype=int)


def _restrain(problem, fit, callback):
    """Refit with weak priors on the items that have no inner maximum."""
    for _ in range(_MAX_RESTRAINTS):
        runaway = np.setdiff1d(_runaway(fit), problem.model.held)
        if not len(runaway):
            break
        held = tuple({*problem.model.held, *runaway.tolist()})
        problem = replace(problem, model=replace(problem.model, held=held))
        with warnings.catch_warnings():
            # the first fit has said all there is to warn of
            warnings.simplefilter("ignore", ResponseDataWarning)
            fit = problem.best_fit(callback)
    if problem.model.held:
        names = name_some(fit.items[sorted(problem.model.held)])
        warnings.warn(
            f"The slopes of items {names} grow without bound: their answers are "
            "(nearly) perfectly ordered by ability and the likelihood has no maximum. "
            f"They are held by weak normal priors (slopes sd {ORDERED[0].sd:g}, "
            f"intercepts sd {ORDERED[1].sd:g}).",
            ResponseDataWarning,
            stacklevel=3,
        )
    return fit


def _started(spec, start) -> np.ndarray:
    """Return free parameters with given slopes and intercepts put in."""
    full = spec.template.copy()
    arrays, _ = spec.unpack(full)
    for block, array in zip(spec.blocks, arrays, strict=True):
        array[:, : start.shape[1]] = start[block.items]
    return spec.contract(full)


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
    start: np.ndarray | None = None

    def best_fit(self, callback) -> ExactFit:
        """Return the fit of the best of the starts, with standard errors."""
        rng = np.random.default_rng(self.settings.random_state)
        runs = []
        for k in range(self.settings.n_starts):
            with warnings.catch_warnings():
                if k:  # the first start has said all there is to warn of
                    warnings.simplefilter("ignore", ResponseDataWarning)
                runs.append(self._run(k, rng, callback))
        return self._finish(*max(runs, key=lambda run: run[1].objective))

    def _run(self, k, rng, callback):
        prepared = prepare(self.model, self.responses, self.items)
        spec = prepared.spec
        free = spec.contract(_perturbed(spec, rng) if k else spec.template)
        if self.start is not None and k == 0:
            free = _started(spec, self.start)
        table = collapse_patterns(
            prepared.responses, self.weights, spec.blocks, self.cell_weights
        )
        state = OptimiserState(free, callback=callback)
        plan = NodePlan(self.settings, table, spec)
        return Climb(plan, state).run(), state, prepared

    def _wants_information(self, likelihood) -> bool:
        """Whether to compute the observed information: asked for, or a cheap polish."""
        if self.settings.standard_errors:
            return self._errors_fit_in_memory(likelihood)
        if likelihood.adaptive:
            return False
        n_columns = likelihood.table.indicators.shape[1]
        work = likelihood.table.n_patterns * len(likelihood.nodes) * n_columns**2
        return work <= _NEWTON_MAX_WORK

    def _errors_fit_in_memory(self, likelihood) -> bool:
        needed = 8 * 4 * len(likelihood.spec.template) ** 2
        if not likelihood.adaptive:
            width = likelihood.table.indicators.shape[1] + 1
            needed += 8 * len(likelihood.nodes) * width**2
        if needed <= self.settings.max_memory:
            return True
        warnings.warn(
            f"Standard errors of {likelihood.spec.n_free:,} parameters need about "
            f"{needed / 2**30:.1f} GiB and are left out; raise max_memory for them.",
            ResponseDataWarning,
            stacklevel=4,
        )
        return False

    def _finish(self, likelihood, state, prepared) -> ExactFit:
        spec = prepared.spec
        information = None
        if self._wants_information(likelihood):
            if not likelihood.adaptive:
                likelihood.prepare(state.free)
            information = newton_finish(likelihood, state, observed_information)
            likelihood.reset()
        evaluation = likelihood.evaluate(state.free)
        if likelihood.adaptive:
            grid = NodePlan(self.settings, likelihood.table, spec).grid()
            rule = likelihood.points, likelihood.log_base
        else:
            grid, rule = (likelihood.all_nodes, likelihood.all_log_base), None
        return ExactFit(
            items=self.items,
            spec=spec,
            free=state.free,
            nodes=grid[0],
            log_base=grid[1],
            rule=rule,
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
