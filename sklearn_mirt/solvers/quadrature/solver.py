"""The exact fit as a solver of the estimators, and when it is the one to take."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logit

from sklearn_mirt.exceptions import NotConvergedWarning
from sklearn_mirt.models import packing
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.item_models import ThreePL, TwoPL
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.solvers.base import Solver, SolverResult
from sklearn_mirt.solvers.quadrature.ability_distribution import LatentNormal
from sklearn_mirt.solvers.quadrature.fit import fit_quadrature
from sklearn_mirt.solvers.quadrature.model import ExactModel, ExactSettings
from sklearn_mirt.solvers.quadrature.nodes import MAX_DIMS, gauss_hermite_nodes
from sklearn_mirt.solvers.quadrature.patterns import collapse_patterns
from sklearn_mirt.solvers.quadrature.respondent_nodes import AdaptiveLikelihood
from sklearn_mirt.solvers.quadrature.specification import (
    build_specification,
    make_blocks,
)

_MAX_ITEMS = 100
_MIN_RESPONDENTS = 200
_RESPONDENTS_PER_ITEM = 5
# nodes that carry mass, about, by number of dimensions
_NODES = {1: 61, 2: 700, 3: 2500}
_MAX_WORK = 2e9
_MAX_FREE_FOR_ERRORS = 1500
_SCORING_POINTS = {1: 31, 2: 15, 3: 9}


def prefers_exact(n_respondents: int, n_items: int, n_dims: int) -> bool:
    """Return whether the exact fit is affordable and the better one.

    It is where items are few (up to 100), so that variational slopes are biased (10%
    small at 40 items), and respondents many (200, and five for each item), so that
    estimates need no learned prior; and where respondents x items x nodes is at most
    2e9, some seconds a pass.
    """
    if n_dims > min(MAX_DIMS, n_items) or n_items > _MAX_ITEMS:
        return False
    enough = n_respondents >= max(_MIN_RESPONDENTS, _RESPONDENTS_PER_ITEM * n_items)
    return enough and n_respondents * n_items * _NODES[n_dims] <= _MAX_WORK


@dataclass
class QuadratureSolver(Solver):
    """Settings of the exact fit.

    Parameters
    ----------
    max_iter : int
    tol : float
        Nats per answer, as for the variational fit; the gradient is brought under
        ``sqrt(tol) / 10`` standard errors.
    item_model : str
        "2pl", "1pl", "rasch" (here the same as "1pl": abilities have unit variance) or
        "3pl".
    q_matrix : array of shape (n_items, n_dims), optional
    correlated : bool
        Whether abilities correlate, where there is a q_matrix.
    device : {"cpu", "cuda"}
    random_state : int
    """

    max_iter: int = 200
    tol: float = 1e-6
    item_model: str = "2pl"
    q_matrix: np.ndarray | None = None
    correlated: bool = False
    device: str = "cpu"
    random_state: int = 0
    name: str = field(default="quadrature", init=False)

    def solve(self, data, n_dims, design, *, start=None, callback=None):
        """Return the fit of `data`; see :class:`Solver`."""
        if design.positive_slopes:
            raise ValueError(
                "positive_slopes=True is not available with solver='quadrature'; use "
                "solver='variational'"
            )
        fit = self._fit(data, n_dims, design, start, callback)
        items, determined = _item_parameters(fit, data.items)
        spread = np.sqrt(np.diag(fit.ability_covariance))
        correlation = fit.ability_covariance / np.outer(spread, spread)
        return SolverResult(
            items,
            posterior_abilities(data, items, correlation),
            _describing_prior(items, design),
            fit.log_likelihoods,
            fit.converged,
            fit,
            determined,
        )

    def _fit(self, data, n_dims, design, start, callback):
        floors = np.where(design.guessing > 0, design.guessing, np.nan)
        model = ExactModel(
            item_model=self.item_model,
            n_dims=n_dims,
            q_matrix=self.q_matrix,
            correlated=self.correlated,
            guessing=floors,
        )
        n_free = data.n_items * (n_dims + 1)
        settings = ExactSettings(
            tol=0.1 * float(np.sqrt(self.tol)),
            max_iter=self.max_iter,
            standard_errors=n_free <= _MAX_FREE_FOR_ERRORS,
            random_state=self.random_state,
            device=self.device,
        )
        with warnings.catch_warnings():
            # the estimator says so itself
            warnings.simplefilter("ignore", NotConvergedWarning)
            return fit_quadrature(
                data.to_wide(),
                model=model,
                settings=settings,
                cell_weights=_cell_weights(data),
                respondents=data.respondents,
                items=data.items,
                start=None if start is None else start.items.mean,
                callback=None if callback is None else _capped(callback, self.max_iter),
            )


def _capped(callback, most):
    """Report at most so many steps: a refit after a bad start begins again at one."""
    count = 0

    def report(_, log_likelihood):
        nonlocal count
        count += 1
        if count <= most:
            callback(count, log_likelihood)

    return report


def _cell_weights(data):
    """Return weights (n_respondents, n_items) of cells, None where all are one."""
    item, respondent, _, weights = data.cells()
    if weights is None:
        return None
    out = np.zeros((data.n_respondents, data.n_items))
    out[respondent, item] = weights
    return out


def _item_parameters(fit, ids):
    """Return items in units of ability's standard deviation, and what is determined."""
    n_params = fit.spec.n_dims + 1
    spread = np.sqrt(np.diag(fit.ability_covariance))
    scale = np.append(spread, 1.0)
    covariances = np.zeros((fit.spec.n_items, n_params, n_params))
    determined = np.ones(fit.spec.n_items, dtype=bool)
    if fit.information is not None and fit.n_parameters <= _MAX_FREE_FOR_ERRORS:
        own = np.array([c[:n_params, :n_params] for c in fit.item_covariances()])
        determined = np.isfinite(own).all((1, 2))
        # prediction averages over these: an unknown spread counts as none
        covariances = np.nan_to_num(own) * np.outer(scale, scale)
    items = ItemParameters(
        fit.slopes * spread, fit.intercepts, fit.guessing, covariances, ids
    )
    return items, determined


def _describing_prior(items, design):
    """Return the mean and spread of the estimates by group, for unknown items."""
    beta, groups = items.mean, design.groups
    first = np.zeros((design.n_groups, beta.shape[1]))
    np.add.at(first, groups, beta)
    outer = packing.outer(beta)
    second = np.zeros((design.n_groups, outer.shape[1]))
    np.add.at(second, groups, outer)
    counts = np.bincount(groups, minlength=design.n_groups).astype(float)
    return GroupPrior.from_moments(counts, first, second)


def posterior_abilities(data, items, prior_covariance) -> Abilities:
    """Return posterior means and covariances of ability, the items held as they are.

    Each respondent has nodes of its own (31, 15 or 9 per dimension), so the result for
    one never depends on the others. Who answered nothing keeps the prior.

    Parameters
    ----------
    data : ResponseData
        Answers to the items of `items`, in that order.
    items : ItemParameters
    prior_covariance : ndarray of shape (n_dims, n_dims)
    """
    factor = np.linalg.cholesky(prior_covariance)
    spec = _known_items(items, items.slopes @ factor)
    table = collapse_patterns(
        data.to_wide(), np.ones(data.n_respondents), spec.blocks, _cell_weights(data)
    )
    points = gauss_hermite_nodes(items.n_dims, _SCORING_POINTS[items.n_dims])
    likelihood = AdaptiveLikelihood(table, spec, *points)
    nothing = np.zeros(0)
    likelihood.prepare(nothing)
    mean, covariance, _ = likelihood.moments(nothing)
    # thousands of answers to a cell can leave the mass at one node, without a spread:
    # then the one by which the nodes were scaled
    lost = ~(np.linalg.eigvalsh(covariance)[:, 0] > 0)
    scale = np.asarray(likelihood.factor)[lost]
    covariance[lost] = scale @ scale.transpose(0, 2, 1)
    mean, covariance = mean[table.inverse], covariance[table.inverse]
    return Abilities(
        mean @ factor.T,
        factor @ covariance @ factor.T,
        prior_covariance,
        data.respondents,
    )


def _known_items(items, slopes):
    """Return a specification that has nothing free."""
    two, three = TwoPL(), ThreePL(guessing_prior=None)
    models = [three if g > 0 else two for g in items.guessing]
    blocks = make_blocks(models, np.full(items.n_items, 2), items.n_dims)
    parts = []
    for block in blocks:
        own = [slopes[block.items], items.intercepts[block.items, None]]
        if block.model is three:
            own.append(logit(items.guessing[block.items, None]))
        free, priors = np.zeros(block.shape, dtype=bool), np.zeros((2, *block.shape))
        parts.append((np.concatenate(own, axis=1), free, priors))
    return build_specification(blocks, parts, LatentNormal(items.n_dims))
