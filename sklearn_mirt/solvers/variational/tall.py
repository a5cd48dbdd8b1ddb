"""The variational fit of a large table in memory with more respondents than items.

It lies on its side, as shards do: a pass updates runs of respondents given the items
and adds up what the items need. These sums are smaller than those that go the other way
and nothing of the size of the respondents is left to one thread; on real tables the
bound settles in as many passes or fewer.
"""

from dataclasses import replace

import numpy as np

from sklearn_mirt.models import packing
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.solvers.kernels.respondent_blocks import AbilityState
from sklearn_mirt.solvers.variational.by_respondents import ShardedAbilities, ShardedFit


class _Table:
    """A ResponseData in the form of a ShardedResponses."""

    def __init__(self, data, *size):
        self.items, self.n_items = data.items, data.n_items
        self.respondents, self.n_respondents = data.respondents, data.n_respondents
        self.n_observed = data.n_observed
        (self.item_weight, respondent_weight), (self.item_score, _) = data.sums()
        self.answered = respondent_weight > 0
        self.n_answered = int(self.answered.sum())
        self.shards = data.respondent_runs(*size)


class TallFit(ShardedFit):
    """One fit of a ResponseData by runs of respondents."""

    def __init__(self, data, n_dims, design, kernels, runner, dtype):
        table = _Table(data, kernels.block_cells, kernels.least_blocks)
        super().__init__(table, n_dims, design, kernels, runner, dtype)

    def _warm_start(self, start):
        abilities, d = start.abilities, self.n_dims
        states, first = [], 0
        for shard in self.shards:
            here = slice(first, first + len(shard.answered()))
            mean, covariances = abilities.mean[here], abilities.covariances[here]
            states.append(AbilityState(mean, packing.pack(covariances)))
            first = here.stop
        prior = abilities.prior_covariance
        sharded = ShardedAbilities(states, np.eye(d), np.zeros(d), prior)
        return super()._warm_start(replace(start, abilities=sharded))

    def _abilities(self):
        state, data = self.state, self.data
        parts = [part.moved(state.inverse, state.center) for part in state.abilities]
        mean, covariance = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("mean", "covariance")
        )
        silent = ~data.answered
        mean[silent] = 0.0
        covariance[silent] = packing.pack(np.eye(self.n_dims))
        return Abilities(
            mean, packing.unpack(covariance), np.eye(self.n_dims), data.respondents
        )
