"""The variational fit whose passes go over shards of respondents.

The model and the bound are those of by_items.py; a pass takes the half steps in the
other order and moves nothing of the size of the respondents. Each shard updates its
abilities given the items and returns sums of the size of the items
(kernels/respondent_blocks.py); from these the items are updated here, in one place. The
change to abilities of mean 0 and average second moment I needs two more small sums, and
is applied to the shards in their next pass.

Shards are files or cells in memory. Large tables in memory with more respondents than
items are fitted this way too: these sums are smaller than those that go the other way,
nothing of the size of the respondents is left to one thread, and on real tables the
bound settles in as many passes or fewer.
"""

from dataclasses import dataclass, replace

import numpy as np

from sklearn_mirt.models import packing
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.solvers.base import AbilityShards, SolverResult
from sklearn_mirt.solvers.kernels.item_blocks import ItemState, ItemTask
from sklearn_mirt.solvers.kernels.respondent_blocks import (
    AbilityState,
    ShardTask,
    StartTask,
    start_respondents,
    sum_for_items,
    sweep_respondents,
)
from sklearn_mirt.solvers.variational.coordinates import Standardisation
from sklearn_mirt.solvers.variational.problem import Problem
from sklearn_mirt.solvers.variational.start import cold_start, item_components


@dataclass(frozen=True, eq=False)
class RespondentFitState:
    """Everything that changes from pass to pass; the abilities are with their shards.

    `abilities` holds one state, or reference to one, for each shard; the change of
    coordinates `inverse` (theta - `center`) is still to be applied to them. `mean` and
    `covariance`, packed, are those of the items.
    """

    abilities: list
    inverse: np.ndarray
    center: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    prior: GroupPrior
    divergence: float = np.inf
    jumped: bool = False


class RespondentFit:
    """One fit by shards of respondents; keeps the protocol `Fit`.

    Parameters
    ----------
    problem : Problem
        Its runner is a ShardRunner.
    shards : list of ShardFile, DenseCells or SparseCells
        Cells with respondents along the first axis, or files of them.
    """

    state: RespondentFitState

    def __init__(self, problem: Problem, shards):
        self.problem, self.n_answers = problem, problem.n_answers
        self.shards = problem.runner.persist(shards)

    # ------------------------------------------------------------------------- start

    def begin(self, n_dims, start=None):
        """Set the first state, from nothing or from an earlier result of shards."""
        if start is None:
            self.state = cold_start(self, n_dims)
            return
        abilities, items = start.abilities, start.items
        self.state = RespondentFitState(
            abilities.states,
            abilities.inverse,
            abilities.center,
            items.mean,
            packing.pack(items.covariances),
            start.prior,
        )

    def rasch_state(self, prior):
        """Return the state of equal abilities, in one dimension."""
        rates = np.zeros(self.problem.data.n_items, self.problem.dtype)
        start = StartTask(rates, rates, rates[:, None], variance=1.0)
        return self.first_state(start, prior, learn_prior=False)

    def principal_components(self, n_dims, rates):
        """Return how abilities begin; `rates` is None or the mean scores of items."""
        if rates is None:
            weight = np.maximum(self.problem.item_weight, 1e-300)
            rates = self.problem.item_score / weight
        return item_components(self.shards, n_dims, rates, self.problem)

    def first_state(self, start, prior, learn_prior=True):
        """Return the state of abilities that begin as a StartTask says."""
        d, n_items = start.vectors.shape[1], self.problem.data.n_items
        state = RespondentFitState(
            [None] * len(self.shards),
            np.eye(d),
            np.zeros(d),
            np.zeros((n_items, d + 1)),
            np.tile(packing.pack(0.5 * np.eye(d + 1)), (n_items, 1)),
            prior,
        )
        abilities, sums = self._sweep(start_respondents, state, start)
        return self._updated(state, abilities, sums, learn_prior)

    # ------------------------------------------------------------------------- passes

    def pass_(self, learn_prior):
        """Move to the next state; return the bound of the one before."""
        state = self.state
        abilities, sums = self._sweep(sweep_respondents, state)
        self.state = self._updated(state, abilities, sums, learn_prior)
        return sums.bound - state.divergence

    def evaluate(self):
        """Return the bound of the current state."""
        _, sums = self._sweep(sum_for_items, self.state)
        return sums.bound - self.state.divergence

    def _sweep(self, function, state, *start):
        problem = self.problem
        task = ShardTask(
            state.mean,
            state.covariance,
            state.inverse,
            state.center,
            problem.floor,
            problem.dtype,
        )
        return problem.runner.sweep(
            function, self.shards, state.abilities, *start, task, problem.kernels
        )

    def _updated(self, state, abilities, sums, learn_prior):
        """Return the state with the items updated given new abilities."""
        items, *moments, logdet = self._update_items(state.prior, sums)
        covariance = items.second - packing.outer(items.mean)
        change = self._standardisation(sums)
        prior, divergence = change.carried_prior(
            state.prior, self.problem.counts, moments, logdet, learn_prior
        )
        # abilities of mean 0 and average second moment I: of their divergence from
        # the prior only the log determinants are left
        divergence -= 0.5 * (sums.logdet - change.stretch * self.problem.n_answered)
        return RespondentFitState(
            abilities,
            change.inverse,
            change.center,
            items.mean @ change.carry.T,
            covariance @ packing.congruence(change.carry).T,
            prior,
            divergence,
        )

    def _update_items(self, prior, sums):
        """Return the items, their sums by group and of log determinants."""
        precision, linear = prior.canonical()
        task = ItemTask(
            prior_precision=precision,
            prior_linear=linear,
            groups=self.problem.design.groups,
            observed=self.problem.observed,
            nonnegative=self.problem.design.positive_slopes,
        )
        items = ItemState(np.empty_like(sums.linear), np.empty_like(sums.moment))
        everything = slice(0, len(sums.linear))
        return items, *self.problem.kernels.update_items(
            sums.moment, sums.linear, task, everything, items
        )

    def _standardisation(self, sums):
        """Return the change to mean 0 and second moment I over who answered."""
        second = packing.unpack(sums.group_second) / self.problem.n_answered
        center = second[-1, :-1].copy()
        spread = second[:-1, :-1] - np.outer(center, center)
        return Standardisation.of(spread, center, self.problem.design.positive_slopes)

    # ------------------------------------------------------------------------- result

    def items(self):
        """Return the ItemParameters of the current state."""
        mean, covariance = self.state.mean, self.state.covariance
        return self.problem.parameters(
            mean.copy(), packing.unpack(covariance), self.state.prior
        )

    def result(self, trace, converged):
        """Return the current state as a SolverResult; abilities stay where they are."""
        state = self.state
        prior_covariance = np.eye(len(state.center))
        abilities = AbilityShards(
            state.abilities, state.inverse, state.center, prior_covariance
        )
        trace = np.array(trace)
        return SolverResult(self.items(), abilities, state.prior, trace, converged)


class TableFit(RespondentFit):
    """The fit of a ResponseData by runs of its respondents, joined in the result."""

    def __init__(self, problem: Problem):
        size = problem.kernels.block_cells, problem.kernels.least_blocks
        super().__init__(problem, problem.data.respondent_runs(*size))

    def begin(self, n_dims, start=None):
        """Set the first state, from nothing or from an earlier result."""
        if start is not None:
            start = replace(start, abilities=self._split(start.abilities))
        super().begin(n_dims, start)

    def _split(self, abilities):
        ends = np.cumsum([len(shard.answered()) for shard in self.shards])[:-1]
        means = np.split(abilities.mean, ends)
        covariances = np.split(packing.pack(abilities.covariances), ends)
        states = list(map(AbilityState, means, covariances))
        d, prior = abilities.mean.shape[1], abilities.prior_covariance
        return AbilityShards(states, np.eye(d), np.zeros(d), prior)

    def result(self, trace, converged):
        """Return the current state as a SolverResult."""
        result = super().result(trace, converged)
        return replace(result, abilities=self._joined(result.abilities))

    def _joined(self, abilities):
        """Return the Abilities of all respondents; the silent ones at the prior."""
        inverse, center = abilities.inverse, abilities.center
        parts = [state.moved(inverse, center) for state in abilities.states]
        mean = np.concatenate([part.mean for part in parts])
        covariance = np.concatenate([part.covariance for part in parts])
        data, prior = self.problem.data, abilities.prior_covariance
        silent = data.sums()[0][1] == 0
        mean[silent], covariance[silent] = 0.0, packing.pack(prior)
        return Abilities(mean, packing.unpack(covariance), prior, data.respondents)
