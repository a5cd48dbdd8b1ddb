"""What stays the same during a fit, whichever way its passes go."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_mirt.models.item_design import ItemDesign
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.solvers.base import Kernels


@dataclass(frozen=True, eq=False)
class Problem:
    """Counts of the answers, and how the fit is computed.

    Parameters
    ----------
    data : ResponseData or ShardedResponses
    design : ItemDesign
    item_weight, item_score : ndarrays of shape (n_items,)
        Weight, and weighted score, of the answers to each item.
    n_answered : int
        Number of respondents with answers.
    kernels : Kernels
    runner : Runner or ShardRunner
    dtype : dtype
        Type of the matrix products.
    """

    data: Any
    design: ItemDesign
    item_weight: np.ndarray
    item_score: np.ndarray
    n_answered: int
    kernels: Kernels
    runner: Any
    dtype: np.dtype

    @classmethod
    def of(cls, data, design, kernels, runner, dtype):
        """Return the problem of a ResponseData."""
        (item_weight, respondent_weight), (item_score, _) = data.sums()
        n_answered = int(np.count_nonzero(respondent_weight))
        answers = item_weight, item_score, n_answered
        return cls(data, design, *answers, kernels, runner, dtype)

    @cached_property
    def observed(self):
        """Whether each item has answers."""
        return self.item_weight > 0

    @cached_property
    def counts(self):
        """Number of observed items of each group."""
        groups = self.design.groups[self.observed]
        return np.bincount(groups, minlength=self.design.n_groups).astype(np.float64)

    @cached_property
    def n_answers(self):
        """Weight of all answers."""
        return self.item_weight.sum()

    @cached_property
    def floor(self):
        """Guessing floors on the device; None where there are none at all."""
        guessing = self.design.guessing
        return self.kernels.asarray(guessing) if np.any(guessing) else None

    def parameters(self, mean, covariances, prior):
        """Return the ItemParameters of means and covariances, which are overwritten.

        Items without answers are those of the prior.
        """
        unseen = ~self.observed
        groups = self.design.groups[unseen]
        mean[unseen], covariances[unseen] = (
            prior.means[groups],
            prior.covariances[groups],
        )
        return ItemParameters(
            mean[:, :-1].copy(),
            mean[:, -1].copy(),
            np.array(self.design.guessing, dtype=np.float64),
            covariances,
            self.data.items,
        )
