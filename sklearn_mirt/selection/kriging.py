"""Greedy choice of items by kriging: what each item would tell about the targets.

The equations are those of ``sklearn_mirt.selection.strategies.KrigingStrategy``.
"""

import numpy as np

from sklearn_mirt.solvers.kernels.compiling import jit

__all__ = ["KrigingState"]

_MIN_ITEM_VARIANCE = 1e-9


class KrigingState:
    """Running covariances of the items with the targets, as items are observed.

    Parameters
    ----------
    surrogate : LinearSurrogate
    targets : ndarray of shape (n_items, n_targets)
    weights : ndarray of shape (n_targets,)
        Weights of the targets' variances, relative to the prior ones.
    """

    def __init__(self, surrogate, targets, weights):
        keep = weights > 0
        targets = targets[:, keep]
        prior = surrogate.target_variance(targets)
        self.weights = weights[keep] / np.maximum(prior, 1e-12)
        self.loadings = surrogate.loadings
        self.noise = surrogate.noise
        self.cross = np.ascontiguousarray(surrogate.covariance_with(targets))
        self.variance = (self.loadings**2).sum(axis=1) + self.noise
        self.posterior = np.eye(self.loadings.shape[1])
        self.gain = (self.cross**2 @ self.weights) / self.variance

    def gains(self):
        """Return what every item would take off the criterion now."""
        return self.gain

    def add(self, item):
        """Condition everything on the answer to ``item``."""
        u = self.posterior @ self.loadings[item]
        covariance = self.loadings @ u
        covariance[item] += self.noise[item]
        own = covariance[item]
        scaled = self.cross[item] / own
        state = self.cross, self.variance, self.gain
        _condition(covariance, scaled, own, self.weights, *state)
        self.posterior -= np.outer(u, u / own)


@jit
def _condition(covariance, scaled, own, weights, cross, variance, gain):
    """Update covariances with the targets, variances and gains in one pass."""
    for j in range(len(gain)):
        c, total = covariance[j], 0.0
        for t in range(len(weights)):
            q = cross[j, t] - c * scaled[t]
            cross[j, t] = q
            total += weights[t] * q * q
        v = max(variance[j] - c * c / own, _MIN_ITEM_VARIANCE)
        variance[j] = v
        gain[j] = total / v
