"""Gaussian priors: one per item group, learned; standard normal for abilities."""

from dataclasses import dataclass

import numpy as np

from sklearn_mirt.models import packing

SHRINKAGE = 20.0  # pseudo-items of the pooled covariance in that of a group
_RIDGE = 1e-4


@dataclass(frozen=True, eq=False)
class GroupPrior:
    """beta_j = (a_j, d_j) ~ N(mean_g, covariance_g) for the items j of group g.

    Parameters
    ----------
    means : ndarray of shape (n_groups, n_dims + 1)
        Prior means of slopes and intercept, intercept last.
    covariances : ndarray of shape (n_groups, n_dims + 1, n_dims + 1)
        Prior covariances.
    """

    means: np.ndarray
    covariances: np.ndarray

    @classmethod
    def vague(cls, n_groups, n_dims):
        """Return the prior to start from: slopes N(0, 1), intercepts N(0, 2^2)."""
        covariance = np.diag([1.0] * n_dims + [4.0])
        return cls(
            np.zeros((n_groups, n_dims + 1)), np.tile(covariance, (n_groups, 1, 1))
        )

    @classmethod
    def equal_slopes(cls, n_groups):
        """Return a prior of one dimension: slopes all but 1, intercepts N(0, 2^2)."""
        covariance = np.diag([1e-6, 4.0])
        return cls(
            np.tile([1.0, 0.0], (n_groups, 1)), np.tile(covariance, (n_groups, 1, 1))
        )

    @classmethod
    def from_moments(cls, counts, first, second):
        """Return the empirical-Bayes update from moments summed over items.

        The mean is that of the group; the covariance that of the group shrunk to the
        pooled one, which counts as `SHRINKAGE` items. A group without answered items
        gets the moments of all items.

        Parameters
        ----------
        counts : ndarray of shape (n_groups,)
            Number of items.
        first, second : ndarrays of shape (n_groups, K), (n_groups, L)
            Sums of E[beta] and of packed E[beta beta'].
        """
        filled = np.maximum(counts, 1)[:, None]
        total = max(counts.sum(), 1)
        means = np.where(counts[:, None] > 0, first / filled, first.sum(0) / total)
        scatter = packing.unpack(second)
        scatter -= counts[:, None, None] * means[:, :, None] * means[:, None, :]
        pooled = scatter.sum(0) / total
        weight = (counts + SHRINKAGE)[:, None, None]
        covariances = (scatter + SHRINKAGE * pooled) / weight
        return cls(means, covariances + _RIDGE * np.eye(first.shape[1]))

    def canonical(self):
        """Return packed precisions (G, L) and precision times mean (G, K)."""
        precision = np.linalg.inv(self.covariances)
        linear = np.einsum("gpq,gq->gp", precision, self.means)
        return packing.pack(precision), linear

    def carried(self, carry):
        """Return the prior of the items carry @ beta."""
        return GroupPrior(self.means @ carry.T, carry @ self.covariances @ carry.T)

    def divergence(self, counts, first, second, logdet):
        """Return the sum over items of KL(posterior || prior).

        Moments as in :meth:`from_moments`; `logdet` is the sum of the log determinants
        of the posterior covariances.
        """
        precision, linear = self.canonical()
        doubled = packing.multiplicity(first.shape[1])
        quadratic = (precision * doubled * second).sum() - 2 * (linear * first).sum()
        quadratic += (counts * (linear * self.means).sum(1)).sum()
        logdets = np.linalg.slogdet(self.covariances)[1]
        n_entries = counts.sum() * first.shape[1]
        return 0.5 * (quadratic - n_entries + (counts * logdets).sum() - logdet)

    def pooled(self, counts):
        """Return mean and covariance of an item of unknown group."""
        share = counts / counts.sum() if counts.sum() else np.full(len(counts), 1.0)
        share = share / share.sum()
        mean = share @ self.means
        delta = self.means - mean
        spread = np.einsum("g,gp,gq->pq", share, delta, delta)
        return mean, np.einsum("g,gpq->pq", share, self.covariances) + spread


def ability_divergence(mean, covariance, logdet):
    """Return the sum of KL(N(mean, covariance) || N(0, I)); covariances packed."""
    n, d = mean.shape
    diagonal = np.flatnonzero(packing.multiplicity(d) == 1)
    return 0.5 * (
        covariance[:, diagonal].sum() + (mean**2).sum() - n * d - logdet.sum()
    )
