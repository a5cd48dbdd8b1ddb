"""What an item response model is, and what all of them share.

A model says how the log-probability of each category depends on *local*
parameters: the common part ``t = a . theta`` and a few *extras* (intercepts, guessing
...). The base class lifts local derivatives to derivatives in the slopes. A new
model is one more class with `extra_names`, `log_probabilities`, `first` and `second`.

A fit works with the parameters that it estimates; prediction, information and scoring
ask about calibrated items (``ItemParameters``) by `expected_score` and
`predictor_information`.

Conventions: parameters of an item are ``(a_1 .. a_D, extra_1 .. extra_m)``; arrays run
over (items, categories, local parameters, nodes); logits throughout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

_N_NODES = 21  # of an average over a Gaussian logit


@dataclass(frozen=True)
class NormalPrior:
    """Normal prior on one parameter, on the logit scale it is estimated on."""

    mean: float
    sd: float


class ItemModel(ABC):
    """A family of item response functions.

    Attributes
    ----------
    name : str
    dichotomous : bool
        Whether the model is for two categories; then fractional scores in [0, 1] count
        as ``y log P + (1 - y) log(1 - P)``.
    common_slope, unit_slope : bool
        Whether the slopes of all items are equal (1PL), or fixed at 1 with a free
        variance of ability (Rasch).
    """

    name = ""
    dichotomous = True
    common_slope = False
    unit_slope = False

    def n_extras(self, n_categories: int) -> int:
        """Return the number of parameters beside the slopes."""
        return len(self.extra_names(n_categories))

    @abstractmethod
    def extra_names(self, n_categories: int) -> list[str]:
        """Return the names of the reported parameters beside the slopes."""

    @abstractmethod
    def log_probabilities(self, t: np.ndarray, extras: np.ndarray) -> np.ndarray:
        """Return log P_k, shape (J, K, Q), at ``t = a . theta`` of shape (J, Q)."""

    @abstractmethod
    def first(self, t: np.ndarray, extras: np.ndarray) -> np.ndarray:
        """Return d log P_k / d(t, extras), shape (J, K, 1 + m, Q)."""

    @abstractmethod
    def second(self, t: np.ndarray, extras: np.ndarray) -> np.ndarray:
        """Return second derivatives of log P_k, shape (J, K, 1 + m, 1 + m, Q)."""

    @abstractmethod
    def start_extras(self, shares: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return starting extras (J, m) from category shares (J, K).

        ``scale`` (J,) is sqrt(1 + |a|^2 / 2.89): it turns marginal logits into
        intercepts under a standard normal ability.
        """

    def extra_priors(self, n_categories: int) -> list[NormalPrior | None]:
        """Return the prior of each extra; None where there is none."""
        return [None] * self.n_extras(n_categories)

    def natural(self, extras: np.ndarray) -> np.ndarray:
        """Return the reported extras (J, m), e.g. guessing instead of its logit."""
        return extras

    def natural_jacobian(self, extras: np.ndarray) -> np.ndarray:
        """Return d natural / d extras, shape (J, m, m), for the delta method."""
        n_items, n_extras = extras.shape
        return np.broadcast_to(np.eye(n_extras), (n_items, n_extras, n_extras))

    def from_natural(self, natural: np.ndarray) -> np.ndarray:
        """Return the extras of reported values: the inverse of `natural`."""
        return natural

    # --- lifted to the full parameters of an item, shared by all models -----------

    def tables(self, params: np.ndarray, nodes: np.ndarray):
        """Return log P (J, K, Q) and its local first derivatives (J, K, L, Q)."""
        t, extras = self._split(params, nodes)
        return self.log_probabilities(t, extras), self.first(t, extras)

    def log_table(self, params: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Return log P (J, K, Q) at nodes (Q, D)."""
        return self.log_probabilities(*self._split(params, nodes))

    def gradient(self, first: np.ndarray, nodes: np.ndarray, counts: np.ndarray):
        """Return sum_kq counts d log P / d params, shape (J, P)."""
        local = np.einsum("jklq,jkq->jlq", first, counts)
        return np.concatenate([local[:, 0] @ nodes, local[:, 1:].sum(2)], axis=1)

    def information(self, log_p, first, nodes, totals) -> np.ndarray:
        """Return the expected information (J, P, P) of ``totals`` (J, Q) answers."""
        weighted = first * (np.exp(log_p) * totals[:, None, :])[:, :, None, :]
        local = np.einsum("jklq,jkmq->jlmq", weighted, first)
        return lift(local, nodes)

    def hessian(self, params, nodes, counts) -> np.ndarray:
        """Return sum_kq counts d2 log P / d params d params', shape (J, P, P)."""
        second = self.second(*self._split(params, nodes))
        return lift(np.einsum("jklmq,jkq->jlmq", second, counts), nodes)

    def _split(self, params: np.ndarray, nodes: np.ndarray):
        n_dims = nodes.shape[1]
        return params[:, :n_dims] @ nodes.T, params[:, n_dims:]

    # --- asked about calibrated items ---------------------------------------------

    def expected_score(self, items, logit, variance=0.0):
        """Return expected scores in [0, 1], averaged over a Gaussian logit.

        Parameters
        ----------
        items : ItemParameters
            One per column of `logit`.
        logit : ndarray of shape (..., n_items)
            Mean of a . theta + d, d the (first) intercept.
        variance : float or ndarray of shape (..., n_items), default=0.0
            Its variance.

        Notes
        -----
        A category k of K counts as the score k / (K - 1). The average is taken over
        Gauss-Hermite nodes.
        """
        nodes, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
        spread = np.sqrt(variance)
        return sum(
            weight * self._score_at(items, logit + node * spread)
            for node, weight in zip(nodes, weights / weights.sum(), strict=True)
        )

    def predictor_information(self, items, abilities):
        """Return Fisher's information on a . theta, shape (n_abilities, n_items).

        Parameters
        ----------
        items : ItemParameters
        abilities : ndarray of shape (n_abilities, n_dims)
        """
        t, extras = items.slopes @ np.transpose(abilities), self.calibrated(items)
        p = np.exp(self.log_probabilities(t, extras))
        return np.einsum("jkq,jkq->qj", p, self.first(t, extras)[:, :, 0] ** 2)

    @abstractmethod
    def calibrated(self, items) -> np.ndarray:
        """Return the estimated extras (J, m) of calibrated items."""

    def _score_at(self, items, logit):
        t = (np.atleast_2d(logit) - items.intercepts).T
        p = np.exp(self.log_probabilities(t, self.calibrated(items)))
        scores = np.linspace(0.0, 1.0, p.shape[1])
        return np.einsum("jkq,k->qj", p, scores).reshape(np.shape(logit))


def lift(local: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Sum local matrices (J, L, L, Q) over nodes into (J, P, P) with P = D + L - 1."""
    n_dims = nodes.shape[1]
    n_items, n_local = local.shape[:2]
    size = n_dims + n_local - 1
    out = np.empty((n_items, size, size))
    outer = (nodes[:, :, None] * nodes[:, None, :]).reshape(len(nodes), -1)
    out[:, :n_dims, :n_dims] = (local[:, 0, 0] @ outer).reshape(-1, n_dims, n_dims)
    cross = local[:, 0, 1:] @ nodes
    out[:, n_dims:, :n_dims] = cross
    out[:, :n_dims, n_dims:] = cross.transpose(0, 2, 1)
    out[:, n_dims:, n_dims:] = local[:, 1:, 1:].sum(3)
    return out


def positive(x: np.ndarray) -> np.ndarray:
    """Guard a division: probabilities below the smallest float count as that."""
    return np.maximum(x, np.finfo(float).tiny)
