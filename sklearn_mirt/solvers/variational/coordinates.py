"""The coordinates of a fit: abilities of mean 0 and average second moment I.

A pass leaves abilities theta with another mean and spread; they, the items and the
prior then change coordinates together, which keeps every logit (parameter expansion,
Liu, Rubin & Wu 1998, Biometrika 85).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_mirt.models import packing
from sklearn_mirt.models.items import item_coordinates
from sklearn_mirt.models.priors import GroupPrior


@dataclass(frozen=True, eq=False)
class Standardisation:
    """The change of coordinates theta = scale theta' + center.

    Parameters
    ----------
    scale : (D, D) array
        Lower triangular.
    center : (D,) array
    """

    scale: np.ndarray
    center: np.ndarray

    @classmethod
    def of(cls, spread, center, positive_slopes):
        """Return the change to mean 0 and covariance I from these of all abilities.

        Positive slopes ask for each dimension by itself: a mixture of them could turn
        signs, so only the variances become 1.
        """
        if positive_slopes:
            return cls(np.diag(np.sqrt(np.diagonal(spread))), center)
        return cls(np.linalg.cholesky(spread), center)

    @cached_property
    def inverse(self):
        """Inverse of the scale: theta' = inverse (theta - center)."""
        return np.linalg.inv(self.scale)

    @cached_property
    def carry(self):
        """Change of (a_j, d_j) that keeps every logit."""
        return item_coordinates(self.scale, self.center)

    @cached_property
    def stretch(self):
        """Log determinant of the scale, twice: what covariances of abilities lose."""
        return 2 * np.log(np.diagonal(self.scale)).sum()

    def carried_prior(self, prior, counts, moments, logdet, learn):
        """Return the prior in the new coordinates, and the items' divergence from it.

        Parameters
        ----------
        prior : GroupPrior
            Prior in the old coordinates.
        counts : ndarray of shape (n_groups,)
            Number of observed items.
        moments : tuple of ndarrays of shape (n_groups, K), (n_groups, L)
            Sums over items of E[beta] and packed E[beta beta'], in the old coordinates.
        logdet : float
            Sum of the log determinants of their covariances, in the old coordinates.
        learn : bool
            Whether the prior is estimated from the moments, or only carried along.
        """
        first = moments[0] @ self.carry.T
        second = moments[1] @ packing.congruence(self.carry).T
        if learn:
            prior = GroupPrior.from_moments(counts, first, second)
        else:
            prior = prior.carried(self.carry)
        logdet = logdet + counts.sum() * self.stretch
        return prior, prior.divergence(counts, first, second, logdet)
