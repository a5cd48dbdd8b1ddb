"""Stability of dimensions: refits from other starts and to halves of the items.

Two halves of the items share no answer. What the abilities of one half have in common
with those of the other is in the respondents, not in the noise of the answers; and a
score on items of one half may be correlated with the abilities of the other without the
part being in the whole. Half fits start cold: a start from the fit of all answers would
carry what it knows of the other half.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from sklearn_mirt.diagnostics.correlations import (
    clustered_errors,
    fisher_influences,
    fisher_p_values,
    mean_of_known,
    pearson,
)
from sklearn_mirt.diagnostics.refit import Refitter
from sklearn_mirt.models.abilities import dimension_names
from sklearn_mirt.models.rotation.apply import congruence

LARGEST = 1 - 1e-9  # correlation, so that atanh is finite
REPLICATES = 0.95  # Lorenzo-Seva & ten Berge (2006): dimensions read as equal


@dataclass(frozen=True, eq=False)
class ItemHalves:
    """Fits to random halves of the items; see :func:`item_halves`.

    Attributes
    ----------
    halves : list of pairs of ndarrays
        Item indices of the two halves of each split.
    abilities : ndarray of shape (n_splits, 2, n_respondents, n_dims)
        Abilities from each half, in the axes of the fit to all items.
    congruence : ndarray of shape (n_splits, n_dims)
        Tucker's coefficient of the abilities of the two halves.
    ceiling : ndarray of shape (n_splits, n_dims)
        What it would be for one and the same dimension, given the posterior variances
        of the halves: few items cannot agree better.
    """

    halves: list
    abilities: np.ndarray
    congruence: np.ndarray
    ceiling: np.ndarray

    @property
    def typical(self):
        """Return the median congruence over splits, shape (n_dims,)."""
        return np.median(self.congruence, axis=0)

    def real(self, share, n_clusters):
        """Return which dimensions are more than noise, boolean (n_dims,).

        Those whose congruence is at least a share of its ceiling, and beyond what
        chance gives to as many independent respondents (p < 0.001, one-sided).
        """
        z = np.arctanh(np.clip(self.typical, -LARGEST, LARGEST))
        beyond_chance = z * np.sqrt(max(n_clusters - 3, 0)) > stats.norm.isf(0.001)
        return beyond_chance & (self.typical >= share * np.median(self.ceiling, 0))

    def cross_correlations(self, data, scales, clusters=None):
        """Return correlations of scores on one half with abilities from the other.

        Corrected for overlap: no answer is in both. The two directions and the splits
        are averaged on the scale of atanh(r); the error is that of the average, from
        the influence of each respondent on all of them.

        Parameters
        ----------
        data : ResponseData
        scales : Scales
        clusters : ndarray of int of shape (n_respondents,), default=None

        Returns
        -------
        r, p : ndarrays of shape (n_scales, n_dims)
            NaN for a scale without variation in either half.
        """
        z, influences, seen = [], [], []
        for pair, fitted in zip(self.halves, self.abilities, strict=True):
            for items, theta in zip(pair, fitted[::-1], strict=True):
                means = scales.take(items).means(data.take(items=items))
                z.append(np.arctanh(np.clip(pearson(theta, means), -LARGEST, LARGEST)))
                influence, known = fisher_influences(theta, means)
                influences.append(influence)
                seen.append(known)
        r = np.tanh(mean_of_known(np.array(z)))
        average = mean_of_known(np.array(influences))
        error, dof = clustered_errors(average, np.any(seen, axis=0), clusters)
        return r, fisher_p_values(r, error, dof[:, None])


def item_halves(
    estimator,
    responses,
    *,
    n_splits=1,
    max_iter=50,
    tol=1e-5,
    random_state=0,
    n_jobs=None,
):
    """Fit random halves of the items of every group separately.

    Parameters
    ----------
    estimator : fitted MIRTTransformer or MIRTClassifier
    responses : ResponseData, DataFrame or array-like
        The answers of the fit.
    n_splits : int, default=1
    max_iter, tol : int, float
        Of each fit, which starts cold.
    random_state : int, default=0
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    result : ItemHalves
    """
    refitter = Refitter(estimator, responses, max_iter=max_iter, tol=tol, n_jobs=n_jobs)
    return refit_halves(refitter, n_splits=n_splits, random_state=random_state)


def refit_halves(refitter, *, n_splits=1, random_state=0):
    """Return the ItemHalves of a Refitter; see :func:`item_halves`."""
    rng = np.random.default_rng(random_state)
    halves, abilities, agreement, ceiling = [], [], [], []
    for _ in range(n_splits):
        pair = _split(refitter.design.groups, rng)
        fits = [refitter.fit(items=half, warm=False).abilities for half in pair]
        halves.append(pair)
        abilities.append([fit.mean for fit in fits])
        agreement.append(congruence(fits[0].mean, fits[1].mean))
        first, second = (_reliability(fit) for fit in fits)
        ceiling.append(np.sqrt(first * second))
    return ItemHalves(
        halves, np.array(abilities), np.array(agreement), np.array(ceiling)
    )


def _reliability(abilities):
    """Return the share of the variance of each ability that is not error."""
    square = (abilities.mean**2).mean(0)
    return square / (square + (abilities.standard_errors**2).mean(0))


def dimension_stability(
    estimator,
    responses,
    *,
    n_starts=3,
    n_splits=3,
    max_iter=200,
    tol=1e-6,
    random_state=0,
    n_jobs=None,
):
    """Report, per dimension, whether it replicates from other starts and other items.

    Parameters
    ----------
    estimator : fitted MIRTTransformer or MIRTClassifier
    responses : ResponseData, DataFrame or array-like
        The answers of the fit.
    n_starts : int, default=3
        Refits from random abilities.
    n_splits : int, default=3
        Random splits of the items of every group into halves.
    max_iter, tol : int, float
        Of each refit.
    random_state : int, default=0
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    table : DataFrame, index dimension
        starts : smallest congruence of slopes with those of refits from other starts;
        halves : median congruence of abilities between halves;
        ceiling : the most that `halves` could be, given the number of items;
        replicates : whether both exceed 0.95.
    """
    import pandas as pd

    refitter = Refitter(estimator, responses, max_iter=max_iter, tol=tol, n_jobs=n_jobs)
    starts = _congruence_of_starts(refitter, n_starts, random_state)
    halves = refit_halves(refitter, n_splits=n_splits, random_state=random_state)
    columns = {
        "starts": starts,
        "halves": halves.typical,
        "ceiling": np.median(halves.ceiling, axis=0),
    }
    names = dimension_names(refitter.n_dims)
    table = pd.DataFrame(columns, pd.Index(names, name="dimension"))
    table["replicates"] = (table[["starts", "halves"]] > REPLICATES).all(axis=1)
    return table


def _congruence_of_starts(refitter, n_starts, random_state):
    """Return the smallest congruence, by dimension, of refits from random starts."""
    rng = np.random.default_rng(random_state)
    if not n_starts:
        return np.ones(refitter.n_dims)
    refits = [
        refitter.fit_data(refitter.data, start=refitter.random_start(rng))
        for _ in range(n_starts)
    ]
    slopes = refitter.items.slopes
    return np.min([congruence(r.items.slopes, slopes) for r in refits], axis=0)


def _split(groups, rng):
    """Return two random halves of the items of every group, sorted."""
    order = rng.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    side = np.arange(len(order)) % 2  # alternating, so odd groups even out
    return np.sort(order[side == 0]), np.sort(order[side == 1])
