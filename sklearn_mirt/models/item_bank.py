"""The item bank: calibrated items, and what a later score needs beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior


@dataclass(frozen=True, eq=False)
class ItemBank:
    """Calibrated items with what is needed to score respondents on them.

    Parameters
    ----------
    items : ItemParameters
        Slopes, intercepts, guessing floors, posterior covariances and ids.
    groups : ndarray of shape (n_items,)
        Group of each item, as a place in `group_labels`.
    group_labels : ndarray of shape (n_groups,)
        Group labels.
    group_sizes : ndarray of shape (n_groups,)
        Number of items of each group in the fit.
    prior : GroupPrior
        Learned prior of (a_j, d_j), by group.
    ability_correlation : ndarray of shape (n_dims, n_dims)
        Covariance of ability in the population, whose mean is 0.
    rotation : str or None
        Rotation that the slopes are in.
    training : dict
        Where the numbers come from: package version, solver, settings, sizes, the
        lower bound; plain JSON values. Free to hold more.
    known : ndarray of shape (n_items,), default=None
        Whether the answers determined all parameters of the item: without, it has no
        standard errors. Default: all.
    """

    items: ItemParameters
    groups: np.ndarray
    group_labels: np.ndarray
    group_sizes: np.ndarray
    prior: GroupPrior
    ability_correlation: np.ndarray
    rotation: str | None = None
    training: dict = field(default_factory=dict)
    known: np.ndarray | None = None

    @property
    def determined(self):
        """Return whether the answers determined each item, shape (n_items,)."""
        if self.known is None:
            return np.ones(self.items.n_items, dtype=bool)
        return self.known

    @classmethod
    def from_items(cls, items, *, ability_correlation=None, training=None):
        """Build a bank of items from elsewhere: one group, a vague prior.

        Parameters
        ----------
        items : ItemParameters
        ability_correlation : ndarray of shape (n_dims, n_dims), default=None
            Default: the identity.
        training : dict, default=None

        Returns
        -------
        bank : ItemBank
        """
        n, d = items.slopes.shape
        return cls(
            items,
            np.zeros(n, dtype=np.int64),
            np.array(["all"], dtype=object),
            np.array([n]),
            GroupPrior.vague(1, d),
            np.eye(d) if ability_correlation is None else ability_correlation,
            None,
            dict(training or {}),
        )

    @classmethod
    def from_estimator(cls, estimator, *, training=None):
        """Build a bank from a fitted MIRTTransformer or MIRTClassifier.

        Parameters
        ----------
        estimator : fitted estimator
        training : dict, default=None
            More about the data (files, versions), added to what the fit knows.

        Returns
        -------
        bank : ItemBank
        """
        from sklearn_mirt._version import __version__

        place = {label: k for k, label in enumerate(estimator.groups_)}
        exact = getattr(estimator, "log_likelihoods_", None)
        bounds = estimator.lower_bounds_ if exact is None else exact
        about = {
            "sklearn_mirt": __version__,
            "estimator": type(estimator).__name__,
            "solver": estimator.solver_,
            "item_model": estimator.item_model,
            "q_matrix": estimator.q_matrix is not None,
            "positive_slopes": bool(estimator.positive_slopes),
            "n_respondents": len(estimator.respondents_),
            "n_iter": int(estimator.n_iter_),
            "converged": bool(estimator.converged_),
            "lower_bound": float(bounds[-1]) if len(bounds) else None,
            **({} if estimator.correlated else {"correlated": False}),
            **(training or {}),
        }
        return cls(
            estimator.item_parameters_,
            np.array([place[label] for label in estimator.item_groups_], dtype=int),
            estimator.groups_,
            np.asarray(estimator.group_sizes_),
            GroupPrior(estimator.item_prior_means_, estimator.item_prior_covariances_),
            estimator.ability_correlation_,
            None if estimator.positive_slopes else estimator.rotation,
            about,
            None if estimator.determined_.all() else estimator.determined_,
        )

    def take(self, index):
        """Return the bank of the items at `index` (an integer or boolean array)."""
        return replace(
            self,
            items=self.items.take(index),
            groups=self.groups[index],
            known=None if self.known is None else self.known[index],
        )
