"""Item models of right and wrong answers: Rasch, 1PL, 2PL, 3PL, 4PL.

References
----------
Barton and Lord (1981), ETS RR-81-20 (four parameters).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, logit

from sklearn_mirt.models.item_models.base import ItemModel, NormalPrior, positive

# on the logit: medians 0.2 and 0.95
GUESSING_PRIOR = NormalPrior(-1.386, 1.0)
CEILING_PRIOR = NormalPrior(2.944, 1.0)


class Logistic(ItemModel):
    """P = g + (u - g) sigmoid(a . theta + d) of calibrated items, in closed form.

    The floor g is ``items.guessing``, the ceiling u ``items.extras["ceiling"]``, or 1.
    """

    def expected_score(self, items, logit, variance=0.0):
        """Return expected scores, averaged over a Gaussian logit.

        With a logit of mean m and variance v, E[sigmoid] is close to
        sigmoid(m / sqrt(1 + pi v / 8)) (MacKay 1992, "The evidence framework applied
        to classification networks", eq. 5).
        """
        floor, range_ = items.guessing, self._ceiling(items) - items.guessing
        return floor + range_ * expit(logit / np.sqrt(1 + np.pi * variance / 8))

    def predictor_information(self, items, abilities):
        """Return Fisher's information on a . theta, shape (n_abilities, n_items).

        (P - g)^2 (u - P)^2 / ((u - g)^2 P (1 - P)), which is
        (P - g)^2 (1 - P) / ((1 - g)^2 P) without a ceiling (Reckase 2009, eq. 5.13).
        """
        p, g, u = items.probability(abilities), items.guessing, self._ceiling(items)
        fall = 1 - p
        if "ceiling" in items.extras:
            fall = (u - p) ** 2 / np.maximum(1 - p, 1e-12)
        return (p - g) ** 2 * fall / ((u - g) ** 2 * np.maximum(p, 1e-12))

    def _ceiling(self, items):
        return items.extras.get("ceiling", 1.0)


class TwoPL(Logistic):
    """Two-parameter logistic: logit P = a . theta + d."""

    name = "2pl"

    def extra_names(self, n_categories):
        """Return the names of the reported extras."""
        return ["intercept"]

    def calibrated(self, items):
        """Return the estimated extras (J, 1) of calibrated items without a floor."""
        return items.intercepts[:, None]

    def log_probabilities(self, t, extras):
        """Return log P_k (J, K, Q)."""
        eta = t + extras
        return np.stack([log_expit(-eta), log_expit(eta)], axis=1)

    def first(self, t, extras):
        """Return first derivatives (J, K, 1 + m, Q)."""
        p = expit(t + extras)
        one = np.stack([-p, 1.0 - p], axis=1)
        return np.repeat(one[:, :, None, :], 2, axis=2)

    def second(self, t, extras):
        """Return second derivatives (J, K, 1 + m, 1 + m, Q)."""
        p = expit(t + extras)
        v = -p * (1.0 - p)
        return np.broadcast_to(v[:, None, None, None, :], (len(v), 2, 2, 2, v.shape[1]))

    def start_extras(self, shares, scale):
        """Return starting extras (J, m)."""
        return (logit(np.clip(shares[:, 1], 0.01, 0.99)) * scale)[:, None]


class Rasch(TwoPL):
    """Rasch model: slopes 1, free variance of ability."""

    name = "rasch"
    unit_slope = True


class OnePL(TwoPL):
    """One-parameter logistic: one common slope, ability variance 1."""

    name = "1pl"
    common_slope = True


class FourPL(Logistic):
    """Four-parameter logistic: P = g + (u - g) sigmoid(a . theta + d).

    Guessing ``g`` and ceiling ``u`` are estimated as logits under normal priors (None
    for maximum likelihood). The defaults put 95% of g in (0.03, 0.64), the median at
    0.2, and 95% of u in (0.73, 0.99), the median at 0.95.
    """

    name = "4pl"
    has_upper = True

    def __init__(
        self,
        *,
        guessing_prior: NormalPrior | None = GUESSING_PRIOR,
        ceiling_prior: NormalPrior | None = CEILING_PRIOR,
    ):
        self.guessing_prior = guessing_prior
        self.ceiling_prior = ceiling_prior

    def extra_names(self, n_categories):
        """Return the names of the reported extras."""
        return ["intercept", "guessing", "ceiling"][: 2 + self.has_upper]

    def extra_priors(self, n_categories):
        """Return the prior of each extra."""
        return [None, self.guessing_prior, self.ceiling_prior][: self.n_extras(2)]

    def _pieces(self, t, extras):
        """Return sigmoid, its complement, g, u, 1 - u, P and 1 - P."""
        eta = t + extras[:, :1]
        s, r = expit(eta), expit(-eta)
        g = expit(extras[:, 1:2])
        upper = extras[:, 2:3] if self.has_upper else np.full_like(g, np.inf)
        u, not_u = expit(upper), expit(-upper)
        p = g * r + u * s
        return s, r, g, u, not_u, p, not_u * s + (1.0 - g) * r

    def _derivatives(self, s, r, g, u, not_u):
        dp = [(u - g) * s * r, g * (1.0 - g) * r, u * not_u * s]
        d2p = {
            (0, 0): dp[0] * (r - s),
            (1, 1): dp[1] * (1.0 - 2.0 * g),
            (2, 2): dp[2] * (1.0 - 2.0 * u),
            (0, 1): -g * (1.0 - g) * s * r,
            (0, 2): u * not_u * s * r,
            (1, 2): np.zeros_like(s),
        }
        return dp, d2p

    def log_probabilities(self, t, extras):
        """Return log P_k (J, K, Q)."""
        *_, p, q = self._pieces(t, extras)
        tiny = np.finfo(float).tiny
        return np.log(np.maximum(np.stack([q, p], axis=1), tiny))

    def _local(self, d):
        """Local index of each derivative: t and d share the first."""
        return [d[0], *d[: self.n_extras(2)]]

    def first(self, t, extras):
        """Return first derivatives (J, K, 1 + m, Q)."""
        s, r, g, u, not_u, p, q = self._pieces(t, extras)
        dp = self._local(self._derivatives(s, r, g, u, not_u)[0])
        p, q = positive(p), positive(q)
        return np.stack([np.stack([-d / q for d in dp], axis=1),
                         np.stack([d / p for d in dp], axis=1)], axis=1)  # fmt: skip

    def second(self, t, extras):
        """Return second derivatives (J, K, 1 + m, 1 + m, Q)."""
        s, r, g, u, not_u, p, q = self._pieces(t, extras)
        dp, d2p = self._derivatives(s, r, g, u, not_u)
        p, q = positive(p), positive(q)
        index = [0, *range(self.n_extras(2))]
        size = len(index)
        out = np.empty((len(p), 2, size, size, p.shape[1]))
        for a, i in enumerate(index):
            for b, j in enumerate(index):
                second = d2p[min(i, j), max(i, j)]
                out[:, 1, a, b] = second / p - (dp[i] / p) * (dp[j] / p)
                out[:, 0, a, b] = -second / q - (dp[i] / q) * (dp[j] / q)
        return out

    def start_extras(self, shares, scale):
        """Return starting extras (J, m)."""
        share = np.clip((shares[:, 1] - 0.1) / 0.85, 0.02, 0.98)
        columns = [logit(share) * scale, np.full(len(share), logit(0.1))]
        if self.has_upper:
            columns.append(np.full(len(share), logit(0.97)))
        return np.stack(columns, axis=1)

    def calibrated(self, items):
        """Return the estimated extras (J, m) of calibrated items."""
        ceiling = np.broadcast_to(self._ceiling(items), items.n_items)
        natural = np.column_stack([items.intercepts, items.guessing, ceiling])
        return self.from_natural(natural[:, : self.n_extras(2)])

    def natural(self, extras):
        """Return the reported extras (J, m)."""
        return np.concatenate([extras[:, :1], expit(extras[:, 1:])], axis=1)

    def natural_jacobian(self, extras):
        """Return d natural / d extras (J, m, m)."""
        p = expit(extras[:, 1:])
        diagonal = np.concatenate([np.ones((len(p), 1)), p * (1.0 - p)], axis=1)
        return diagonal[:, :, None] * np.eye(diagonal.shape[1])

    def from_natural(self, natural):
        """Return the extras of reported values."""
        return np.concatenate([natural[:, :1], logit(natural[:, 1:])], axis=1)


class ThreePL(FourPL):
    """Three-parameter logistic: P = g + (1 - g) sigmoid(a . theta + d)."""

    name = "3pl"
    has_upper = False

    def __init__(self, *, guessing_prior: NormalPrior | None = GUESSING_PRIOR):
        super().__init__(guessing_prior=guessing_prior, ceiling_prior=None)
