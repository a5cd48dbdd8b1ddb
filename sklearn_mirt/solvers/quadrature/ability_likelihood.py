"""Each respondent's likelihood in its own ability, and its posterior mode."""

from __future__ import annotations

import numpy as np

from sklearn_mirt.solvers.quadrature.patterns import PatternTable
from sklearn_mirt.solvers.quadrature.specification import Specification

_MAX_STEPS = 100


class AbilityLikelihood:
    """Log-likelihood of each pattern in its own ability, with derivatives."""

    def __init__(self, spec: Specification, full: np.ndarray, table: PatternTable):
        self.spec, self.table = spec, table
        self.arrays, latent = spec.unpack(full)
        self.precision = spec.latent.precision(latent)

    def _parts(self, rows):
        n_dims = self.spec.n_dims
        for block, params, counts in zip(
            self.spec.blocks, self.arrays, self.table.answers(rows), strict=True
        ):
            yield block, params[:, :n_dims], params[:, n_dims:], counts

    def value(self, theta, rows):
        """Return log L of patterns ``rows`` at theta (n, D)."""
        out = np.zeros(len(theta))
        for block, slopes, extras, counts in self._parts(rows):
            log_p = block.model.log_probabilities(slopes @ theta.T, extras)
            out += np.einsum("jkn,jkn->n", log_p, counts)
        return out

    def derivatives(self, theta, rows, *, expected: bool):
        """Return gradient (n, D) and information (n, D, D), expected or observed."""
        n_dims = theta.shape[1]
        gradient = np.zeros((len(theta), n_dims))
        information = np.zeros((len(theta), n_dims, n_dims))
        for block, slopes, extras, counts in self._parts(rows):
            t = slopes @ theta.T
            first = block.model.first(t, extras)[:, :, 0]
            gradient += np.einsum("jkn,jkn,jd->nd", first, counts, slopes)
            if expected:
                p = np.exp(block.model.log_probabilities(t, extras))
                weight = np.einsum("jkn,jkn,jn->jn", p, first**2, counts.sum(1))
            else:
                second = block.model.second(t, extras)[:, :, 0, 0]
                weight = -np.einsum("jkn,jkn->jn", second, counts)
            information += np.einsum("jn,jd,je->nde", weight, slopes, slopes)
        return gradient, information


def posterior_modes(likelihood: AbilityLikelihood, rows, start=None) -> np.ndarray:
    """Return the posterior modes of patterns ``rows``, all at once."""
    precision = likelihood.precision
    theta = np.zeros((len(rows), len(precision))) if start is None else start.copy()

    def log_posterior(theta, rows):
        quadratic = np.einsum("nd,de,ne->n", theta, precision, theta)
        return likelihood.value(theta, rows) - 0.5 * quadratic

    value = log_posterior(theta, rows)
    active = np.arange(len(rows))
    for _ in range(_MAX_STEPS):
        here, at = theta[active], rows[active]
        gradient, information = likelihood.derivatives(here, at, expected=True)
        gradient -= here @ precision
        step = np.linalg.solve(information + precision, gradient[:, :, None])[:, :, 0]
        decrement = np.einsum("nd,nd->n", step, gradient)
        moved = _accept(here, step, value[active], lambda t, r=at: log_posterior(t, r))
        theta[active], value[active] = moved
        active = active[decrement > 1e-14]
        if not len(active):
            break
    return theta


def _accept(theta, step, value, function):
    """Halve the steps that lower the function, row by row."""
    scale = np.ones(len(theta))
    trial = theta + step
    new = function(trial)
    for _ in range(10):
        worse = ~(new >= value - 1e-12)
        if not worse.any():
            break
        scale[worse] /= 2.0
        trial = theta + scale[:, None] * step
        new = function(trial)
    worse = ~(new >= value - 1e-12)
    trial[worse], new[worse] = theta[worse], value[worse]
    return trial, new
