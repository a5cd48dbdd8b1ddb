"""Comparison of two respondents, such as a base model and its variant.

Both answered the same items, so the comparison is paired: what counts is the difference
on each item. Differences on items of one group (a benchmark, a family of prompts) are
not independent; the errors are those of a sum over groups.
"""

import numpy as np
from scipy import stats

from sklearn_mirt.data.responses import as_responses
from sklearn_mirt.diagnostics.correlations import adjusted
from sklearn_mirt.models.abilities import dimension_names
from sklearn_mirt.models.item_design import group_labels, sorted_codes


def compare_respondents(
    estimator,
    responses,
    first,
    second,
    *,
    item_groups=None,
    tail=0.1,
    n_bins=5,
    level=0.95,
):
    """Compare two respondents on the items that tell most about each dimension.

    Parameters
    ----------
    estimator : fitted MIRTTransformer or MIRTClassifier
    responses : ResponseData, DataFrame or array-like
        The answers; only those of the two respondents are read.
    first, second : ids of respondents
        Differences are second less first: variant less base.
    item_groups : mapping, Series or array-like, default=None
        Group of each item within which differences are dependent; default: the item
        groups of the fit if there are several, else every item by itself.
    tail : float in (0, 0.5], default=0.1
        Share of the items, those with the largest slopes on a dimension (its upper
        tail) and with the smallest (its lower tail).
    n_bins : int, default=5
        Bins of equal numbers of items by their discrimination ``|a_jk|`` on the
        dimension; ties stay together, so bins may be fewer.
    level : float, default=0.95

    Returns
    -------
    table : DataFrame, index (dimension, items)
        items is "all", "upper tail", "lower tail", "bin 1" (least discriminating)...
        n_items, n_groups, mean_first, mean_second, difference, se (clustered by item
        group), low, high, t, p, q (adjusted for all tests of the table, Benjamini &
        Yekutieli), effect_size (difference over the standard deviation of the paired
        differences). Items of one group only have no error: give finer groups.

    Raises
    ------
    ValueError
        An unknown respondent, or one compared with itself.

    Notes
    -----
    With residuals e_j = d_j - mean and G groups, se^2 = G / (G - 1) sum_g (sum_{j in g}
    e_j)^2 / n^2, and t has G - 1 degrees of freedom (Cameron & Miller 2015, J. Human
    Resources 50; Miller 2024, *Adding error bars to evals*). With few groups of very
    different size it is still too small; the number of groups is in the table.
    """
    data = as_responses(responses)
    scores = _scores_of(data, first, second)
    groups = _comparison_groups(estimator, data, item_groups)
    table = _by_item_set(
        scores,
        [_item_sets(slopes, tail, n_bins) for slopes in estimator.slopes_.T],
        lambda chosen: _paired(scores[:, chosen], groups[chosen], level),
    )
    table.insert(table.columns.get_loc("p") + 1, "q", adjusted(table["p"].to_numpy()))
    return table


def benchmirt_pair_comparison(
    estimator, responses, first, second, *, tail=0.1, level=0.95
):
    """Compare two respondents as BenchMIRT does: unpaired t-test and Cohen's d.

    The scores of the two on the same items are treated as two independent samples. This
    ignores that both find the same items hard, so the error is too large where they
    agree. Kept to reproduce published figures; use :func:`compare_respondents`.

    Parameters
    ----------
    estimator : fitted MIRTTransformer or MIRTClassifier
    responses : ResponseData, DataFrame or array-like
        The answers, as in :func:`compare_respondents`.
    first, second : object
        Ids of the respondents.
    tail : float, default=0.1
        Share of the items at each end of a dimension.
    level : float, default=0.95

    Returns
    -------
    table : DataFrame, index (dimension, items)
        items is "upper tail" or "lower tail"; n_items, mean_first, mean_second,
        difference (second less first), low, high, t, p (Student's t, equal variances),
        cohens_d (difference over the pooled standard deviation).
    """
    scores = _scores_of(as_responses(responses), first, second)
    tails = [_tails(slopes, tail) for slopes in estimator.slopes_.T]
    return _by_item_set(
        scores, tails, lambda chosen: _unpaired(scores[:, chosen], level)
    )


def _by_item_set(scores, item_sets, compare):
    """Return a table of compare(items), one row per dimension and set of items.

    Items that one of the two respondents has not answered are left out.
    """
    import pandas as pd

    answered = ~np.isnan(scores).any(0)
    rows = {
        (dim, name): compare(chosen & answered)
        for dim, sets in zip(dimension_names(len(item_sets)), item_sets, strict=True)
        for name, chosen in sets.items()
    }
    index = pd.MultiIndex.from_tuples(rows, names=["dimension", "items"])
    return pd.DataFrame(list(rows.values()), index)


def _scores_of(data, first, second):
    """Return the scores of two respondents, (2, n_items), NaN where missing."""
    if first == second:
        raise ValueError(f"The respondent {first!r} cannot be compared with itself")
    rows = []
    for respondent in (first, second):
        place = np.flatnonzero(data.respondents == respondent)
        if not len(place):
            raise ValueError(f"There is no respondent {respondent!r} in the responses")
        rows.append(place[0])
    return data.take(respondents=np.array(rows)).to_wide()


def _comparison_groups(estimator, data, item_groups):
    if item_groups is not None:
        return sorted_codes(group_labels(data.items, item_groups))[1]
    codes = sorted_codes(estimator.item_groups_)[1]
    return codes if codes.max() > 0 else np.arange(len(codes))


def _tails(slopes, tail):
    """Return masks of the items with the largest and with the smallest slopes."""
    if not 0 < tail <= 0.5:
        raise ValueError(f"tail must be in (0, 0.5], got {tail!r}")
    n_tail = max(1, round(tail * len(slopes)))
    order, places = np.argsort(slopes, kind="stable"), np.arange(len(slopes))
    return {
        "upper tail": np.isin(places, order[-n_tail:]),
        "lower tail": np.isin(places, order[:n_tail]),
    }


def _item_sets(slopes, tail, n_bins):
    """Return masks of items: all, tails of the slopes, bins of their size."""
    sets = {"all": np.ones(len(slopes), dtype=bool), **_tails(slopes, tail)}
    if not n_bins:
        return sets
    sizes = np.abs(slopes)
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, n_bins + 1)[1:-1]))
    code = np.searchsorted(edges, sizes, side="left")
    for b, value in enumerate(np.unique(code)):
        sets[f"bin {b + 1}"] = code == value
    return sets


def _paired(scores, groups, level):
    """Return the mean difference with an error clustered by group."""
    first, second = scores
    difference = second - first
    n, n_groups = len(difference), len(np.unique(groups))
    mean = difference.mean() if n else np.nan
    spread = difference.std(ddof=1) if n > 1 else np.nan
    dof, error = max(n_groups - 1, 1), np.nan
    if n_groups > 1:
        sums = np.bincount(groups, difference - mean)
        error = np.sqrt(n_groups / (n_groups - 1) * (sums**2).sum()) / n
    reach = stats.t.ppf(0.5 + level / 2, dof) * error
    t = mean / error if error > 0 else np.nan
    return {
        "n_items": n,
        "n_groups": n_groups,
        "mean_first": first.mean() if n else np.nan,
        "mean_second": second.mean() if n else np.nan,
        "difference": mean,
        "se": error,
        "low": mean - reach,
        "high": mean + reach,
        "t": t,
        "p": 2 * stats.t.sf(abs(t), dof),
        "effect_size": mean / spread if spread > 0 else np.nan,
    }


def _unpaired(scores, level):
    """Return Student's t of two samples taken as independent, and Cohen's d."""
    first, second = scores
    n = len(first)
    result = stats.ttest_ind(second, first)
    interval = result.confidence_interval(level)
    pooled = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2)
    difference = second.mean() - first.mean()
    return {
        "n_items": n,
        "mean_first": first.mean(),
        "mean_second": second.mean(),
        "difference": difference,
        "low": interval.low,
        "high": interval.high,
        "t": result.statistic,
        "p": result.pvalue,
        "cohens_d": difference / pooled if pooled > 0 else np.nan,
    }
