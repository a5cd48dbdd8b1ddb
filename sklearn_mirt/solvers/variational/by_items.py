"""The variational fit whose passes go over blocks of items.

A pass updates items given abilities, block by block, then the abilities given the sums
of all blocks. For few respondents and many items.
"""

from dataclasses import dataclass, replace

import numpy as np

from sklearn_mirt.models import packing
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.priors import GroupPrior, ability_divergence
from sklearn_mirt.solvers.base import SolverResult
from sklearn_mirt.solvers.kernels.gaussian_solves import solve_gaussian
from sklearn_mirt.solvers.kernels.item_blocks import (
    AbilityTables,
    ItemState,
    ItemTask,
    change_coordinates,
    on_device,
    sum_for_abilities,
    sweep,
)
from sklearn_mirt.solvers.variational.coordinates import Standardisation
from sklearn_mirt.solvers.variational.problem import Problem
from sklearn_mirt.solvers.variational.start import cold_start, respondent_components

_CHUNK = 8192  # items at a time where temporaries would be large


@dataclass(frozen=True, eq=False)
class ItemFitState:
    """Everything that changes from pass to pass.

    The change of coordinates `carry` is still to be applied to the items. `mean` and
    `covariance`, packed, are those of the abilities. `divergence` is the part of the
    bound that needs no cells.
    """

    items: ItemState
    carry: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    prior: GroupPrior
    divergence: float = np.inf
    jumped: bool = False


class ItemFit:
    """One fit of a ResponseData by blocks of items; keeps the protocol `Fit`."""

    state: ItemFitState

    def __init__(self, problem: Problem):
        self.problem, self.n_answers = problem, problem.n_answers
        self.blocks = device_blocks(problem.data, problem.kernels)
        self.answered = problem.data.sums()[0][1] > 0
        self._groups = problem.kernels.asarray(problem.design.groups)
        self._observed = problem.kernels.asarray(problem.observed)

    # ------------------------------------------------------------------------- start

    def begin(self, n_dims, start=None):
        """Set the first state, from nothing or from an earlier result."""
        if start is None:
            self.state = cold_start(self, n_dims)
            return
        mean, abilities = start.items.mean, start.abilities
        second = packing.second_moments(mean, start.items.covariances)
        covariance = packing.pack(abilities.covariances)
        self.state = self._state(mean, second, abilities.mean, covariance, start.prior)

    def rasch_state(self, prior):
        """Return the state of equal abilities, in one dimension."""
        return self.first_state(np.zeros((len(self.answered), 1)), prior)

    def principal_components(self, n_dims, rates):
        """Return how abilities begin; `rates` is None or the mean scores of items."""
        if rates is None and self.blocks[0].weights is None:
            weight = np.maximum(self.problem.item_weight, 1)
            rates = self.problem.item_score / weight
        return respondent_components(
            self.blocks, n_dims, self.answered, rates, self.problem
        )

    def first_state(self, mean, prior):
        """Return the state before the first pass, of items that know no answer."""
        d, n_items = mean.shape[1], self.problem.data.n_items
        second = np.tile(packing.pack(0.5 * np.eye(d + 1)), (n_items, 1))
        covariance = np.tile(packing.pack(0.05 * np.eye(d)), (len(mean), 1))
        return self._state(np.zeros((n_items, d + 1)), second, mean, covariance, prior)

    def _state(self, item_mean, item_second, mean, covariance, prior):
        asarray = self.problem.kernels.asarray
        # second moments go into products of this type anyway; in float32 they halve
        # what a large fit keeps
        second = asarray(item_second, dtype=self.problem.dtype)
        items, carry = ItemState(asarray(item_mean), second), np.eye(item_mean.shape[1])
        return ItemFitState(items, carry, mean, covariance, prior)

    # ------------------------------------------------------------------------- passes

    def pass_(self, learn_prior):
        """Move to the next state; return the bound of the one before."""
        state, problem = self.state, self.problem
        items = state.items.empty_like()
        sums = self._map_reduce(sweep, state.items, items)
        identity = packing.pack(np.eye(state.mean.shape[1]))
        mean, covariance, logdet = update_abilities(sums, identity)
        change = self._standardisation(mean, covariance)
        mean = (mean - change.center) @ change.inverse.T
        covariance = covariance @ packing.congruence(change.inverse).T
        logdet = logdet - change.stretch
        silent = ~self.answered  # these stay at the prior
        mean[silent], logdet[silent] = 0.0, 0.0
        covariance[silent] = identity
        moments = sums.group_first, sums.group_second
        prior, divergence = change.carried_prior(
            state.prior, problem.counts, moments, sums.logdet, learn_prior
        )
        divergence += ability_divergence(mean, covariance, logdet)
        self.state = ItemFitState(
            items, change.carry, mean, covariance, prior, divergence
        )
        return sums.bound - state.divergence

    def evaluate(self):
        """Return the bound of the current state, whose items change coordinates."""
        self._settle_items()
        sums = self._map_reduce(sum_for_abilities, self.state.items)
        return sums.bound - self.state.divergence

    def _map_reduce(self, function, *items):
        kernels = self.problem.kernels
        sums = self.problem.runner.map_reduce(
            function, self.blocks, *items, self._task(), kernels
        )
        return sums.on_host(kernels)

    def _task(self):
        state, problem = self.state, self.problem
        abilities, moved = AbilityTables.of(
            state.mean, state.covariance, state.carry, problem.kernels, problem.dtype
        )
        precision, linear = map(problem.kernels.asarray, state.prior.canonical())
        return ItemTask(
            abilities,
            moved,
            state.carry,
            problem.floor,
            precision,
            linear,
            self._groups,
            self._observed,
            problem.design.positive_slopes,
        )

    def _settle_items(self):
        """Apply the change of coordinates that the items still lack."""
        state, identity = self.state, np.eye(len(self.state.carry))
        if not np.array_equal(state.carry, identity):
            items = change_coordinates(state.items, state.carry, self.problem.kernels)
            self.state = replace(state, items=items, carry=identity)

    def _standardisation(self, mean, covariance):
        """Return the change to mean 0 and second moment I over who answered."""
        mean, covariance = mean[self.answered], covariance[self.answered]
        center = mean.mean(0)
        delta = mean - center
        spread = delta.T @ delta / len(mean) + packing.unpack(covariance.mean(0))
        return Standardisation.of(spread, center, self.problem.design.positive_slopes)

    # ------------------------------------------------------------------------- result

    def items(self):
        """Return the ItemParameters of the current state."""
        self._settle_items()
        state, to_host = self.state, self.problem.kernels.to_host
        mean = to_host(state.items.mean).copy()
        covariances = _covariances(mean, to_host(state.items.second))
        return self.problem.parameters(mean, covariances, state.prior)

    def result(self, trace, converged):
        """Return the current state as a SolverResult."""
        items, state = self.items(), self.state
        covariances = packing.unpack(state.covariance)
        prior_covariance = np.eye(state.mean.shape[1])
        abilities = Abilities(
            state.mean, covariances, prior_covariance, self.problem.data.respondents
        )
        return SolverResult(items, abilities, state.prior, np.array(trace), converged)


def device_blocks(data, kernels):
    """Return the blocks of items of a ResponseData, on the device of the kernels."""
    blocks = data.blocks(kernels.block_cells, kernels.least_blocks)
    return [on_device(block, kernels) for block in blocks]


def update_abilities(sums, prior_precision):
    """Return the posterior of abilities of mean 0 given the sums over items.

    Parameters
    ----------
    sums : PassSums
    prior_precision : ndarray of shape (L,)
        Packed.

    Returns
    -------
    mean, covariance, logdet : ndarrays of shape (N, D), (N, L), (N,)
        The covariances packed, and their log determinants.
    """
    n_packed = len(prior_precision)
    d = packing.size(n_packed)
    precision = sums.moment[:, :n_packed] + prior_precision
    linear = sums.linear[:, :d] - sums.moment[:, n_packed:-1]
    return solve_gaussian(precision, linear)


def _covariances(mean, second):
    """Return full covariances (n, k, k) of means and packed second moments."""
    n, k = mean.shape
    out = np.empty((n, k, k))
    for start in range(0, n, _CHUNK):  # without large temporaries
        here = slice(start, start + _CHUNK)
        out[here] = packing.unpack(second[here] - packing.outer(mean[here]))
    return out
