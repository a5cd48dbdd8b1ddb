"""Bifactor two-parameter logistic model by variational EM.

Every item belongs to one group (a benchmark). Its logit is::

    eta_ij = a_j . theta_i + c_j s_i,g(j) + d_j,        P(x_ij = 1) = sigmoid(eta_ij)

with ``theta_i`` the general abilities (``n_dims`` of them) and ``s_ig`` one ability per
group, all standard normal a priori. The logistic function is bounded by a Gaussian in
``eta`` (Jaakkola and Jordan 2000, eq. 4-7; the same bound follows from the Polya-Gamma
mixture of Polson, Scott and Windle 2013), so that the posteriors of abilities and items
are both Gaussian and every update is a matrix product around one elementwise function.
Item parameters have a Gaussian prior per group whose mean and covariance are learned.

The local vector of a cell is ``t = (theta, s_g, 1)`` (length ``K``) and the local
parameters of an item are ``beta = (a, c, d)``. With one group, or ``specific=False``,
``s`` and ``c`` are dropped. Scores may be fractions in [0, 1]; NaN cells are skipped.

References
----------
Jaakkola and Jordan (2000), Bayesian parameter estimation via variational methods,
Statistics and Computing 10, sections 2-3.
Gibbons and Hedeker (1992), Full-information item bi-factor analysis, Psychometrika 57.
Cho, Wang, Zhang and Xu (2021), Gaussian variational estimation for multidimensional
item response theory, BJMSP 74, section 3 (the same updates, point estimates for items).
"""

from dataclasses import dataclass, replace

import numpy as np

from sklearn_mirt.models.items import item_coordinates
from sklearn_mirt.models.packing import (
    congruence,
    moments_with_one,
    multiplicity,
    outer,
    pack,
    unpack,
)
from sklearn_mirt.solvers.base import Kernels
from sklearn_mirt.solvers.bifactor.model import BifactorModel, ability_posterior
from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.kernels.gaussian_solves import solve_gaussian

__all__ = ["fit_bifactor"]

_SPECIFIC_VARIANCE = 0.3
_INTERCEPT_VARIANCE = 4.0
_START_VARIANCE = 0.05
_JITTER = 1e-4
_MIN_DISPERSION = 0.05


@dataclass(eq=False)
class _Block:
    """Data and posterior of the items of one group; changed in place by the fit.

    Cells are laid out items x respondents; symmetric matrices are packed.
    """

    scores: np.ndarray  # -1 where there is no answer
    residual: np.ndarray  # score - 1/2, 0 where there is no answer
    columns: np.ndarray
    beta: np.ndarray
    covariances: np.ndarray
    prior_mean: np.ndarray
    prior_covariance: np.ndarray
    kernels: Kernels

    def contribution(self, mean, covariance):
        """Update the items, then return what the abilities need from them.

        Items are taken in tiles whose cells stay in the cache.

        Parameters
        ----------
        mean : ndarray of shape (n_respondents, n_latent)
        covariance : ndarray of shape (n_respondents, n_latent, n_latent)

        Returns
        -------
        columns : ndarray of int of shape (k,)
            Positions of the abilities that the items load on.
        precision : ndarray of shape (n_respondents, k, k)
            sum_j w_ij E[a_j a_j'], with a_j the slopes.
        shift : ndarray of shape (n_respondents, k)
            sum_j (x_ij - 1/2) E[a_j] - w_ij E[a_j d_j].
        """
        columns = self.columns
        local = covariance[:, columns[:, None], columns]
        t, packed = moments_with_one(mean[:, columns], pack(local))
        t = np.ascontiguousarray(t)  # a product's last digit depends on the layout
        prior_precision = np.linalg.inv(self.prior_covariance)
        prior = pack(prior_precision), prior_precision @ self.prior_mean
        precision = np.zeros(packed.shape)
        step = max(1, self.kernels.block_cells // len(packed))
        for start in range(0, len(self.beta), step):
            tile = slice(start, start + step)
            w = self._weights(tile, packed)
            linear = self.residual[tile] @ t + prior[1]
            self.beta[tile], self.covariances[tile], _ = solve_gaussian(
                w @ packed + prior[0], linear
            )
            precision += self._weights(tile, packed).T @ self.moments(tile)
        precision, shift = unpack(precision), self.residual.T @ self.beta
        return columns, precision[:, :-1, :-1], shift[:, :-1] - precision[:, :-1, -1]

    def moments(self, tile=slice(None)):
        """Packed second moments E[beta beta']."""
        return self.covariances[tile] + outer(self.beta[tile])

    def _weights(self, tile, packed):
        """Bound curvatures of the cells of some items, 0 where there is no answer."""
        square = (self.moments(tile) * multiplicity(self.beta.shape[1])) @ packed.T
        self.kernels.cell_terms(square, self.scores[tile], None, with_bound=False)
        return square

    def transform(self, matrix):
        """Replace beta by ``matrix @ beta``."""
        self.beta = self.beta @ matrix.T
        self.covariances = self.covariances @ congruence(matrix).T


def _start_abilities(responses, groups, n_groups, n_dims, specific):
    """Leading principal components of standardised answers, and group residuals."""
    n, j = responses.shape
    seen = ~np.isnan(responses)
    p = np.nansum(responses, axis=0) / np.maximum(seen.sum(axis=0), 1)
    scale = np.sqrt(np.maximum(p * (1.0 - p), 0.01))
    z = np.where(seen, responses - p, 0.0) / scale
    if n <= j:
        theta = np.linalg.eigh(z @ z.T)[1][:, ::-1][:, :n_dims] * np.sqrt(n)
    else:
        theta = z @ np.linalg.eigh(z.T @ z)[1][:, ::-1][:, :n_dims]
        theta = theta / np.maximum(theta.std(axis=0), 1e-6)
    if not specific:
        return theta
    design = np.hstack([theta, np.ones((n, 1))])
    means = np.stack([z[:, groups == g].mean(axis=1) for g in range(n_groups)], axis=1)
    rest = means - design @ np.linalg.lstsq(design, means, rcond=None)[0]
    return np.hstack([theta, rest / np.maximum(rest.std(axis=0), 1e-6)])


def _make_blocks(responses, groups, model):
    """Split the data by group and set vague starting priors."""
    size = model.n_dims + int(model.specific) + 1
    prior = np.eye(size)
    prior[-1, -1] = _INTERCEPT_VARIANCE
    if model.specific:
        prior[-2, -2] = _SPECIFIC_VARIANCE
    blocks, kernels = [], get_kernels()
    for g in range(model.n_groups):
        x = np.ascontiguousarray(responses[:, groups == g].T)
        seen = ~np.isnan(x)
        blocks.append(
            _Block(
                scores=np.where(seen, x, -1.0),
                residual=np.where(seen, x - 0.5, 0.0),
                columns=model.columns(g),
                beta=np.zeros((len(x), size)),
                covariances=np.tile(pack(0.5 * np.eye(size)), (len(x), 1)),
                prior_mean=np.zeros(size),
                prior_covariance=prior.copy(),
                kernels=kernels,
            )
        )
    return blocks


def _update_abilities(blocks, mean, covariance):
    """Update the items of every block, then all abilities."""
    contributions = (block.contribution(mean, covariance) for block in blocks)
    return ability_posterior(contributions, *mean.shape)


def _standardise(blocks, mean, covariance, n_dims):
    """Give the abilities mean 0 and unit variance, moving the change into the items.

    General abilities get covariance I; each specific one gets variance 1 and no
    correlation with the general ones (Cholesky factor of their joint covariance).
    Predicted logits do not change.
    """
    f = mean.shape[1]
    centre = mean.mean(axis=0)
    total = np.cov(mean.T, bias=True).reshape(f, f) + covariance.mean(axis=0)
    factor = np.eye(f)
    general = np.arange(n_dims)
    factor[:n_dims, :n_dims] = np.linalg.cholesky(total[:n_dims, :n_dims])
    for s in range(n_dims, f):
        local = np.append(general, s)
        factor[s, local] = np.linalg.cholesky(total[np.ix_(local, local)])[-1]
    inverse = np.linalg.inv(factor)
    for block in blocks:
        columns = block.columns
        scale = factor[np.ix_(columns, columns)]
        block.transform(item_coordinates(scale, centre[columns]))
    return (mean - centre) @ inverse.T, inverse @ covariance @ inverse.T


def _update_priors(blocks, weight):
    """Learn each group's item prior, shrunk to the pooled covariance."""
    scatters = []
    for block in blocks:
        block.prior_mean = block.beta.mean(axis=0)
        centre = np.outer(block.prior_mean, block.prior_mean)
        moment = unpack(block.moments().sum(axis=0))
        scatters.append(moment - len(block.beta) * centre)
    pooled = sum(scatters) / sum(len(block.beta) for block in blocks)
    for block, scatter in zip(blocks, scatters, strict=True):
        shrunk = (scatter + weight * pooled) / (len(block.beta) + weight)
        block.prior_covariance = shrunk + _JITTER * np.eye(len(shrunk))


def fit_bifactor(
    responses,
    groups,
    *,
    n_dims=2,
    specific=True,
    max_iter=60,
    tol=3e-4,
    prior_weight=20.0,
):
    """Fit the bifactor model of this module.

    Parameters
    ----------
    responses : ndarray of shape (n_respondents, n_items)
        Scores in [0, 1]; NaN where there is no answer. Every row and column needs at
        least one answer.
    groups : ndarray of int of shape (n_items,)
        Group numbers 0 to n_groups - 1, each used.
    n_dims : int, default=2
        Number of general abilities.
    specific : bool, default=True
        Give each group its own ability (ignored with one group).
    max_iter : int, default=60
    tol : float, default=3e-4
        Stop when item parameters change by less than this on average (logits).
    prior_weight : float, default=20
        Number of items that the pooled prior covariance counts for.

    Returns
    -------
    model : BifactorModel

    Raises
    ------
    ValueError
        If there are fewer respondents or items than general abilities.
    """
    n, j = responses.shape
    if n_dims > min(n, j):
        raise ValueError(
            f"n_dims={n_dims} general abilities need at least as many respondents and "
            f"items; got {n} respondents and {j} items. Lower n_dims."
        )
    n_groups = int(groups.max()) + 1
    specific = bool(specific) and n_groups > 1
    mean = _start_abilities(responses, groups, n_groups, n_dims, specific)
    covariance = np.tile(_START_VARIANCE * np.eye(mean.shape[1]), (n, 1, 1))
    k = n_dims + int(specific) + 1
    beta, spread = np.zeros((j, k)), np.zeros((j, k, k))
    model = BifactorModel(
        beta, spread, groups, n_groups, n_dims, specific, mean, covariance
    )
    blocks = _make_blocks(responses, groups, model)
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        old = [block.beta.copy() for block in blocks]
        mean, covariance = _update_abilities(blocks, mean, covariance)
        mean, covariance = _standardise(blocks, mean, covariance, n_dims)
        _update_priors(blocks, prior_weight)
        change = sum(
            np.abs(block.beta - before).sum()
            for block, before in zip(blocks, old, strict=True)
        )
        converged = change < tol * j * k
    for g, block in enumerate(blocks):
        model.beta[groups == g] = block.beta
        model.covariances[groups == g] = unpack(block.covariances)
    return replace(
        model,
        abilities=mean,
        ability_covariances=covariance,
        dispersion=_dispersion(responses, model.probability(mean, covariance)),
        n_iter=n_iter,
        converged=converged,
    )


def _dispersion(responses, probability):
    """1 - sum x (1 - x) / sum p (1 - p): the variance that fractions lack."""
    fraction = np.nansum(responses * (1.0 - responses))
    binomial = (probability * (1.0 - probability))[~np.isnan(responses)].sum()
    return float(np.clip(1.0 - fraction / max(binomial, 1e-12), _MIN_DISPERSION, 1.0))
