"""What a solver is, what it returns, and the contracts between its parts.

A solver prepares a `Fit`, whose passes compute functions of one block (kernels/) over
all blocks by a `Runner`; inside them a device's `Kernels` do the arithmetic. The
contracts are kept by tests/solvers/test_contracts.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior

if TYPE_CHECKING:
    from sklearn_mirt.solvers.quadrature.fit_result import ExactFit


@dataclass(frozen=True, eq=False)
class AbilityShards:
    """Abilities that stay with their shards.

    Parameters
    ----------
    states : list
        One AbilityState, or a runner's reference to one, for each shard.
    inverse, center : (D, D) and (D,) arrays
        Change of coordinates that is still to be applied: inverse (theta - center).
    prior_covariance : (D, D) array
    """

    states: list
    inverse: np.ndarray
    center: np.ndarray
    prior_covariance: np.ndarray


@dataclass(frozen=True, eq=False)
class SolverResult:
    """Posteriors and the trace of a fit.

    Parameters
    ----------
    items : ItemParameters
    abilities : Abilities, or AbilityShards of a fit of shards
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
    abilities: Abilities | AbilityShards
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


class FitState(Protocol):
    """Everything that changes from pass to pass; immutable.

    `mean` and `prior` are what the acceleration extrapolates. `jumped` is True for an
    extrapolated state, whose bound is not known until the pass after the next.
    """

    mean: np.ndarray
    prior: GroupPrior
    divergence: float
    jumped: bool


class Fit(Protocol):
    """A fit that the loop (variational/loop.py) drives up to its summit.

    `n_answers` is the weight of all answers: tolerances are for each of them.
    """

    state: Any
    n_answers: float

    def pass_(self, learn_prior: bool) -> float:
        """Move to the next state; return the bound of the one before."""

    def evaluate(self) -> float:
        """Return the bound of the current state, which stays."""


class Runner(Protocol):
    """Computes a function of one block over all blocks.

    The order of the sum depends on the blocks only: results have the same bytes for any
    number of threads, processes or workers.
    """

    def running(self) -> AbstractContextManager:
        """Hold threads, or watch the cluster, for the computations inside."""

    def map_reduce(self, function: Callable, blocks: list, *shared) -> Any:
        """Return the sum of function(block, *shared), in the order of the blocks."""


class ShardRunner(Runner, Protocol):
    """Also keeps a state with each block.

    `bytes_sent` and `bytes_received` count what moved between processes.
    """

    bytes_sent: int
    bytes_received: int

    def persist(self, blocks: list) -> list:
        """Return references to the blocks, loaded where they are to be computed."""

    def sweep(
        self, function: Callable, blocks: list, states: list, *shared
    ) -> tuple[list, Any]:
        """Return new states of the blocks, and a sum over blocks.

        ``function(block, state, *shared)`` returns the new state and what is summed, in
        the order of `map_reduce`.
        """

    def store(self, states: list, folder) -> list:
        """Write the states to a folder; return their StateFile each."""


class Kernels(Protocol):
    """The arithmetic on one block, for one device.

    `xp` is the array namespace. A block has about `block_cells` cells, and there are at
    least `least_blocks` of them where that leaves them large enough. Cells are those of
    a dense block (items, respondents), or the observed ones of a sparse block, whose
    `offsets` say where each item's begin and `respondents` whose they are.
    """

    xp: Any
    block_cells: int
    least_blocks: int

    def space(self, name, shape, dtype):
        """Return memory for one block, kept under a name."""

    def asarray(self, array, dtype=None):
        """Return the array on the device."""

    def to_host(self, array):
        """Return the array, or number, on the host."""

    def cell_terms(self, square, scores, weights, with_bound=True):
        """Turn E[eta^2] into Polya-Gamma weights; return their part of the bound."""

    def centred_scores(self, scores, weights, out):
        """Write w (y - 1/2), 0 where missing, to `out` and return it."""

    def standardised(self, scores, rate, inverse, out):
        """Write (score - rate) times inverse of each cell, 0 where missing."""

    def knowing_scores(self, logit, scores, weights, floor, out, with_bound=True):
        """Share right answers with guessing; return their part of the bound."""

    def update_items(self, precision, linear, task, here, items):
        """Update the items of a block; return their sums by group."""

    def fuses(self, cells):
        """Return whether `plain_item_sums` and `plain_ability_sums` take these cells.

        They compute a half pass in one compiled call; kernels that always return False
        need not have them.
        """

    def gather_square(self, items2, abilities2, offsets, respondents):
        """Return items . respondents of the cells of a sparse block."""

    def item_of_cells(self, offsets, n_cells):
        """Return the item of each cell of a sparse block."""

    def sum_by_item(self, cells, table, offsets, respondents):
        """Return sum over the cells of each item of cell times row of `table`."""

    def sum_by_respondent(self, cells, table, offsets, respondents, n_respondents):
        """Return sum over the cells of each respondent of cell times item row."""
