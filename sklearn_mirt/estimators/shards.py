"""Answers in shards, as the fit of the estimators takes them."""

from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_mirt.data.files.atomic import ScratchFolder
from sklearn_mirt.data.shards.workers import current_client
from sklearn_mirt.estimators.sharded_abilities import Finish, ShardedAbilities
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.solvers.runners.streaming import StreamingRunner

# settings that shards are fitted with
_ALLOWED = {
    "solver": ("auto", "variational"),
    "item_model": ("2pl",),
    "q_matrix": (None,),
    "device": ("cpu",),
}


class InShards:
    """A ShardedResponses to fit; abilities stay with their shards.

    Shards are fitted over the current Dask client, or else in this process, where the
    abilities of shards that are not being worked on are files too.

    Parameters
    ----------
    data : ShardedResponses
    """

    def __init__(self, data):
        self.data = data
        # set by `solver` and by `keep`, for the steps after them
        self._runner: Any = None
        self._abilities: Any = None

    @property
    def item_weight(self):
        """Return the total weight of the answers to each item."""
        return self.data.item_weight

    def check(self, estimator):
        """Raise ValueError for settings that shards are not fitted with."""
        for name, values in _ALLOWED.items():
            value = getattr(estimator, name)
            if not any(
                value is w or (isinstance(value, str) and value == w) for w in values
            ):
                raise ValueError(
                    f"Answers in shards are not fitted with {name}={value!r}"
                )
        if estimator.n_dims == "auto":
            raise ValueError(
                "Answers in shards need a number for n_dims; run choose_dimensions on "
                "a sample of the respondents first"
            )
        n_answered = self.data.n_answered
        if n_answered < estimator.n_dims:
            raise ValueError(
                f"n_dims={estimator.n_dims} dimensions need at least as many "
                f"respondents, got {n_answered} with answers"
            )

    def silent(self):
        """Return one text each for the respondents and the items without answers."""
        data = self.data
        counts = (
            (data.n_respondents - data.n_answered, "respondent"),
            (int(np.count_nonzero(data.item_weight == 0)), "item"),
        )
        return [f"{n} {noun}(s) without answers" for n, noun in counts if n]

    def number_of_dimensions(self, estimator):
        """Return `n_dims`."""
        return estimator.n_dims

    def solver(self, estimator, n_dims):
        """Return the solver, over the current Dask client or in this process."""
        from sklearn_mirt.solvers.variational.shards import ShardedSolver

        self._runner = self._make_runner(estimator, n_dims)
        return ShardedSolver(
            self._runner,
            estimator.max_iter,
            estimator.tol,
            estimator.dtype,
            estimator.checkpoint_dir,
            estimator.warm_start,
        )

    def _make_runner(self, estimator, n_dims):
        client = current_client()
        if client is None:
            runner = StreamingRunner(estimator.n_jobs, self.data.folder)
            runner.n_jobs = min(runner.n_jobs, most_threads(self.data, n_dims))
            return runner
        from sklearn_mirt.solvers.runners.dask_cluster import DaskRunner

        return DaskRunner(client)

    def start(self, estimator, n_dims, design):
        """Return None: a fit of shards is resumed from its checkpoint."""

    def keep(self, estimator, result):
        """Return the result to rotate, without the abilities, which stay in shards."""
        runner = self._runner
        estimator.bytes_moved_ = runner.bytes_sent + runner.bytes_received
        self._abilities = result.abilities
        nobody = Abilities.of_nobody(result.abilities.prior_covariance)
        return replace(result, abilities=nobody)

    def finish(self, estimator, result, M):
        """Set `sharded_abilities_`, in the coordinates of the rotated result."""
        shards, data = self._abilities, self.data
        finish = Finish(
            np.linalg.inv(M) @ shards.inverse,
            shards.center,
            result.abilities.prior_covariance,
        )
        folder = ScratchFolder(".abilities-", data.folder)
        files = self._runner.store(shards.states, folder.name)
        estimator.sharded_abilities_ = ShardedAbilities(data, files, finish, folder)


def most_threads(data, n_dims):
    """Return how many shards `max_memory` allows to be open at once.

    Raises
    ------
    ValueError
        Not one.
    """
    # a shard and its sums; and what Python, compiler and sums that wait take
    sums = 8 * data.n_items * (n_dims + 1) * (n_dims + 4) // 2
    each = 2 * max(shard.size() for shard in data.shards) + 2**25 + sums
    rest = data.max_memory - 2**28 - 16 * sums
    if rest < each:
        needed = each + data.max_memory - rest
        raise ValueError(
            f"max_memory of {data.max_memory / 1e6:.0f} MB is too little: "
            f"{needed / 1e6:.0f} MB are needed for one shard of {len(data.shards)}; "
            "make more of them, or allow more memory"
        )
    return rest // each
