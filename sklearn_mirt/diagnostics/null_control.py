"""Null control: what the same analysis finds in answers without any ability.

:func:`null_control` permutes the answers to each item among the respondents. The
margins of the items stay, abilities vanish; a fit to such answers shows what chance can
do, and the fact that scores are part of the answers behind the abilities.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from sklearn_mirt.data.resampling import permuted_within_items
from sklearn_mirt.diagnostics.correlations import Scales, pearson
from sklearn_mirt.diagnostics.refit import Refitter
from sklearn_mirt.models.abilities import dimension_columns

_BINS = 10  # of mean score, within which items are compared, at most
_FEWEST_NULL = 1000  # permuted items of a bin: fewer would make p-values coarse


@dataclass(frozen=True, eq=False)
class NullControl:
    """Observed against permuted answers; see :func:`null_control`.

    Attributes
    ----------
    items : DataFrame, index item
        explained (share of the variance of the answers that abilities explain),
        p_null, q_null (adjusted, Benjamini & Hochberg), beats_null.
    correlations : DataFrame, index scale
        r_dim* as observed, null_r (largest |r| of the scale in any permutation and
        dimension), beats_dim*.
    share_of_items : float
        Share of items that beat the null.
    null_share : float
        The same share among permuted answers, each repeat against the others; the
        level of the test if all is well. NaN with one repeat.
    n_repeats : int
    """

    items: object
    correlations: object
    share_of_items: float
    null_share: float
    n_repeats: int


def null_control(
    estimator,
    responses,
    *,
    scales=None,
    n_repeats=5,
    level=0.05,
    max_iter=50,
    tol=1e-5,
    random_state=0,
    n_jobs=None,
    progress=None,
):
    """Repeat the analysis on answers permuted within items.

    Parameters
    ----------
    estimator : fitted MIRTTransformer or MIRTClassifier
    responses : ResponseData, DataFrame or array-like
        The answers of the fit.
    scales : Scales or array-like of shape (n_items,), default=None
        Sets of items whose mean scores are correlated with the abilities; default: the
        item groups of the fit.
    n_repeats : int, default=5
        Permutations, each fitted from a cold start.
    level : float, default=0.05
        False discovery rate of the items reported to beat the null.
    max_iter, tol : int, float
        Of each fit.
    random_state : int, default=0
    n_jobs : int, default=None
        Threads.
    progress : callable, default=None
        Called as ``progress(done, n_repeats)``.

    Returns
    -------
    result : NullControl

    Notes
    -----
    An item's p-value is the share of permuted items of like mean score (ten bins, fewer
    for few items) whose abilities explain as much. Slopes could not be compared: the
    learned prior draws those of permuted answers to zero.
    """
    refitter = Refitter(estimator, responses, max_iter=max_iter, tol=tol, n_jobs=n_jobs)
    return refit_permuted(
        refitter,
        scales=scales,
        n_repeats=n_repeats,
        level=level,
        random_state=random_state,
        progress=progress,
    )


def refit_permuted(
    refitter, *, scales=None, n_repeats=5, level=0.05, random_state=0, progress=None
):
    """Return the NullControl of a Refitter; see :func:`null_control`."""
    data, abilities = refitter.data, refitter.estimator.abilities_
    scales = Scales.of(scales, refitter.estimator)
    rng = np.random.default_rng(random_state)
    shares, largest = [], []
    for done in range(n_repeats):
        permuted = permuted_within_items(data, rng)
        theta = refitter.fit_data(permuted).abilities.mean
        shares.append(explained_shares(permuted, theta))
        largest.append(np.abs(pearson(theta, scales.means(permuted))).max(1))
        if progress is not None:
            progress(done + 1, n_repeats)
    null = np.array(shares)
    items = _item_table(data, explained_shares(data, abilities), null, level)
    r = pearson(abilities, scales.means(data))
    return NullControl(
        items,
        _correlation_table(r, np.max(largest, axis=0), scales.names),
        float(items["beats_null"].mean()),
        _share_among_permuted(data, null, level),
        n_repeats,
    )


def explained_shares(data, abilities):
    """Return the share of the variance of each item's answers that abilities explain.

    The squared multiple correlation of least squares on (1, theta), over the
    respondents who answered.

    Parameters
    ----------
    data : ResponseData
    abilities : ndarray of shape (n_respondents, n_dims)

    Returns
    -------
    shares : ndarray of shape (n_items,)
        NaN for an item with fewer than n_dims + 2 answers, or all alike.
    """
    features = np.column_stack([np.ones(len(abilities)), abilities])
    k = features.shape[1]
    products = (features[:, :, None] * features[:, None, :]).reshape(-1, k * k)
    out = []
    for block in data.blocks():
        moments, linear, square = _block_sums(block, features, products)
        moments = moments.reshape(-1, k, k)
        n, total = moments[:, 0, 0], linear[:, 0]
        ridge = 1e-9 * (1 + n)[:, None, None] * np.eye(k)
        fitted = np.linalg.solve(moments + ridge, linear[:, :, None])[:, :, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = total**2 / n
            share = ((fitted * linear).sum(1) - centre) / (square - centre)
        usable = (n >= k + 1) & (square - centre > 1e-9 * (1 + n))
        out.append(np.where(usable, np.clip(share, 0, 1), np.nan))
    return np.concatenate(out)


def _block_sums(block, features, products):
    """Return sums over the answers of products, score x features, score^2."""
    weights = 1.0 if block.weights is None else block.weights.astype(float)
    if hasattr(block, "offsets"):
        scores = block.scores.astype(float)
        w = np.broadcast_to(weights, scores.shape)
        item = np.repeat(np.arange(block.stop - block.start), np.diff(block.offsets))
        rows = block.respondents
        n_items = block.stop - block.start
        sums = [np.zeros((n_items, t.shape[1])) for t in (products, features)]
        np.add.at(sums[0], item, w[:, None] * products[rows])
        np.add.at(sums[1], item, (w * scores)[:, None] * features[rows])
        return *sums, np.bincount(item, w * scores**2, n_items)
    seen = (block.scores >= 0) * weights
    scored = seen * block.scores
    square = (scored * block.scores).sum(1)
    return seen @ products, scored @ features, square


def _bins(data, n_repeats):
    """Return the bin of the mean score of each item; equal edges fall together."""
    n_bins = int(np.clip(data.n_items * n_repeats // _FEWEST_NULL, 1, _BINS))
    means = np.nan_to_num(data.item_means(), nan=0.5)
    edges = np.unique(np.quantile(means, np.linspace(0, 1, n_bins + 1)[1:-1]))
    return np.searchsorted(edges, means, side="right")


def _p_values(observed, null, bins):
    """Return the share of the null of the same bin that is at least as large."""
    p = np.full(len(observed), np.nan)
    for b in np.unique(bins):
        here = (bins == b) & ~np.isnan(observed)
        pool = null[:, bins == b].ravel()
        pool = np.sort(pool[~np.isnan(pool)])
        as_large = len(pool) - np.searchsorted(pool, observed[here], side="left")
        p[here] = (1 + as_large) / (1 + len(pool))
    return p


def _beating(p, level):
    q, known = np.full(len(p), np.nan), ~np.isnan(p)
    if known.any():
        q[known] = stats.false_discovery_control(p[known])
    return q, np.nan_to_num(q, nan=1.0) <= level


def _item_table(data, observed, null, level):
    import pandas as pd

    p = _p_values(observed, null, _bins(data, len(null)))
    q, beats = _beating(p, level)
    return pd.DataFrame(
        {"explained": observed, "p_null": p, "q_null": q, "beats_null": beats},
        pd.Index(data.items, name="item"),
    )


def _share_among_permuted(data, null, level):
    """Return the share of permuted items that beat the other permutations."""
    if len(null) < 2:
        return np.nan
    bins = _bins(data, len(null))
    shares = [
        _beating(_p_values(row, np.delete(null, k, axis=0), bins), level)[1].mean()
        for k, row in enumerate(null)
    ]
    return float(np.mean(shares))


def _correlation_table(r, null, names):
    import pandas as pd

    columns = dimension_columns({"r_": r})
    columns["null_r"] = null
    columns |= dimension_columns({"beats_": np.abs(r) > null[:, None]})
    return pd.DataFrame(columns, pd.Index(names, tupleize_cols=False))
