"""Posterior of a bifactor model: probabilities, and folding in new respondents.

The model and the notation are those of ``sklearn_mirt.solvers.bifactor.fit``.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["BifactorModel", "ability_posterior", "jaakkola_weight"]


def jaakkola_weight(square):
    """Return tanh(c / 2) / (2 c), the curvature of the bound at c = sqrt(square)."""
    c = np.sqrt(square + 1e-12)
    # tanh(c / 2) = (1 - exp(-c)) / (1 + exp(-c)); exp is twice as fast as tanh.
    decay = np.exp(-c)
    return (1.0 - decay) / ((1.0 + decay) * (2.0 * c))


def ability_posterior(contributions, n_respondents, n_latent):
    """Return means and covariances of the abilities, prior N(0, I).

    Parameters
    ----------
    contributions : iterable of tuple
        Of each group: its abilities' positions, and the precision (n_respondents, k, k)
        and shift (n_respondents, k) that its answers give them.
    n_respondents, n_latent : int

    Returns
    -------
    mean : ndarray of shape (n_respondents, n_latent)
    covariance : ndarray of shape (n_respondents, n_latent, n_latent)
    """
    precision = np.tile(np.eye(n_latent), (n_respondents, 1, 1))
    shift = np.zeros((n_respondents, n_latent))
    for columns, information, linear in contributions:
        precision[:, columns[:, None], columns] += information
        shift[:, columns] += linear
    covariance = np.linalg.inv(precision)
    return np.einsum("npq,nq->np", covariance, shift), covariance


def _with_one(abilities):
    """Local vectors t = (theta, s_g, 1), one row per respondent."""
    local = np.ones((len(abilities), abilities.shape[1] + 1))
    local[:, :-1] = abilities
    return local


def _products(vectors):
    """Products v v' of each row, (n, K) to (n, K K)."""
    return (vectors[:, :, None] * vectors[:, None, :]).reshape(len(vectors), -1)


@dataclass(frozen=True, eq=False)
class BifactorModel:
    """Posterior of a bifactor model.

    Attributes
    ----------
    beta : ndarray of shape (n_items, K)
        Posterior means: general slopes, specific slope (if any), intercept. Logits per
        prior standard deviation of the ability; logits.
    covariances : ndarray of shape (n_items, K, K)
        Posterior covariances of ``beta``.
    groups : ndarray of shape (n_items,)
        Group number of every item, 0 to ``n_groups - 1``.
    n_groups, n_dims : int
    specific : bool
        Whether every group has its own ability.
    abilities : ndarray of shape (n_respondents, n_latent)
        Posterior means of (theta, s_1, ..., s_G).
    ability_covariances : ndarray of shape (n_respondents, n_latent, n_latent)
    dispersion : float
        Variance of the scores around their probabilities, relative to that of binary
        ones: 1 for binary scores, less for fractions. Used when folding in.
    n_iter : int
    converged : bool
    """

    beta: np.ndarray
    covariances: np.ndarray
    groups: np.ndarray
    n_groups: int
    n_dims: int
    specific: bool
    abilities: np.ndarray
    ability_covariances: np.ndarray
    dispersion: float = 1.0
    n_iter: int = 0
    converged: bool = False

    @property
    def n_latent(self):
        """Number of abilities, general and specific together."""
        return self.n_dims + self.specific * self.n_groups

    @property
    def intercepts(self):
        """Intercepts d_j of the items, in logits."""
        return self.beta[:, -1]

    @property
    def slopes(self):
        """General slopes a_j, shape (n_items, n_dims)."""
        return self.beta[:, : self.n_dims]

    def columns(self, group):
        """Positions of the abilities that the items of ``group`` load on."""
        general = np.arange(self.n_dims)
        return np.append(general, self.n_dims + group) if self.specific else general

    def items(self, group):
        """Positions of the items of ``group``."""
        return np.flatnonzero(self.groups == group)

    def dense_slopes(self):
        """Slopes on all abilities, shape (n_items, n_latent), zero where not loaded."""
        dense = np.zeros((len(self.beta), self.n_latent))
        dense[:, : self.n_dims] = self.slopes
        if self.specific:
            rows = np.arange(len(self.beta))
            dense[rows, self.n_dims + self.groups] = self.beta[:, self.n_dims]
        return dense

    def probability(self, mean, covariance):
        """Return marginal probabilities of all items.

        ``sigmoid(m / sqrt(1 + pi v / 8))`` with ``m`` and ``v`` the mean and variance
        of the logit, from the abilities and the item parameters (MacKay 1992, eq. 10).

        Parameters
        ----------
        mean : ndarray of shape (n_respondents, n_latent)
        covariance : ndarray of shape (n_respondents, n_latent, n_latent)

        Returns
        -------
        probability : ndarray of shape (n_respondents, n_items)
        """
        out = np.empty((len(mean), len(self.beta)))
        for g in range(self.n_groups):
            items, columns = self.items(g), self.columns(g)
            beta, t = self.beta[items], _with_one(mean[:, columns])
            local = covariance[:, columns[:, None], columns].reshape(len(mean), -1)
            v = _products(t) @ self.covariances[items].reshape(len(items), -1).T
            v += local @ _products(beta[:, :-1]).T
            out[:, items] = _sigmoid(t @ beta.T / np.sqrt(1.0 + np.pi * v / 8.0))
        return out

    def fold_in(self, answers, *, max_iter=25, tol=1e-3):
        """Return the posterior of the abilities of new respondents, items fixed.

        The uncertainty of the item parameters counts as noise: an item whose logit has
        variance ``u`` from its parameters gets weight ``1 / (phi / w + u)`` instead of
        ``w``, ``phi`` being the dispersion of fractional scores (a quasi-likelihood:
        McCullagh and Nelder 1989, chapter 9). Each row is iterated until it converges,
        whatever the others do.

        Parameters
        ----------
        answers : ndarray of shape (n_respondents, n_items)
            Scores in [0, 1], NaN where there is no answer.
        max_iter : int, default=25
        tol : float, default=1e-3
            A row stops when its abilities move by less (prior standard deviations).

        Returns
        -------
        mean : ndarray of shape (n_respondents, n_latent)
        covariance : ndarray of shape (n_respondents, n_latent, n_latent)
        """
        mean = np.zeros((len(answers), self.n_latent))
        covariance = np.tile(np.eye(self.n_latent), (len(answers), 1, 1))
        parts = [
            _FoldPart.of(self, group, answers)
            for group in range(self.n_groups)
            if not np.isnan(answers[:, self.items(group)]).all()
        ]
        active = np.arange(len(answers))
        for _ in range(max_iter):
            before = active, mean[active], covariance[active]
            new, covariance[active] = ability_posterior(
                (part.contribution(*before) for part in parts),
                len(active),
                self.n_latent,
            )
            change = np.abs(new - mean[active]).max(axis=1, initial=0.0)
            mean[active] = new
            active = active[change > tol]
            if not len(active):
                break
        return mean, covariance


def _sigmoid(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


@dataclass(frozen=True, eq=False)
class _FoldPart:
    """What folding in needs of the asked items of one group."""

    columns: np.ndarray
    beta: np.ndarray
    second: np.ndarray
    uncertainty: np.ndarray
    seen: np.ndarray | None
    residual: np.ndarray
    dispersion: float

    @classmethod
    def of(cls, model, group, answers):
        items = model.items(group)
        items = items[~np.isnan(answers[:, items]).all(axis=0)]
        beta, y = model.beta[items], answers[:, items]
        slopes, seen = beta[:, :-1], ~np.isnan(y)
        return cls(
            model.columns(group),
            beta,
            _products(slopes),
            model.covariances[items].reshape(len(items), -1),
            None if seen.all() else seen,
            np.where(seen, y - 0.5, 0.0),
            model.dispersion,
        )

    def contribution(self, rows, mean, covariance):
        """Return what the answers of ``rows`` say; see ``ability_posterior``."""
        n, k = len(rows), len(self.columns)
        t = _with_one(mean[:, self.columns])
        local = covariance[:, self.columns[:, None], self.columns].reshape(n, -1)
        u = _products(t) @ self.uncertainty.T
        w = jaakkola_weight((t @ self.beta.T) ** 2 + local @ self.second.T)
        shrink = 1.0 / (self.dispersion + w * u)
        weight = w * shrink
        if self.seen is not None:
            weight *= self.seen[rows]
        working = self.residual[rows] * shrink - weight * self.beta[:, -1]
        precision = (weight @ self.second).reshape(n, k, k)
        return self.columns, precision, working @ self.beta[:, :-1]
