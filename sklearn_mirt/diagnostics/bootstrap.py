"""Bootstrap errors of abilities, ranks, correlations and discriminations.

Two questions, two populations:

- ``resample="items"``: the same respondents had met *other items of the same groups*.
  Items are drawn within their group. Conditional on ability, the answers to different
  items are independent, so this covers both which items were drawn and how they were
  answered. It is the question behind an ability and a rank.
- ``resample="respondents"``: *other respondents of the same population* had met the
  same items. With `respondent_groups` (model families) whole groups are drawn:
  checkpoints of one model are not independent. It is the question behind an item's
  discrimination.

A correlation of benchmark and dimension depends on both; the two variances add
(:func:`combined_intervals`), which counts the noise of answers twice and is therefore
on the safe side. Neither says what other *benchmarks* would have shown.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

from sklearn_mirt.data.files.kept_results import KeptResults, digest
from sklearn_mirt.data.resampling import resampled
from sklearn_mirt.diagnostics.correlations import (
    Scales,
    fisher_interval,
    pearson,
)
from sklearn_mirt.diagnostics.refit import Refitter
from sklearn_mirt.diagnostics.replicates import finished_in_order
from sklearn_mirt.estimators.base import BaseMIRT
from sklearn_mirt.models.abilities import dimension_columns
from sklearn_mirt.models.item_design import group_labels, sorted_codes

_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Replicates of a fit, in the axes of the fit; see :func:`bootstrap`.

    Attributes
    ----------
    resample : {"items", "respondents"}
    estimator : the fitted estimator
    n_replicates : int
        Replicates that were finished.
    abilities : ndarray of shape (n_replicates, n_respondents, n_dims) or None
        With ``resample="items"``.
    correlations : ndarray of shape (n_replicates, n_scales, n_dims)
    mdisc : ndarray of shape (n_replicates, n_items) or None
        With ``resample="respondents"``.
    observed : ndarray of shape (n_scales, n_dims)
        Correlations of the fit itself.
    scales : list
        Names of the scales.
    n_units : int
        Number of units drawn: items, respondents, or groups of respondents.
    """

    resample: str
    estimator: BaseMIRT
    abilities: np.ndarray | None
    correlations: np.ndarray
    mdisc: np.ndarray | None
    observed: np.ndarray
    scales: list
    n_units: int

    @property
    def n_replicates(self):
        """Return the number of finished replicates."""
        return len(self.correlations)

    def ability_errors(self):
        """Return standard errors of the abilities, shape (n_respondents, n_dims).

        The spread of the replicates, with two corrections. Posterior means vary less
        than the errors they make: divided by the square root of the reliability 1 -
        (posterior variance). Items are learned from the same answers, so that those of
        a respondent who stands out are fitted too well: divided by 1 - h, where h is
        the leverage (1 + theta' inv(Phi) theta) / n_respondents.
        """
        draws = self._needed("items", self.abilities, "abilities")
        posterior = self.estimator.ability_posteriors_
        prior = posterior.prior_covariance
        error = posterior.standard_errors
        reliability = np.clip(1 - error**2 / np.diagonal(prior), 0.05, 1)
        theta = posterior.mean
        distance = np.einsum("ip,pq,iq->i", theta, np.linalg.inv(prior), theta)
        leverage = np.minimum((1 + distance) / len(theta), 0.5)
        spread = draws.std(0, ddof=1)
        return spread / np.sqrt(reliability) / (1 - leverage[:, None])

    def ability_table(self, level=0.95):
        """Return abilities with errors and intervals, one row per respondent."""
        import pandas as pd

        errors, theta = self.ability_errors(), self.estimator.abilities_
        reach = stats.norm.ppf(0.5 + level / 2) * errors
        columns = dimension_columns(
            {"": theta, "se_": errors, "low_": theta - reach, "high_": theta + reach}
        )
        index = pd.Index(self.estimator.respondents_, name="respondent")
        return pd.DataFrame(columns, index)

    def rank_table(self, dim=0, level=0.95):
        """Return ranks on one dimension, 1 the most able, with intervals and ties.

        Parameters
        ----------
        dim : int, default=0
        level : float, default=0.95

        Returns
        -------
        table : DataFrame, index respondent, sorted by rank
            ability, rank, low_rank, high_rank (quantiles of the rank over replicates),
            n_tied (others whose difference in ability from this respondent is not
            distinguishable from zero, each pair at `level`).
        """
        import pandas as pd

        theta = self.estimator.abilities_[:, dim]
        draws = self._spread_draws(dim)
        ranks = stats.rankdata(-draws, axis=1)
        tail = (1 - level) / 2
        low = np.quantile(ranks, tail, axis=0, method="inverted_cdf")
        high = np.quantile(ranks, 1 - tail, axis=0, method="inverted_cdf")
        rank = stats.rankdata(-theta, method="min").astype(int)
        table = pd.DataFrame(
            {
                "ability": theta,
                "rank": rank,
                # a single most likely rank may lie outside the central quantiles
                "low_rank": np.minimum(np.floor(low).astype(int), rank),
                "high_rank": np.maximum(np.ceil(high).astype(int), rank),
                "n_tied": self.tied(dim, level).sum(1),
            },
            pd.Index(self.estimator.respondents_, name="respondent"),
        )
        return table.sort_values("rank", kind="stable")

    def tied(self, dim=0, level=0.95):
        """Return which pairs of respondents cannot be told apart on a dimension.

        Returns
        -------
        tied : boolean ndarray of shape (n_respondents, n_respondents)
            The difference in ability is within the interval of no difference, pair by
            pair, unadjusted. The diagonal is False.
        """
        theta = self.estimator.abilities_[:, dim]
        covariance = np.atleast_2d(np.cov(self._spread_draws(dim).T))
        variance = np.diagonal(covariance)
        spread = variance[:, None] + variance - 2 * covariance
        reach = stats.norm.ppf(0.5 + level / 2) * np.sqrt(np.maximum(spread, 0))
        tied = np.abs(theta[:, None] - theta) < reach
        np.fill_diagonal(tied, False)
        return tied

    def correlation_errors(self):
        """Return standard errors of atanh(r), shape (n_scales, n_dims)."""
        z = np.arctanh(np.clip(self.correlations, -1 + 1e-9, 1 - 1e-9))
        return _spread(z)

    def correlation_table(self, level=0.95):
        """Return correlations with intervals, one row per scale."""
        return combined_intervals(self, level=level)

    def mdisc_table(self, level=0.95):
        """Return discriminations with intervals, one row per item."""
        import pandas as pd

        draws = self._needed("respondents", self.mdisc, "discriminations")
        error = np.log(np.maximum(draws, 1e-12)).std(0, ddof=1)
        reach = stats.norm.ppf(0.5 + level / 2) * error
        value = self.estimator.item_parameters_.mdisc
        low, high = value * np.exp(-reach), value * np.exp(reach)
        index = pd.Index(self.estimator.items_, name="item")
        return pd.DataFrame({"mdisc": value, "low": low, "high": high}, index)

    def _spread_draws(self, dim):
        """Return replicates of one ability, spread to the size of the errors."""
        draws = self._needed("items", self.abilities, "abilities")[:, :, dim]
        theta = self.estimator.abilities_[:, dim]
        wider = self.ability_errors()[:, dim] / np.maximum(draws.std(0, ddof=1), 1e-300)
        return theta + (draws - draws.mean(0)) * wider

    def _needed(self, resample, values, what):
        if values is None:
            raise ValueError(
                f"Intervals of {what} need bootstrap(..., resample={resample!r}), this "
                f"is resample={self.resample!r}"
            )
        return values


def combined_intervals(*bootstraps, level=0.95):
    """Return correlations of scales and dimensions with intervals.

    Parameters
    ----------
    *bootstraps : Bootstrap
        Of the same fit and scales; independent sources of error, whose variances on the
        scale of atanh(r) add. One over items and one over respondents give an interval
        for other respondents who meet other items of the same groups.
    level : float, default=0.95

    Returns
    -------
    table : DataFrame, index scale
        r_dim*, se_z_dim* (standard error of atanh(r)), low_dim*, high_dim*.
    """
    import pandas as pd

    error = np.sqrt(sum(b.correlation_errors() ** 2 for b in bootstraps))
    units = [b.n_units for b in bootstraps if b.resample == "respondents"]
    dof = min(units, default=np.inf) - 1
    r = bootstraps[0].observed
    low, high = fisher_interval(r, error, np.full(r.shape, dof), level)
    columns = dimension_columns({"r_": r, "se_z_": error, "low_": low, "high_": high})
    return pd.DataFrame(columns, pd.Index(bootstraps[0].scales, tupleize_cols=False))


def _spread(z):
    """Return the standard deviation over finite replicates; NaN under three."""
    finite = np.isfinite(z)
    count = finite.sum(0)
    mean = np.where(finite, z, 0).sum(0) / np.maximum(count, 1)
    square = np.where(finite, (z - mean) ** 2, 0).sum(0)
    return np.where(count >= 3, np.sqrt(square / np.maximum(count - 1, 1)), np.nan)


def bootstrap(
    estimator,
    responses,
    *,
    resample="items",
    n_replicates=200,
    respondent_groups=None,
    scales=None,
    max_iter=None,
    random_state=0,
    n_jobs=None,
    progress=None,
    keep=None,
):
    """Refit a model to resampled answers, starting from it and in its axes.

    Parameters
    ----------
    estimator : fitted MIRTTransformer or MIRTClassifier
    responses : ResponseData, DataFrame or array-like
        The answers of the fit.
    resample : {"items", "respondents"}, default="items"
        What is drawn with replacement: items within their group, or respondents.
    n_replicates : int, default=200
    respondent_groups : mapping, Series or array-like, default=None
        Group of each respondent (model family), by id or in order; whole groups are
        drawn. Only for ``resample="respondents"``.
    scales : Scales or array-like of shape (n_items,), default=None
        Sets of items whose mean scores are correlated with the abilities, or a label
        for each item. Default: the item groups of the fit.
    max_iter : int, default=None
        Passes of each replicate. Default: 10 for items (measured: within 1% of the
        spread of replicates fitted to convergence) and 60 for respondents, which move
        the axes, and that takes more.
    random_state : int, default=0
        Seed. Replicate b has a seed of its own, so the result is the same for every
        `n_jobs`, and the first replicates are the same whatever their number.
    n_jobs : int, default=None
        Replicates at a time. In ``joblib.parallel_config(backend="dask")`` they run on
        the workers of the cluster instead.
    progress : callable, default=None
        Called as ``progress(done, n_replicates)`` after each replicate.
    keep : path-like, default=None
        Folder where each finished replicate is kept; replicates found in it, of the
        same fit and settings, are not computed again.

    Returns
    -------
    result : Bootstrap
        After an interruption from the keyboard, of the replicates finished until then.

    Raises
    ------
    ValueError
        Unknown `resample`, other items than the fit's, a single group, or a folder
        `keep` with replicates of other data or settings.
    KeyboardInterrupt
        When fewer than three replicates were finished.

    Warns
    -----
    ResponseDataWarning
        The bootstrap was interrupted; the message says how many replicates it has.

    References
    ----------
    Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, chapters 6 and 8.
    """
    replicates: Replicates
    refitter, scales = Refitter(estimator, responses), Scales.of(scales, estimator)
    if resample == "items":
        replicates = ItemReplicates(refitter, scales, max_iter)
    elif resample == "respondents":
        replicates = RespondentReplicates(refitter, scales, max_iter, respondent_groups)
    else:
        raise ValueError(
            f"resample must be one of ('items', 'respondents'), got {resample!r}"
        )
    return replicates.run(
        n_replicates,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
        keep=keep,
    )


class Replicates:
    """Refits to resampled answers; see :func:`bootstrap`.

    Parameters
    ----------
    refitter : Refitter
    scales : Scales
    max_iter : int, default=None
    """

    resample: str
    passes: int
    n_units: int

    def __init__(self, refitter, scales, max_iter=None):
        self.max_iter = max_iter or self.passes
        self.refitter = refitter.using(max_iter=self.max_iter, tol=_TOL, n_jobs=1)
        self.scales, self.means = scales, scales.means(refitter.data)

    def replicate(self, seed):
        """Return one replicate as a dict of arrays."""
        raise NotImplementedError

    def settings(self):
        """Return what a replicate depends on besides its seed."""
        fit = self.refitter.estimator
        arrays = (fit.slopes_, fit.intercepts_, fit.abilities_, self.means)
        return {
            "fit": digest(arrays, self.refitter.design.groups.tolist()),
            "resample": self.resample,
            "max_iter": self.max_iter,
        }

    def run(
        self, n_replicates, *, random_state=0, n_jobs=None, progress=None, keep=None
    ):
        """Return the Bootstrap of some replicates."""
        replicate = self.replicate
        if keep is not None:
            settings = self.settings() | {"random_state": repr(random_state)}
            replicate = partial(_kept, KeptResults(keep, settings), replicate)
        seeds = np.random.SeedSequence(random_state).spawn(n_replicates)
        done = finished_in_order(replicate, seeds, n_jobs, progress)
        found = {name: np.array([part[name] for part in done]) for name in done[0]}
        estimator = self.refitter.estimator
        return Bootstrap(
            self.resample,
            estimator,
            found.get("abilities"),
            found["correlations"],
            found.get("mdisc"),
            pearson(estimator.abilities_, self.means),
            self.scales.names,
            self.n_units,
        )


def _kept(results, replicate, seed):
    """Return the replicate of a seed, computed unless it is among the results."""
    return results.get(f"{seed.spawn_key[-1]:05d}", partial(replicate, seed))


class ItemReplicates(Replicates):
    """Refits to items drawn within their group."""

    resample, passes = "items", 10

    def __init__(self, refitter, scales, max_iter=None):
        super().__init__(refitter, scales, max_iter)
        self.n_units = refitter.data.n_items

    def replicate(self, seed):
        """Return the abilities, and correlations with scores on the items drawn."""
        rng = np.random.default_rng(seed)
        index = _drawn_items(self.refitter.design.groups, rng)
        theta = self.refitter.fit(items=index).abilities.mean
        drawn = resampled(self.refitter.data, items=index)
        means = self.scales.take(index).means(drawn)
        return {"abilities": theta, "correlations": pearson(theta, means)}


class RespondentReplicates(Replicates):
    """Refits to respondents, or groups of them, drawn at random."""

    resample, passes = "respondents", 60

    def __init__(self, refitter, scales, max_iter=None, groups=None):
        super().__init__(refitter, scales, max_iter)
        self.families = _families(refitter.data.respondents, groups)
        self.n_units = len(self.families)

    def settings(self):
        """Return what a replicate depends on besides its seed."""
        families = digest([], *map(np.ndarray.tolist, self.families))
        return super().settings() | {"respondent_groups": families}

    def replicate(self, seed):
        """Return correlations of the respondents drawn, and discriminations."""
        index = _drawn_families(self.families, np.random.default_rng(seed))
        refit = self.refitter.fit(respondents=index)
        return {
            "correlations": pearson(refit.abilities.mean, self.means[index]),
            "mdisc": refit.items.mdisc.astype(np.float32),
        }


def _drawn_items(groups, rng):
    """Return items drawn within their group, sorted."""
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    return np.sort(np.concatenate([rng.choice(m, len(m)) for m in members]))


def _families(respondents, groups):
    """Return the places of the members of each group; each respondent without groups.

    Raises
    ------
    ValueError
        There is a single group, or a respondent without group.
    """
    if groups is None:
        return np.arange(len(respondents))[:, None]
    codes = respondent_codes(respondents, groups)
    if codes.max() < 1:
        raise ValueError(
            "The bootstrap over groups of respondents needs at least two of them, got "
            "one"
        )
    return [np.flatnonzero(codes == g) for g in range(codes.max() + 1)]


def _drawn_families(families, rng):
    """Return the members of as many groups, drawn with replacement, sorted."""
    chosen = rng.choice(len(families), len(families))
    return np.sort(np.concatenate([families[g] for g in chosen]))


def respondent_codes(respondents, groups):
    """Return the group of each respondent as an integer from 0."""
    return sorted_codes(group_labels(respondents, groups, "respondent"))[1]
