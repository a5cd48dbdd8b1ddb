"""Variational fit for many items: closed-form passes whose bound never falls.

Model, with beta_j = (a_j, d_j):

    eta_ij = beta_j . (theta_i, 1)
    P(y_ij = 1) = g_j + (1 - g_j) sigmoid(eta_ij)
    theta_i ~ N(0, I)        beta_j ~ N(mu_g, Sigma_g), g the group of item j

Polya-Gamma augmentation makes both conditionals Gaussian. A pass updates items given
abilities and abilities given items (kernels/blocks.py), moves the abilities to mean 0
and average second moment I, carrying items and prior along, and re-estimates the prior.

References
----------
Polson, Scott & Windle (2013), JASA 108. Jaakkola & Jordan (2000), Statistics and
Computing 10. Cho, Wang, Zhang & Xu (2021), Br. J. Math. Stat. Psychol. 74 (Gaussian
variational EM for MIRT). Liu, Rubin & Wu (1998), Biometrika 85 (parameter expansion).
"""

from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit

from sklearn_mirt.models import packing
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior, ability_divergence
from sklearn_mirt.solvers.base import Solver, SolverResult
from sklearn_mirt.solvers.kernels import get_kernels
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
from sklearn_mirt.solvers.runners.streaming import StreamingRunner
from sklearn_mirt.solvers.runners.threads import RUNS, LocalRunner
from sklearn_mirt.solvers.variational.acceleration import Extrapolation
from sklearn_mirt.solvers.variational.start import (
    MANY_MISSING,
    RASCH_PASSES,
    spectral_start,
)

_DOUBLE_BELOW = 10**6  # cells up to which products in float64 cost nothing to speak of
_SMALL = 10**5  # cells up to which passes are too cheap to be worth saving
_PLAIN_PASSES_SMALL = 100  # before the first jump in small data
_NEAR = 1e-4  # gain, in nats per answer, after which a fall means the summit
_CHUNK = 8192  # items at a time where temporaries would be large
_PLAIN_PASSES = 5  # before the first jump: the first passes are large steps anyway


@dataclass
class VariationalSolver(Solver):
    """Settings of the variational fit.

    Parameters
    ----------
    max_iter : int
        Largest number of passes.
    tol : float
        Stop when a pass raises the bound by less, in nats per observed answer.
    dtype : {"auto", "float32", "float64"}
        Type of the matrix products; sums across blocks are float64. "auto" takes
        float64 up to a million cells.
    device : {"cpu", "cuda"}
    n_jobs : int or None
    accelerate : bool
        Whether passes are extrapolated (solvers/acceleration.py): after the first 5, or
        after 100 where there are at most 100,000 cells.
    """

    max_iter: int = 100
    tol: float = 1e-6
    dtype: str = "auto"
    device: str = "cpu"
    n_jobs: int | None = None
    accelerate: bool = True
    name: str = field(default="variational", init=False)

    def solve(self, data, n_dims, design, *, start=None, callback=None):
        """Return the fit of `data`; see :class:`Solver`."""
        kind, runner = _Fit, LocalRunner(self.n_jobs)
        if self.device == "cpu" and _is_tall(data):
            from sklearn_mirt.solvers.variational.tall import (
                TallFit,  # builds on this module
            )

            kind, runner = TallFit, StreamingRunner(self.n_jobs, n_runs=RUNS)
        with runner.running():
            kernels, dtype = get_kernels(self.device), self._products(data)
            fit = kind(data, n_dims, design, kernels, runner, dtype)
            fit.plain_passes = self._plain_passes(data)
            fit.begin(start)
            converged = fit.run(self.max_iter, self.tol, callback)
        return fit.result(converged)

    def _plain_passes(self, data):
        if not self.accelerate:
            return np.inf
        small = data.n_respondents * data.n_items <= _SMALL
        return _PLAIN_PASSES_SMALL if small else _PLAIN_PASSES

    def _products(self, data):
        if self.dtype == "auto":
            small = data.n_respondents * data.n_items <= _DOUBLE_BELOW
            return np.dtype(np.float64 if small else np.float32)
        return np.dtype(self.dtype)


def _is_tall(data):
    n, n_items = data.n_respondents, data.n_items
    return n > n_items and n * n_items > _DOUBLE_BELOW


@dataclass(frozen=True, eq=False)
class _State:
    """Everything that changes from pass to pass.

    The items are still owed the change of coordinates `carry`. `divergence` is the
    state's part of the bound that needs no cells.
    """

    items: ItemState
    carry: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray  # packed
    prior: GroupPrior
    divergence: float = np.inf
    jumped: bool = False  # extrapolated: items are behind, the bound is not known


@dataclass(eq=False)
class Loop:
    """Where the loop of a fit stands, beside the state and the trace.

    `kept` is the state of the last bound in the trace, to which a fit returns.
    """

    jumps: Extrapolation | None
    n_iter: int = 0
    kept: object = None
    learn_prior: bool = True


class _Fit:
    """One fit: the constant data, the current state, the trace of the bound."""

    def __init__(self, data, n_dims, design, kernels, runner, dtype):
        self.data, self.design, self.n_dims = data, design, n_dims
        self.kernels, self.runner, self.dtype = kernels, runner, dtype
        self.blocks = [
            on_device(block, kernels)
            for block in data.blocks(kernels.block_cells, kernels.least_blocks)
        ]
        (item_weight, respondent_weight), (self.item_score, _) = data.sums()
        self.item_weight = item_weight
        self.observed = item_weight > 0
        self.answered = respondent_weight > 0
        self.n_answered = int(self.answered.sum())
        self.n_observed, self.n_answers = data.n_observed, item_weight.sum()
        there = kernels.asarray
        self.floor = there(design.guessing) if np.any(design.guessing) else None
        self.groups, self.observed_there = there(design.groups), there(self.observed)
        self.counts = np.bincount(
            design.groups[self.observed], minlength=design.n_groups
        ).astype(np.float64)
        self.trace, self.loop = [], None
        self.plain_passes = np.inf

    # ------------------------------------------------------------------------- start

    def begin(self, start):
        """Set the first state, from nothing or from an earlier result."""
        self.state = self._cold_start() if start is None else self._warm_start(start)

    def _cold_start(self):
        """Return the first state; where many answers are missing, from a Rasch fit."""
        prior = GroupPrior.vague(self.design.n_groups, self.n_dims)
        n_cells = self.n_answered * np.count_nonzero(self.observed)
        if self.n_observed >= (1 - MANY_MISSING) * n_cells:
            return self._first_state(self._spectral_start(self._item_means()), prior)
        rasch = self._rasch_fit()
        if self.n_dims == 1:
            return replace(rasch.state, prior=prior, divergence=np.inf)
        items = rasch.result(converged=False).items
        rates = items.guessing + (1 - items.guessing) * expit(items.intercepts)
        return self._first_state(self._spectral_start(rates), prior)

    def _rasch_fit(self):
        """Return another fit, some passes on: one dimension, equal slopes."""
        rasch = copy(self)
        rasch.n_dims = 1
        rasch.state = rasch._rasch_state(GroupPrior.equal_slopes(self.design.n_groups))
        for _ in range(RASCH_PASSES):
            rasch._pass(learn_prior=False)
        return rasch

    def _rasch_state(self, prior):
        """Return the state of equal abilities, in one dimension."""
        return self._first_state(np.zeros((len(self.answered), 1)), prior)

    def _spectral_start(self, rates):
        """Return how abilities begin: principal components of the answers."""
        blocks, kernels = self.blocks, self.kernels
        given = self.n_dims, self.answered, kernels, self.runner, self.dtype, rates
        return spectral_start(blocks, *given)

    def _first_state(self, mean, prior):
        """Return the state before the first pass, of items that know nothing."""
        d, n_items = self.n_dims, self.data.n_items
        second = packing.pack(0.5 * np.eye(d + 1))
        return _State(
            self._items(np.zeros((n_items, d + 1)), np.tile(second, (n_items, 1))),
            np.eye(d + 1),
            mean,
            np.tile(packing.pack(0.05 * np.eye(d)), (len(mean), 1)),
            prior,
        )

    def _item_means(self):
        """Mean score of each item where every answer weighs 1, else None."""
        if self.blocks[0].weights is not None:
            return None
        return self.item_score / np.maximum(self.item_weight, 1)

    def _items(self, mean, second):
        # second moments go into products of this type anyway; in float32 they halve
        # what a large fit keeps
        there = self.kernels.asarray
        return ItemState(there(mean), there(second, dtype=self.dtype))

    def _warm_start(self, start):
        mean = start.items.mean
        second = packing.second_moments(mean, start.items.covariances)
        return _State(
            self._items(mean, second),
            np.eye(self.n_dims + 1),
            start.abilities.mean,
            packing.pack(start.abilities.covariances),
            start.prior,
        )

    # -------------------------------------------------------------------------- loop

    def run(self, max_iter, tol, callback=None):
        """Pass until the bound settles; return whether it did.

        The bound of a state becomes known during the next pass. Two steps are no exact
        ascent: a jump of the acceleration, and the empirical-Bayes step, which is
        shrunk. Should the bound fall, the fit returns to the state before. After a jump
        it goes on without it; when the bound had all but settled it stops at this
        summit; else it goes on with the prior held, where every step is an exact
        ascent.
        """
        loop, settled = self.loop, False
        if loop is None:
            jumps = Extrapolation() if np.isfinite(self.plain_passes) else None
            loop = self.loop = Loop(jumps)
        for n_iter in range(loop.n_iter, max_iter):
            loop.n_iter = n_iter
            self._before_pass()
            before = self.state
            bound = self._pass(loop.learn_prior)
            if n_iter == 0:
                continue  # nothing learned yet
            if loop.jumps is not None and before.jumped:  # no bound to compare yet
                loop.jumps.touch_down(self.state)
                continue
            if self.trace and bound < self.trace[-1]:
                if loop.jumps is not None and loop.jumps.landing is not None:
                    self.state = loop.jumps.undo()
                    continue
                self.state = loop.kept
                if not loop.learn_prior or self._last_gain() < _NEAR * self.n_answers:
                    return True
                loop.learn_prior, loop.jumps = False, None
                self.trace.pop()  # the next pass finds it again
                continue
            settled = self._record(bound, tol, callback)
            loop.kept = before
            if settled:
                break
            if loop.jumps is not None and n_iter >= self.plain_passes:
                self.state = loop.jumps.propose(self.state)
        if loop.jumps is not None and self.state.jumped:
            self.state = loop.jumps.undo()
        bound = self._evaluate()
        if self.trace and bound < self.trace[-1]:
            self.state = loop.kept
        else:
            settled = self._record(bound, tol, callback) or settled
        return settled

    def _before_pass(self):
        """Do what is to be done between passes: nothing."""

    def _last_gain(self):
        return self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else np.inf

    def _record(self, bound, tol, callback):
        """Add a bound to the trace; return whether its gain is under the tolerance."""
        self.trace.append(bound)
        if callback is not None:
            callback(len(self.trace), bound)
        return self._last_gain() < tol * self.n_answers

    def _task(self):
        state, there = self.state, self.kernels.asarray
        abilities, owed = AbilityTables.of(
            state.mean, state.covariance, state.carry, self.kernels, self.dtype
        )
        precision, linear = state.prior.canonical()
        return ItemTask(
            abilities,
            owed,
            state.carry,
            self.floor,
            there(precision),
            there(linear),
            self.groups,
            self.observed_there,
            self.design.positive_slopes,
        )

    def _pass(self, learn_prior):
        """Move to the next state; return the bound of the one before."""
        state = self.state
        items, sums = self._sweep(self._task())
        bound = sums.bound - state.divergence
        mean, covariance, logdet = self._update_abilities(sums)
        scale, center = self._ability_moments(mean, covariance)
        mean, covariance, logdet = _standardise(mean, covariance, logdet, scale, center)
        self._reset_unanswered(mean, covariance, logdet)
        carry = _item_coordinates(scale, center)
        first = sums.group_first @ carry.T
        second = sums.group_second @ packing.congruence(carry).T
        if learn_prior:
            prior = GroupPrior.from_moments(self.counts, first, second)
        else:
            prior = state.prior.carried(carry)
        stretch = 2 * self.counts.sum() * np.log(np.diagonal(scale)).sum()
        divergence = prior.divergence(
            self.counts, first, second, sums.logdet + stretch
        ) + ability_divergence(mean, covariance, logdet)
        self.state = _State(items, carry, mean, covariance, prior, divergence)
        return bound

    def _sweep(self, task):
        """Return the items updated, and what else a pass needs."""
        before = self.state.items
        after = before.empty_like()
        sums = self.runner.map_reduce(
            sweep, self.blocks, before, after, task, self.kernels
        )
        return after, sums.on_host(self.kernels)

    def _evaluate(self):
        """Bound of the current state, whose items get what they are owed."""
        self._settle_items()
        sums = self.runner.map_reduce(
            sum_for_abilities, self.blocks, self.state.items, self._task(), self.kernels
        ).on_host(self.kernels)
        return sums.bound - self.state.divergence

    def _settle_items(self):
        """Give the items what they are owed."""
        if np.array_equal(self.state.carry, np.eye(self.n_dims + 1)):
            return
        items = change_coordinates(self.state.items, self.state.carry, self.kernels)
        self.state = replace(self.state, items=items, carry=np.eye(self.n_dims + 1))

    def _update_abilities(self, sums):
        """Posterior of the abilities given the items, prior N(0, I)."""
        d = self.n_dims
        n_packed = d * (d + 1) // 2
        precision = sums.moment[:, :n_packed] + packing.pack(np.eye(d))
        linear = sums.linear[:, :d] - sums.moment[:, n_packed:-1]
        return solve_gaussian(precision, linear)

    def _ability_moments(self, mean, covariance):
        """Square root of the average second moment, and mean, over who answered."""
        mean, covariance = mean[self.answered], covariance[self.answered]
        center = mean.mean(0)
        delta = mean - center
        spread = delta.T @ delta / len(mean) + packing.unpack(covariance.mean(0))
        if self.design.positive_slopes:  # a mixing of dimensions could turn signs
            return np.diag(np.sqrt(np.diagonal(spread))), center
        return np.linalg.cholesky(spread), center

    def _reset_unanswered(self, mean, covariance, logdet):
        """Who answered nothing stays at the prior."""
        silent = ~self.answered
        mean[silent], logdet[silent] = 0.0, 0.0
        covariance[silent] = packing.pack(np.eye(self.n_dims))

    # ------------------------------------------------------------------------ result

    def result(self, converged):
        """Return the current state as a SolverResult."""
        self._settle_items()
        return self._host_result(converged)

    def _host_result(self, converged):
        state, data = self.state, self.data
        mean = self.kernels.to_host(state.items.mean)
        covariances = _covariances(mean, self.kernels.to_host(state.items.second))
        unseen = ~self.observed
        mean[unseen] = state.prior.means[self.design.groups[unseen]]
        covariances[unseen] = state.prior.covariances[self.design.groups[unseen]]
        items = ItemParameters(
            mean[:, :-1].copy(),
            mean[:, -1].copy(),
            np.array(self.design.guessing, dtype=np.float64),
            covariances,
            data.items,
        )
        abilities = Abilities(
            state.mean,
            packing.unpack(state.covariance),
            np.eye(self.n_dims),
            data.respondents,
        )
        trace = np.array(self.trace)
        return SolverResult(items, abilities, state.prior, trace, converged)


def _standardise(mean, covariance, logdet, scale, center):
    """Abilities in coordinates where `scale` scale' is I and `center` is 0."""
    inverse = np.linalg.inv(scale)
    return (
        (mean - center) @ inverse.T,
        covariance @ packing.congruence(inverse).T,
        logdet - 2 * np.log(np.diagonal(scale)).sum(),
    )


def _covariances(mean, second):
    """Full covariances (n, k, k) of means and packed second moments."""
    n, k = mean.shape
    out = np.empty((n, k, k))
    for start in range(0, n, _CHUNK):  # without large temporaries
        here = slice(start, start + _CHUNK)
        out[here] = packing.unpack(second[here] - packing.outer(mean[here]))
    return out


def _item_coordinates(scale, center):
    """Return the map of (a_j, d_j) that keeps every logit under _standardise."""
    d = len(center)
    carry = np.zeros((d + 1, d + 1))
    carry[:d, :d], carry[d, :d], carry[d, d] = scale.T, center, 1.0
    return carry
