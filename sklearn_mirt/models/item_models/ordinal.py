"""Item models of ordered categories: graded response and partial credit.

References
----------
Samejima (1969), Psychometrika Monograph 17 (graded response). Muraki (1992), Applied
Psychological Measurement 16, 159-176 (generalized partial credit).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, logit, logsumexp

from sklearn_mirt.models.item_models.base import ItemModel, positive


class OrdinalModel(ItemModel):
    """A model of ordered categories, with an intercept for each above the lowest."""

    dichotomous = False

    def extra_names(self, n_categories):
        """Return the names of the reported extras."""
        return [f"intercept{k}" for k in range(1, n_categories)]

    def calibrated(self, items):
        """Return the estimated extras (J, m) of calibrated items.

        The first intercept is ``items.intercepts``, the others are
        ``items.extras["thresholds"]``.
        """
        thresholds = items.extras["thresholds"]
        return self.from_natural(np.column_stack([items.intercepts, thresholds]))


class GradedResponse(OrdinalModel):
    """Graded response: P(y >= k) = sigmoid(a . theta + d_k), d_1 > d_2 > ...

    Estimated as ``d_1`` and the logarithms of the falls ``d_k - d_{k+1}``, so that the
    order cannot break.
    """

    name = "graded"

    def natural(self, extras):
        """Return the reported extras (J, m)."""
        falls = np.concatenate([np.zeros((len(extras), 1)), np.exp(extras[:, 1:])], 1)
        return extras[:, :1] - np.cumsum(falls, axis=1)

    def from_natural(self, natural):
        """Return the extras of reported values."""
        falls = -np.diff(natural, axis=1)
        return np.concatenate([natural[:, :1], np.log(falls)], axis=1)

    def natural_jacobian(self, extras):
        """Return d natural / d extras (J, m, m)."""
        n_extras = extras.shape[1]
        out = np.tril(np.ones((n_extras, n_extras))) * np.exp(extras)[:, None, :] * -1.0
        out[:, :, 0] = 1.0
        return out

    def log_probabilities(self, t, extras):
        """Return log P_k (J, K, Q)."""
        eta = t[:, None, :] + self.natural(extras)[:, :, None]
        first = log_expit(-eta[:, :1])
        last = log_expit(eta[:, -1:])
        # P(y = k) = s(x) - s(y) = s(x) s(-y) (1 - exp(y - x)), x > y: no cancellation
        fall = np.exp(extras[:, 1:])[:, :, None]
        middle = (
            log_expit(eta[:, :-1])
            + log_expit(-eta[:, 1:])
            + np.log(positive(-np.expm1(-fall)))
        )
        return np.concatenate([first, middle, last], axis=1)

    def _cumulative(self, t, extras):
        """Return derivative ratios of log P_k in its two boundaries.

        ``up`` is s'(d_k) / P_k and ``down`` is s'(d_{k+1}) / P_k, both (J, K, Q), zero
        at the open ends; with the boundaries' own curvature factors 1 - 2 s.
        """
        log_p = self.log_probabilities(t, extras)
        eta = t[:, None, :] + self.natural(extras)[:, :, None]
        log_slope = log_expit(eta) + log_expit(-eta)
        zeros = np.zeros_like(log_p[:, :1])
        up = np.concatenate([zeros, np.exp(log_slope - log_p[:, 1:])], axis=1)
        down = np.concatenate([np.exp(log_slope - log_p[:, :-1]), zeros], axis=1)
        curve = expit(-eta) - expit(eta)
        return up, down, curve

    def _boundary_first(self, up, down):
        """Return d log P_k / d(t, d_1 .. d_m), shape (J, K, 1 + m, Q)."""
        n_items, n_categories, n_nodes = up.shape
        out = np.zeros((n_items, n_categories, n_categories, n_nodes))
        out[:, :, 0] = up - down
        for k in range(n_categories):
            if k > 0:
                out[:, k, k] = up[:, k]
            if k < n_categories - 1:
                out[:, k, k + 1] = -down[:, k]
        return out

    def first(self, t, extras):
        """Return first derivatives (J, K, 1 + m, Q)."""
        up, down, _ = self._cumulative(t, extras)
        return self._chain(self._boundary_first(up, down), extras)

    def _chain(self, boundary, extras):
        out = boundary.copy()
        jacobian = self.natural_jacobian(extras)
        out[:, :, 1:] = np.einsum("jklq,jlm->jkmq", boundary[:, :, 1:], jacobian)
        return out

    def second(self, t, extras):
        """Return second derivatives (J, K, 1 + m, 1 + m, Q)."""
        up, down, curve = self._cumulative(t, extras)
        first = self._boundary_first(up, down)
        n_items, n_categories, n_nodes = up.shape
        # d2 log P = d2 P / P - (d log P)(d log P)'; P depends on t only through
        # t + d_k and t + d_{k+1}, each with its own curvature
        pure = np.zeros((n_items, n_categories, n_categories, n_categories, n_nodes))
        for k in range(n_categories):
            for boundary, sign in ((k, 1.0), (k + 1, -1.0)):
                if not 1 <= boundary <= n_categories - 1:
                    continue
                ratio = up[:, k] if sign > 0 else down[:, k]
                value = sign * ratio * curve[:, boundary - 1]
                pure[:, k, 0, 0] += value
                pure[:, k, 0, boundary] += value
                pure[:, k, boundary, 0] += value
                pure[:, k, boundary, boundary] += value
        pure -= first[:, :, :, None] * first[:, :, None, :]
        return self._chain_second(pure, first, extras)

    def _chain_second(self, second, first, extras):
        n_extras = extras.shape[1]
        jacobian = np.zeros((len(extras), n_extras + 1, n_extras + 1))
        jacobian[:, 0, 0] = 1.0
        jacobian[:, 1:, 1:] = self.natural_jacobian(extras)
        out = np.einsum("jla,jklmq,jmb->jkabq", jacobian, second, jacobian)
        # d2 d_k / d extra_m^2 = -exp(extra_m) for k >= m >= 2
        falls = np.exp(extras)
        for m in range(1, n_extras):
            below = first[:, :, 1 + m :].sum(2)
            out[:, :, 1 + m, 1 + m] -= falls[:, None, None, m] * below
        return out

    def start_extras(self, shares, scale):
        """Return starting extras (J, m)."""
        above = np.clip(1.0 - np.cumsum(shares, axis=1)[:, :-1], 0.005, 0.995)
        natural = logit(above) * scale[:, None]
        for k in range(1, natural.shape[1]):
            natural[:, k] = np.minimum(natural[:, k], natural[:, k - 1] - 0.05)
        return self.from_natural(natural)


class GeneralizedPartialCredit(OrdinalModel):
    """Generalized partial credit: P_k ~ exp(k a . theta + d_k), d_0 = 0."""

    name = "gpcm"

    def log_probabilities(self, t, extras):
        """Return log P_k (J, K, Q)."""
        n_categories = extras.shape[1] + 1
        scores = np.arange(n_categories)[None, :, None]
        logits = scores * t[:, None, :]
        logits[:, 1:] += extras[:, :, None]
        return logits - logsumexp(logits, axis=1, keepdims=True)

    def _features(self, n_categories):
        """Return d logits_k / d(t, extras): (K, 1 + m)."""
        out = np.zeros((n_categories, n_categories))
        out[:, 0] = np.arange(n_categories)
        out[1:, 1:] = np.eye(n_categories - 1)
        return out

    def first(self, t, extras):
        """Return first derivatives (J, K, 1 + m, Q)."""
        p = np.exp(self.log_probabilities(t, extras))
        features = self._features(p.shape[1])
        mean = np.einsum("kl,jkq->jlq", features, p)
        return features[None, :, :, None] - mean[:, None]

    def second(self, t, extras):
        """Return second derivatives (J, K, 1 + m, 1 + m, Q)."""
        p = np.exp(self.log_probabilities(t, extras))
        centred = self.first(t, extras)
        covariance = np.einsum("jklq,jkmq,jkq->jlmq", centred, centred, p)
        n_items, n_local, _, n_nodes = covariance.shape
        shape = (n_items, p.shape[1], n_local, n_local, n_nodes)
        return np.broadcast_to(-covariance[:, None], shape)

    def start_extras(self, shares, scale):
        """Return starting extras (J, m)."""
        shares = np.clip(shares, 0.005, None)
        return np.log(shares[:, 1:] / shares[:, :1])
