"""Item parameters and their uncertainty."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sklearn_mirt.models.item_models import ItemModel, get_item_model


@dataclass(frozen=True, eq=False)
class ItemParameters:
    """Parameters of an item response model, one row per item.

    In the logistic model, which is the default, a respondent with ability ``theta``
    answers item ``j`` right with probability

        P_j(theta) = g_j + (1 - g_j) * sigmoid(a_j . theta + d_j)

    Parameters
    ----------
    slopes : ndarray of shape (n_items, n_dims)
        a_j, in logits per prior standard deviation of ability; signed.
    intercepts : ndarray of shape (n_items,)
        d_j, in logits, for a respondent of average ability.
    guessing : ndarray of shape (n_items,)
        g_j, the floor of the probability, in [0, 1); zeros where there is none.
    covariances : ndarray of shape (n_items, n_dims + 1, n_dims + 1)
        Posterior covariance of (a_j, d_j), intercept last; zeros where the
        parameters are known.
    ids : ndarray of shape (n_items,)
        Item ids.
    model : str or ItemModel, default="2pl"
        How the answer depends on a_j . theta. "2pl" is the logistic model above; the
        Rasch, 1PL and 3PL models differ from it in how items are fitted only.
    extras : mapping from str to ndarray of shape (n_items, ...), default={}
        Further parameters of the item model: "ceiling" (n_items,) of "4pl";
        "thresholds" (n_items, n_categories - 2) of an ordinal model, the intercepts
        after the first.

    References
    ----------
    Reckase (2009), *Multidimensional Item Response Theory*, chapters 4 and 5.
    """

    slopes: np.ndarray
    intercepts: np.ndarray
    guessing: np.ndarray
    covariances: np.ndarray
    ids: np.ndarray
    model: str | ItemModel = "2pl"
    extras: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def item_model(self):
        """Return the item model, an :class:`ItemModel`."""
        return get_item_model(self.model)

    @property
    def n_items(self):
        """Return the number of items."""
        return self.slopes.shape[0]

    @property
    def n_dims(self):
        """Return the number of ability dimensions."""
        return self.slopes.shape[1]

    @property
    def mean(self):
        """Return (a_j, d_j) as one array of shape (n_items, n_dims + 1)."""
        return np.column_stack([self.slopes, self.intercepts])

    @property
    def mdisc(self):
        """Return multidimensional discrimination ``|a_j|`` (Reckase 2009, eq. 5.9)."""
        return np.linalg.norm(self.slopes, axis=1)

    @property
    def mdiff(self):
        """Return multidimensional difficulty ``-d_j / |a_j|`` (Reckase 2009, 5.10).

        NaN for an item whose slopes are all zero: it has no difficulty on any scale of
        ability.
        """
        mdisc = self.mdisc
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(mdisc > 0, -self.intercepts / mdisc, np.nan)

    def logit(self, abilities):
        """Return a_j . theta_i + d_j, shape (n_respondents, n_items), in logits."""
        return np.asarray(abilities) @ self.slopes.T + self.intercepts

    def probability(self, abilities):
        """Return P_j(theta_i) at point values, shape (n_respondents, n_items)."""
        return self.item_model.expected_score(self, self.logit(abilities))

    def take(self, index):
        """Return the parameters of the items at an index or mask."""
        return replace(
            self,
            slopes=self.slopes[index],
            intercepts=self.intercepts[index],
            guessing=self.guessing[index],
            covariances=self.covariances[index],
            ids=self.ids[index],
            extras={name: values[index] for name, values in self.extras.items()},
        )


def item_coordinates(M, center=None):
    """Return the change of (a_j, d_j) that keeps every logit as abilities change.

    Parameters
    ----------
    M : array of shape (n_dims, n_dims)
    center : array of shape (n_dims,), default=None
        The abilities change by theta = M theta' + center; None is zero.

    Returns
    -------
    carry : ndarray of shape (n_dims + 1, n_dims + 1)
        (a_j', d_j') = carry @ (a_j, d_j).
    """
    carry = np.eye(len(M) + 1)
    carry[:-1, :-1] = M.T
    if center is not None:
        carry[-1, :-1] = center
    return carry
