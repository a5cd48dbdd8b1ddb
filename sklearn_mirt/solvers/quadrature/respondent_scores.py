"""Abilities from an exact fit: EAP, MAP, ML and sum-score EAP, with standard errors.

One path for every number of dimensions, item model and pattern of missing answers.

References
----------
Bock and Mislevy (1982), Applied Psychological Measurement 6, 431-444 (EAP). Thissen,
Pommerich, Billeaud and Williams (1995), Applied Psychological Measurement 19, 39-49
(sum scores). Lord and Wingersky (1984), Applied Psychological Measurement 8, 453-461.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from sklearn_mirt.solvers.quadrature.ability_likelihood import (
    AbilityLikelihood,
    posterior_modes,
)
from sklearn_mirt.solvers.quadrature.patterns import collapse_patterns

_METHODS = ("eap", "map", "ml", "eapsum")


@dataclass(frozen=True, eq=False)
class PersonScores:
    """Ability estimates of respondents.

    Attributes
    ----------
    method : str
    mean : ndarray of shape (n_respondents, n_dims)
    covariances : ndarray of shape (n_respondents, n_dims, n_dims)
        Posterior covariances (EAP, sum-score EAP), or inverse observed information (MAP
        with the prior's, ML without); NaN for ML estimates at a bound.
    prior_covariance : ndarray of shape (n_dims, n_dims)
    """

    method: str
    mean: np.ndarray
    covariances: np.ndarray
    prior_covariance: np.ndarray

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard errors (n_respondents, n_dims)."""
        return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))

    @property
    def empirical_reliability(self) -> np.ndarray:
        """Variance of the scores over itself plus mean squared standard error."""
        explained = self.mean.var(axis=0)
        return explained / (explained + (self.standard_errors**2).mean(axis=0))


def score_respondents(
    fit, responses, *, method="eap", bounds=(-6.0, 6.0), cell_weights=None
) -> PersonScores:
    """Estimate the abilities of respondents under a fit.

    Parameters
    ----------
    fit : ExactFit
    responses : array-like of shape (n_respondents, n_items)
        Coded as the fit's data were; NaN where there is no answer.
    method : {"eap", "map", "ml", "eapsum"}
        "eap" posterior mean, "map" posterior mode, "ml" likelihood mode inside
        ``bounds``, "eapsum" posterior mean given the sum score.
    bounds : (float, float)
        ML abilities are kept inside, in every dimension: all right or all wrong answers
        have no finite ML estimate. An estimate at a bound has NaN standard errors.
    cell_weights : array-like of shape (n_respondents, n_items), optional
        Number of answers each score is the mean of.

    Returns
    -------
    PersonScores
        A respondent without answers has the prior's mean and covariance (ML: NaN).
    """
    if method not in _METHODS:
        raise ValueError(f"method={method!r} is not one of {_METHODS}.")
    coded = recode(fit, np.asarray(responses, dtype=float))
    weights = np.ones(len(coded))
    table = collapse_patterns(coded, weights, fit.spec.blocks, cell_weights)
    if method == "eap":
        mean, covariance, _ = fit.likelihood_of(table).moments(fit.free)
    elif method == "eapsum":
        mean, covariance = _sum_score_moments(fit, table)
    else:
        mean, covariance = _modes(fit, table, prior=method == "map")
        if method == "ml":
            mean, covariance = _bounded(fit, table, mean, covariance, bounds)
    at = table.inverse
    return PersonScores(method, mean[at], covariance[at], fit.ability_covariance)


def recode(fit, responses: np.ndarray) -> np.ndarray:
    """Return responses as the category numbers of a fit."""
    if responses.ndim != 2 or responses.shape[1] != fit.spec.n_items:
        raise ValueError(
            f"responses must have {fit.spec.n_items} columns, one per item of the fit; "
            f"got shape {responses.shape}."
        )
    out = responses.copy()
    for block in fit.spec.blocks:
        if block.model.dichotomous:
            continue
        for item in block.items:
            known = fit.categories[item]
            answered = ~np.isnan(out[:, item])
            values = out[answered, item]
            new = values[~np.isin(values, known)]
            if len(new):
                raise ValueError(
                    f"Item {fit.items[item]!r} has the category {new[0]:g}, which the "
                    f"fit has not seen (it knows {known.tolist()})."
                )
            out[answered, item] = np.searchsorted(known, values)
    return out


def _chunks(n_patterns: int, n_items: int):
    step = max(1, 200_000 // max(n_items, 1))
    for start in range(0, n_patterns, step):
        yield np.arange(start, min(start + step, n_patterns))


def _modes(fit, table, *, prior: bool):
    """Return posterior modes by damped Fisher scoring, and inverse information there.

    Without ``prior`` the modes are only starts for the bounded search, and the
    information leaves the prior out.
    """
    likelihood = AbilityLikelihood(fit.spec, fit.full, table)
    n_dims = fit.spec.n_dims
    mean = np.zeros((table.n_patterns, n_dims))
    covariance = np.empty((table.n_patterns, n_dims, n_dims))
    for rows in _chunks(table.n_patterns, fit.spec.n_items):
        theta = posterior_modes(likelihood, rows)
        _, information = likelihood.derivatives(theta, rows, expected=False)
        if prior:
            information = information + likelihood.precision
        mean[rows], covariance[rows] = theta, _safe_inverse(information)
    return mean, covariance


def _safe_inverse(information: np.ndarray) -> np.ndarray:
    """Invert a stack of matrices; NaN where one is not positive definite."""
    out = np.full(information.shape, np.nan)
    fine = np.linalg.eigvalsh(information)[:, 0] > 1e-10
    out[fine] = np.linalg.inv(information[fine])
    return out


def _bounded(fit, table, start, covariance, bounds):
    """Return ML abilities inside bounds, started at the posterior modes."""
    low, high = bounds
    likelihood = AbilityLikelihood(fit.spec, fit.full, table)
    mean = np.clip(start, low, high)
    n_dims = fit.spec.n_dims
    answered = ~np.isnan(table.responses).all(1)
    for i in range(table.n_patterns):
        rows = np.array([i])
        if not answered[i]:
            mean[i], covariance[i] = np.nan, np.nan
            continue

        def negative(theta, rows=rows):
            theta = theta[None]
            gradient, _ = likelihood.derivatives(theta, rows, expected=True)
            return -likelihood.value(theta, rows)[0], -gradient[0]

        result = minimize(
            negative,
            mean[i],
            jac=True,
            method="L-BFGS-B",
            bounds=[(low, high)] * n_dims,
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        mean[i] = result.x
        _, information = likelihood.derivatives(mean[[i]], rows, expected=False)
        inside = np.all((mean[i] > low) & (mean[i] < high))
        covariance[i] = _safe_inverse(information)[0] if inside else np.nan
    return mean, covariance


# --- sum scores -----------------------------------------------------------------


def sum_score_likelihoods(log_tables) -> np.ndarray:
    """Return P(sum score | node), shape (n_scores, Q), by the Lord-Wingersky recursion.

    ``log_tables`` holds one (K_j, Q) array of log-probabilities per item.
    """
    n_nodes = log_tables[0].shape[1] if log_tables else 1
    out = np.ones((1, n_nodes))
    for table in log_tables:
        p = np.exp(table)
        new = np.zeros((len(out) + len(p) - 1, n_nodes))
        for k in range(len(p)):
            new[k : k + len(out)] += p[k] * out
        out = new
    return out


def item_log_tables(fit, nodes=None) -> list[np.ndarray]:
    """Return the log-probabilities (K_j, Q) of each item at the fit's nodes."""
    nodes = fit.nodes if nodes is None else nodes
    arrays, _ = fit.spec.unpack(fit.full)
    out: list[np.ndarray] = [np.empty(0)] * fit.spec.n_items
    for block, params in zip(fit.spec.blocks, arrays, strict=True):
        for item, table in zip(
            block.items, block.model.log_table(params, nodes), strict=True
        ):
            out[item] = table
    return out


def node_weights(fit) -> np.ndarray:
    """Return the prior weights (Q,) of the fit's nodes."""
    _, latent = fit.spec.unpack(fit.full)
    return np.exp(fit.spec.latent.log_weights(latent, fit.nodes, fit.log_base))


def _sum_score_moments(fit, table):
    """Return moments given the sum score, separately for each set of answered items."""
    n_dims = fit.spec.n_dims
    mean = np.empty((table.n_patterns, n_dims))
    covariance = np.empty((table.n_patterns, n_dims, n_dims))
    log_tables, weights = item_log_tables(fit), node_weights(fit)
    answered = ~np.isnan(table.responses)
    totals = np.nansum(table.responses, axis=1)
    if np.any(totals != np.round(totals)):
        raise ValueError("method='eapsum' needs whole-numbered scores.")
    sets, where = np.unique(answered, axis=0, return_inverse=True)
    for k, answered_items in enumerate(sets):
        rows = np.flatnonzero(where.ravel() == k)
        chosen = [log_tables[j] for j in np.flatnonzero(answered_items)]
        joint = sum_score_likelihoods(chosen) * weights
        posterior = joint / joint.sum(1, keepdims=True)
        m, c = _moments(posterior, fit.nodes)
        scores = totals[rows].astype(int)
        mean[rows], covariance[rows] = m[scores], c[scores]
    return mean, covariance


def _moments(posterior, nodes):
    mean = posterior @ nodes
    second = np.einsum("sq,qd,qe->sde", posterior, nodes, nodes)
    return mean, second - mean[:, :, None] * mean[:, None, :]


@dataclass(frozen=True, eq=False)
class SumScoreTable:
    """EAP abilities for every sum score, and how often each is expected.

    Attributes
    ----------
    scores : ndarray of shape (n_scores,)
    mean, standard_errors : ndarray of shape (n_scores, n_dims)
    expected : ndarray of shape (n_scores,)
        Expected number of respondents.
    """

    scores: np.ndarray
    mean: np.ndarray
    standard_errors: np.ndarray
    expected: np.ndarray


def sum_score_table(fit) -> SumScoreTable:
    """Return the conversion of sum scores of complete answers to abilities."""
    joint = sum_score_likelihoods(item_log_tables(fit)) * node_weights(fit)
    share = joint.sum(1)
    mean, covariance = _moments(joint / share[:, None], fit.nodes)
    errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    return SumScoreTable(np.arange(len(share)), mean, errors, fit.n_respondents * share)
