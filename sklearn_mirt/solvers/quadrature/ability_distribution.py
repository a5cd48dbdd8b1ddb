"""The normal distribution of abilities and its free parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

_COMPLEX_STEP = 1e-30


@dataclass(frozen=True, eq=False)
class LatentNormal:
    """Abilities ~ N(0, Sigma) with free variances, free correlations, or neither.

    Parameters
    ----------
    n_dims : int
    free_variances : bool
        Then the first ``n_dims`` parameters are log standard deviations.
    free_correlations : bool
        Then the following ``n_dims (n_dims - 1) / 2`` parameters are inverse hyperbolic
        tangents of canonical partial correlations, so that every value gives a proper
        covariance matrix (Joe 2006; Lewandowski, Kurowicka and Joe 2009, section 2).
    """

    n_dims: int
    free_variances: bool = False
    free_correlations: bool = False

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        pairs = self.n_dims * (self.n_dims - 1) // 2
        return self.n_dims * self.free_variances + pairs * self.free_correlations

    @property
    def names(self) -> list[str]:
        """Names of what `natural` returns."""
        d = range(1, self.n_dims + 1)
        out = [f"variance{i}" for i in d] if self.free_variances else []
        if self.free_correlations:
            kind = "covariance" if self.free_variances else "correlation"
            out += [f"{kind}{j}{i}" for i in d for j in d if j < i]
        return out

    def start(self) -> np.ndarray:
        """Return the parameters of variance 1 and modest positive correlations."""
        z = np.zeros(self.n_parameters)
        if self.free_correlations:
            z[self.n_dims * self.free_variances :] = 0.2
        return z

    def covariance(self, z: np.ndarray) -> np.ndarray:
        """Return Sigma (D, D); analytic in ``z``, so complex steps differentiate it."""
        scales, rest = np.ones(self.n_dims, dtype=z.dtype), z
        if self.free_variances:
            scales, rest = np.exp(z[: self.n_dims]), z[self.n_dims :]
        if not self.free_correlations:
            return np.diag(scales**2)
        partial, factor = np.tanh(rest), np.zeros((self.n_dims,) * 2, dtype=z.dtype)
        at = 0
        for i in range(self.n_dims):
            left = np.ones((), dtype=z.dtype)
            for j in range(i):
                factor[i, j] = partial[at] * np.sqrt(left)
                left = left * (1.0 - partial[at] ** 2)
                at += 1
            factor[i, i] = np.sqrt(left)
        factor = factor * scales[:, None]
        return factor @ factor.T

    def _derivatives(self, function, z):
        """Return d function / d z, parameters first, by complex steps."""
        if not len(z):
            return np.zeros((0, *np.shape(function(z))))
        out = []
        for i in range(len(z)):
            step = z.astype(complex)
            step[i] += 1j * _COMPLEX_STEP
            out.append(np.imag(function(step)) / _COMPLEX_STEP)
        return np.array(out)

    def precision(self, z: np.ndarray) -> np.ndarray:
        """Return the inverse of Sigma."""
        return np.linalg.inv(self.covariance(z))

    def log_density(self, z: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Return log N(theta; 0, Sigma) for theta (..., D)."""
        sigma = self.covariance(z)
        quadratic = np.einsum("...i,ij,...j->...", theta, np.linalg.inv(sigma), theta)
        log_det = np.linalg.slogdet(2.0 * np.pi * sigma)[1]
        return -0.5 * (quadratic + log_det)

    def log_weights(self, z, nodes, log_base):
        """Return normalised log weights of fixed nodes: log base + log density."""
        weights = log_base + self.log_density(z, nodes)
        return weights - logsumexp(weights)

    def gradient(self, z, posterior_moment, n_respondents, prior_moment):
        """Return the log-likelihood's gradient in ``z``.

        ``posterior_moment`` is the sum over respondents of E(theta theta'), and
        ``prior_moment`` is E(theta theta') under the (discrete) prior: the nodes'
        weights are normalised, hence an exponential family in the precision.
        """
        change = self._derivatives(self.precision, z)
        excess = posterior_moment - n_respondents * prior_moment
        return -0.5 * np.einsum("pij,ij->p", change, excess)

    def information(self, z: np.ndarray, n_respondents: float) -> np.ndarray:
        """Return the complete-data information in ``z``: n tr(P_p S P_q S) / 2."""
        sigma = self.covariance(z)
        moved = self._derivatives(self.precision, z) @ sigma
        return 0.5 * n_respondents * np.einsum("pij,qji->pq", moved, moved)

    def natural(self, z: np.ndarray) -> np.ndarray:
        """Return the free variances and correlations (or covariances)."""
        sigma = self.covariance(z)
        out = list(np.diag(sigma)) if self.free_variances else []
        if self.free_correlations:
            out += [sigma[i, j] for i in range(self.n_dims) for j in range(i)]
        return np.array(out)

    def natural_jacobian(self, z: np.ndarray) -> np.ndarray:
        """Return d natural / d z for the delta method."""
        return self._derivatives(self.natural, z).T.reshape(len(z), len(z))
