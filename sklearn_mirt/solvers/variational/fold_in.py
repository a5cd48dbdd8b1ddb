"""Abilities of new respondents, the items held as they are."""

import numpy as np

from sklearn_mirt.models import packing
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.kernels.item_blocks import (
    AbilityTables,
    ItemState,
    ItemTask,
    bound_by_respondent,
    sum_for_abilities,
)
from sklearn_mirt.solvers.runners.threads import LocalRunner
from sklearn_mirt.solvers.variational.by_items import device_blocks, update_abilities

_TOL = 1e-8  # prior standard deviations
_MAX_ITER = 500


def fold_in(data, items, prior_covariance, *, device="cpu", n_jobs=None):
    """Return the posterior abilities of the respondents of `data`.

    The variational updates of the abilities are repeated until each respondent's own
    estimate settles, so that the result for one never depends on the others. Who
    answered nothing keeps the prior mean 0 and covariance.

    Parameters
    ----------
    data : ResponseData
        Answers to the items of `items`, in that order.
    items : ItemParameters
    prior_covariance : ndarray of shape (n_dims, n_dims)

    Returns
    -------
    abilities : Abilities
    """
    fold = _FoldIn(data, items, prior_covariance, get_kernels(device))
    with LocalRunner(n_jobs).running() as runner:
        mean, covariance = fold.run(runner)
    covariance = packing.unpack(covariance)
    return Abilities(mean, covariance, prior_covariance, data.respondents)


def marginal_bounds(data, items, abilities, *, device="cpu", n_jobs=None):
    """Return a lower bound on log P(answers) of each respondent, in nats.

    E[log P(answers | theta)] - KL(posterior || prior), with the Jaakkola-Jordan bound
    of each answer; averaged over item uncertainty.
    """
    fold = _FoldIn(data, items, abilities.prior_covariance, get_kernels(device))
    covariance = packing.pack(abilities.covariances)
    task = fold.task(abilities.mean, covariance)
    with LocalRunner(n_jobs).running() as runner:
        bounds = runner.map_reduce(
            bound_by_respondent, fold.blocks, fold.items, task, fold.kernels
        )
    return fold.kernels.to_host(bounds) - _divergence(abilities)


class _FoldIn:
    def __init__(self, data, items, prior_covariance, kernels):
        mean = items.mean
        second = packing.second_moments(mean, items.covariances)
        asarray = kernels.asarray
        self.items, self.kernels = ItemState(asarray(mean), asarray(second)), kernels
        self.blocks = device_blocks(data, kernels)
        self.n = data.n_respondents
        self.floor = asarray(items.guessing) if np.any(items.guessing) else None
        self.prior_covariance = prior_covariance
        self.precision = packing.pack(np.linalg.inv(prior_covariance))

    def task(self, mean, covariance):
        carry = np.eye(mean.shape[1] + 1)
        kernels, dtype = self.kernels, self.items.second.dtype
        abilities, moved = AbilityTables.of(mean, covariance, carry, kernels, dtype)
        return ItemTask(abilities, moved, carry, self.floor)

    def run(self, runner):
        d = len(self.prior_covariance)
        mean = np.zeros((self.n, d))
        covariance = np.tile(packing.pack(self.prior_covariance), (self.n, 1))
        moving = np.ones(self.n, dtype=bool)
        for _ in range(_MAX_ITER):
            sums = runner.map_reduce(
                sum_for_abilities,
                self.blocks,
                self.items,
                self.task(mean, covariance),
                self.kernels,
            ).on_host(self.kernels)
            new, spread, _ = update_abilities(sums, self.precision)
            step = np.abs(new - mean).max(1)
            mean[moving], covariance[moving] = new[moving], spread[moving]
            moving &= step > _TOL
            if not moving.any():
                break
        return mean, covariance


def _divergence(abilities):
    """KL(posterior || prior) of each respondent."""
    precision = np.linalg.inv(abilities.prior_covariance)
    second = abilities.covariances + (
        abilities.mean[:, :, None] * abilities.mean[:, None, :]
    )
    logdet = np.linalg.slogdet(abilities.prior_covariance)[1]
    logdet = logdet - np.linalg.slogdet(abilities.covariances)[1]
    d = abilities.mean.shape[1]
    return 0.5 * (np.einsum("pq,npq->n", precision, second) - d + logdet)
