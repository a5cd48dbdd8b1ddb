"""What a solver is and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior

if TYPE_CHECKING:
    from sklearn_mirt.solvers.quadrature.fit_result import ExactFit
    from sklearn_mirt.solvers.variational.by_respondents import ShardedAbilities


@dataclass(frozen=True, eq=False)
class SolverResult:
    """Posteriors and the trace of a fit.

    Parameters
    ----------
    items : ItemParameters
    abilities : Abilities, or ShardedAbilities of a fit of shards
    prior : GroupPrior
        Learned prior of the items.
    trace : ndarray of shape (n_iter,)
        Objective after each pass: evidence lower bound or log-likelihood.
    converged : bool
    exact_fit : ExactFit, default=None
        The exact fit, in its own coordinates, before any rotation.
    determined : ndarray of shape (n_items,), default=None
        Whether the data determine all parameters of an item; None where all are.
    """

    items: ItemParameters
    abilities: Abilities | ShardedAbilities
    prior: GroupPrior
    trace: np.ndarray
    converged: bool
    exact_fit: ExactFit | None = None
    determined: np.ndarray | None = None

    @property
    def n_iter(self):
        """Return the number of passes."""
        return len(self.trace)


class Solver(ABC):
    """Fits items and abilities to responses; settings in the constructor only."""

    name: str

    @abstractmethod
    def solve(self, data, n_dims, design, *, start=None, callback=None):
        """Return the SolverResult of `data`.

        Parameters
        ----------
        data : ResponseData
        n_dims : int
        design : ItemDesign
        start : SolverResult, default=None
            Result to start from, of the same respondents, items and dimensions.
        callback : callable, default=None
            Called as ``callback(n_iter, objective)`` after each pass.
        """
