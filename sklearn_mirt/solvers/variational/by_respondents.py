"""The variational fit of respondents in shards: a pass moves nothing of their size.

The model and the bound are those of variational.py; a pass takes the half steps in the
other order. Each shard updates its abilities given the items and returns sums of the
size of the items (kernels/respondents.py); from these the items are updated here, in
one place. The change to abilities of mean 0 and average second moment I needs two more
small sums, and is owed to the shards until their next pass.
"""

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sklearn_mirt.models import packing
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.solvers.base import SolverResult
from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.kernels.item_blocks import ItemState, ItemTask
from sklearn_mirt.solvers.kernels.respondent_blocks import (
    AbilityState,
    ShardTask,
    StartTask,
    gram_of_items,
    start_respondents,
    sum_for_items,
    sweep_respondents,
)
from sklearn_mirt.solvers.variational.checkpoint import FILE, Checkpoint
from sklearn_mirt.solvers.variational.solver import (
    VariationalSolver,
    _Fit,
    _item_coordinates,
)
from sklearn_mirt.solvers.variational.start import OVERSAMPLING, SUBSPACE_ITERATIONS


class ShardedSolver(VariationalSolver):
    """The variational fit of a ShardedResponses; settings as of VariationalSolver.

    Parameters
    ----------
    runner : StreamingRunner or DaskRunner
        Where shards are computed.
    checkpoint_dir : path-like, default=None
        Folder in which the fit is saved about once a minute, and when it is
        interrupted.
    resume : bool
        Whether to go on from what is saved there.
    """

    def __init__(self, runner, max_iter, tol, dtype, checkpoint_dir=None, resume=False):
        super().__init__(max_iter, tol, dtype)
        self.runner = runner
        self.checkpoint_dir, self.resume = checkpoint_dir, resume

    def solve(self, data, n_dims, design, *, start=None, callback=None):
        """Return the fit; its abilities are a ShardedAbilities."""
        with _noting(self.checkpoint_dir), self.runner.running():
            fit = ShardedFit(
                data, n_dims, design, get_kernels(), self.runner, self._products(data)
            )
            fit.plain_passes = self._plain_passes(data)
            if self.checkpoint_dir is not None:
                fit.checkpoint = Checkpoint(self.checkpoint_dir, fit.about())
            if not (self.resume and fit.resume()):
                fit.begin(start)
            try:
                converged = fit.run(self.max_iter, self.tol, callback)
            except KeyboardInterrupt:
                if fit.checkpoint is not None:
                    fit.checkpoint.save(fit)
                raise
        return fit.result(converged)


@contextmanager
def _noting(checkpoint_dir):
    """Add to any error where the fit goes on from."""
    try:
        yield
    except BaseException as error:
        if checkpoint_dir is not None and (Path(checkpoint_dir) / FILE).exists():
            error.add_note(
                f"The last checkpoint is in {checkpoint_dir}: a fit with "
                "warm_start=True goes on from there"
            )
        raise


@dataclass(frozen=True, eq=False)
class _State:
    """Everything that changes from pass to pass; the abilities are with their shards.

    `abilities` holds one state, or reference to one, for each shard; they are owed the
    change of coordinates `inverse` (theta - `center`).
    """

    abilities: list
    inverse: np.ndarray
    center: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray  # packed
    prior: GroupPrior
    divergence: float = np.inf
    jumped: bool = False


@dataclass(frozen=True, eq=False)
class ShardedAbilities:
    """Abilities that stay with their shards.

    Parameters
    ----------
    states : list
        One AbilityState, or a runner's reference to one, for each shard.
    inverse, center : (D, D) and (D,) arrays
        They are owed the change of coordinates inverse (theta - center).
    prior_covariance : (D, D) array
    """

    states: list
    inverse: np.ndarray
    center: np.ndarray
    prior_covariance: np.ndarray


class ShardedFit(_Fit):
    """One fit: as of a table in memory, but for what is computed where."""

    checkpoint: Checkpoint | None = None

    def __init__(self, data, n_dims, design, kernels, runner, dtype):
        self.data, self.design, self.n_dims = data, design, n_dims
        self.kernels, self.runner, self.dtype = kernels, runner, dtype
        self.shards = runner.persist(data.shards)
        self.observed = data.item_weight > 0
        self.n_answered = data.n_answered
        self.n_observed, self.n_answers = data.n_observed, data.item_weight.sum()
        self.floor = design.guessing if np.any(design.guessing) else None
        self.counts = np.bincount(
            design.groups[self.observed], minlength=design.n_groups
        ).astype(np.float64)
        self.trace, self.loop = [], None
        self.plain_passes = np.inf

    # ------------------------------------------------------------------------- start

    def _rasch_state(self, prior):
        rate = np.zeros(self.data.n_items, self.dtype)
        start = StartTask(rate, rate, rate[:, None], variance=1.0)
        return self._first_state(start, prior, learn_prior=False)

    def _first_state(self, start, prior, learn_prior=True):
        """Return the state of abilities that begin as a StartTask says."""
        d, n_items = self.n_dims, self.data.n_items
        state = _State(
            [None] * len(self.shards),
            np.eye(d),
            np.zeros(d),
            np.zeros((n_items, d + 1)),
            np.tile(packing.pack(0.5 * np.eye(d + 1)), (n_items, 1)),
            prior,
        )
        abilities, sums = self.runner.sweep(
            start_respondents,
            self.shards,
            state.abilities,
            start,
            self._shard_task(state),
            self.kernels,
        )
        return self._absorb(state, abilities, sums, learn_prior)

    def _item_means(self):
        return self.data.item_score / np.maximum(self.data.item_weight, 1e-300)

    def _spectral_start(self, rate):
        """Return how abilities begin: principal components of the answers.

        As in start.py, from the right singular vectors, which are of the size of the
        items, by subspace iteration (Halko, Martinsson & Tropp 2011, algorithm 4.4).
        """
        n_items, d = self.data.n_items, self.n_dims
        inverse = 1 / np.sqrt(np.maximum(rate * (1 - rate), 0.01))
        rng = np.random.default_rng(0)
        vectors = rng.standard_normal((n_items, min(d + OVERSAMPLING, n_items)))

        def task(vectors):
            parts = rate, inverse, vectors
            return StartTask(*(part.astype(self.dtype) for part in parts))

        def gram_product(vectors):
            return self.runner.map_reduce(
                gram_of_items, self.shards, task(vectors), self.kernels
            )

        for _ in range(SUBSPACE_ITERATIONS):
            vectors = np.linalg.qr(gram_product(vectors))[0]
        values, turn = np.linalg.eigh(vectors.T @ gram_product(vectors))
        vectors, values = (vectors @ turn)[:, ::-1][:, :d], values[::-1][:d]
        largest = np.abs(vectors).argmax(0)
        vectors = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
        spread = np.sqrt(np.maximum(values, 0) / max(self.n_answered, 1))
        start = np.zeros((n_items, d))  # fewer items than dimensions leave zeros
        start[:, : len(values)] = np.where(
            spread > 1e-12, vectors / np.where(spread > 0, spread, 1), 0.0
        )
        return task(start)

    def _warm_start(self, start):
        abilities = start.abilities
        return _State(
            abilities.states,
            abilities.inverse,
            abilities.center,
            start.items.mean,
            packing.pack(start.items.covariances),
            start.prior,
        )

    # ---------------------------------------------------------------------- checkpoints

    def about(self):
        """Return what another fit must have in common to go on from this one."""
        design = (self.design.groups, self.design.guessing, self.data.item_score)
        digest = hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in design))
        return {
            "n_dims": self.n_dims,
            "dtype": str(self.dtype),
            "n_respondents": self.data.n_respondents,
            "n_items": self.data.n_items,
            "n_shards": len(self.shards),
            "positive_slopes": bool(self.design.positive_slopes),
            "groups, floors and scores of the items": digest.hexdigest()[:16],
        }

    def resume(self):
        """Go to where the fit was saved; return whether it was."""
        return self.checkpoint is not None and self.checkpoint.load(
            self, _State, AbilityState
        )

    def _before_pass(self):
        if self.checkpoint is not None:
            self.checkpoint.watch(self)

    # -------------------------------------------------------------------------- passes

    def _shard_task(self, state):
        return ShardTask(
            state.mean,
            state.covariance,
            state.inverse,
            state.center,
            self.floor,
            self.dtype,
        )

    def _pass(self, learn_prior):
        """Move to the next state; return the bound of the one before."""
        state = self.state
        abilities, sums = self._sweep(sweep_respondents)
        self.state = self._absorb(state, abilities, sums, learn_prior)
        return sums.bound - state.divergence

    def _evaluate(self):
        """Bound of the current state, whose abilities get what they are owed."""
        _, sums = self._sweep(sum_for_items)
        return sums.bound - self.state.divergence

    def _sweep(self, function):
        state = self.state
        return self.runner.sweep(
            function,
            self.shards,
            state.abilities,
            self._shard_task(state),
            self.kernels,
        )

    def _absorb(self, state, abilities, sums, learn_prior):
        """Return the state with the items updated given new abilities."""
        mean, second, first_sum, second_sum, logdet = self._update_items(state, sums)
        covariance = second - packing.outer(mean)
        scale, center = self._moments_of_abilities(sums)
        carry = _item_coordinates(scale, center)
        first_sum = first_sum @ carry.T
        second_sum = second_sum @ packing.congruence(carry).T
        if learn_prior:
            prior = GroupPrior.from_moments(self.counts, first_sum, second_sum)
        else:
            prior = state.prior.carried(carry)
        stretch = 2 * np.log(np.diagonal(scale)).sum()
        divergence = prior.divergence(
            self.counts, first_sum, second_sum, logdet + stretch * self.counts.sum()
        )
        # abilities of mean 0 and average second moment I: of their divergence from
        # the prior only the log determinants are left
        divergence -= 0.5 * (sums.logdet - stretch * self.n_answered)
        return _State(
            abilities,
            np.linalg.inv(scale),
            center,
            mean @ carry.T,
            covariance @ packing.congruence(carry).T,
            prior,
            divergence,
        )

    def _update_items(self, state, sums):
        precision, linear = state.prior.canonical()
        task = ItemTask(
            prior_precision=precision,
            prior_linear=linear,
            groups=self.design.groups,
            observed=self.observed,
            nonnegative=self.design.positive_slopes,
        )
        items = ItemState(np.empty_like(sums.linear), np.empty_like(sums.moment))
        everything = slice(0, len(sums.linear))
        learned = self.kernels.update_items(
            sums.moment, sums.linear, task, everything, items
        )
        return items.mean, items.second, *learned

    def _moments_of_abilities(self, sums):
        """Square root of the average second moment, and mean, over who answered."""
        second = packing.unpack(sums.group_second) / self.n_answered
        center = second[-1, :-1].copy()
        spread = second[:-1, :-1] - np.outer(center, center)
        if self.design.positive_slopes:  # a mixing of dimensions could turn signs
            return np.diag(np.sqrt(np.diagonal(spread))), center
        return np.linalg.cholesky(spread), center

    # ------------------------------------------------------------------------- result

    def result(self, converged):
        """Return the current state as a SolverResult; abilities stay where they are."""
        state, design = self.state, self.design
        mean, covariances = state.mean.copy(), packing.unpack(state.covariance)
        unseen = ~self.observed
        mean[unseen] = state.prior.means[design.groups[unseen]]
        covariances[unseen] = state.prior.covariances[design.groups[unseen]]
        items = ItemParameters(
            mean[:, :-1].copy(),
            mean[:, -1].copy(),
            np.array(design.guessing, dtype=np.float64),
            covariances,
            self.data.items,
        )
        trace = np.array(self.trace)
        return SolverResult(items, self._abilities(), state.prior, trace, converged)

    def _abilities(self):
        state = self.state
        return ShardedAbilities(
            state.abilities, state.inverse, state.center, np.eye(self.n_dims)
        )
