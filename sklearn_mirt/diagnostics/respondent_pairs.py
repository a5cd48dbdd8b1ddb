"""Two respondents side by side: a base model and its variant, answer by answer.

Both answered the same items, so the comparison is paired: what counts is the difference
on each item. Differences on items of one group (a benchmark, a family of prompts) are
not independent; the errors are those of a sum over groups.
"""

import numpy as np
from scipy import stats

from sklearn_mirt.data.responses import as_responses
from sklearn_mirt.diagnostics.correlations import adjusted
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
        tail) and with the smallest (its lower tail: items that the able get wrong).
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
    import pandas as pd

    data = as_responses(responses)
    scores = _scores_of(data, first, second)
    groups = _comparison_groups(estimator, data, item_groups)
    rows = {}
    for k, slopes in enumerate(estimator.slopes_.T):
        for name, chosen in _item_sets(slopes, tail, n_bins).items():
            chosen = chosen & ~np.isnan(scores).any(0)
            rows[f"dim{k + 1}", name] = _paired(
                scores[:, chosen], groups[chosen], level
            )
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["dimension", "items"])
    table.insert(table.columns.get_loc("p") + 1, "q", adjusted(table["p"].to_numpy()))
    return table


def benchmirt_pair_comparison(
    estimator, responses, first, second, *, tail=0.1, level=0.95
):
    """Compare two respondents as BenchMIRT does: unpaired t-test and Cohen's d.

    The scores of the two on the same items are treated as two independent samples,
    which throws away what both find hard and makes the error too large where they
    agree; kept to reproduce published figures. Use :func:`compare_respondents`.

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
    import pandas as pd

    data = as_responses(responses)
    scores = _scores_of(data, first, second)
    rows = {}
    for k, slopes in enumerate(estimator.slopes_.T):
        sets = _item_sets(slopes, tail, 0)
        for name in ("upper tail", "lower tail"):
            chosen = sets[name] & ~np.isnan(scores).any(0)
            rows[f"dim{k + 1}", name] = _unpaired(scores[:, chosen], level)
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=["dimension", "items"])
    return table


def _scores_of(data, first, second):
    """Scores of two respondents, (2, n_items), NaN where missing."""
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


def _item_sets(slopes, tail, n_bins):
    """Masks of items: all, tails of the slopes, bins of their size."""
    if not 0 < tail <= 0.5:
        raise ValueError(f"tail must be in (0, 0.5], got {tail!r}")
    n_tail = max(1, round(tail * len(slopes)))
    order = np.argsort(slopes, kind="stable")
    sets = {"all": np.ones(len(slopes), dtype=bool)}
    for name, chosen in (
        ("upper tail", order[::-1][:n_tail]),
        ("lower tail", order[:n_tail]),
    ):
        sets[name] = np.zeros(len(slopes), dtype=bool)
        sets[name][chosen] = True
    if n_bins:
        sizes = np.abs(slopes)
        edges = np.unique(np.quantile(sizes, np.linspace(0, 1, n_bins + 1)[1:-1]))
        code = np.searchsorted(edges, sizes, side="left")
        for b, value in enumerate(np.unique(code)):
            sets[f"bin {b + 1}"] = code == value
    return sets


def _paired(scores, groups, level):
    """Mean difference with an error clustered by group."""
    difference = scores[1] - scores[0]
    n, n_groups = len(difference), len(np.unique(groups))
    row = {
        "n_items": n,
        "n_groups": n_groups,
        "mean_first": scores[0].mean() if n else np.nan,
        "mean_second": scores[1].mean() if n else np.nan,
        "difference": difference.mean() if n else np.nan,
    }
    spread = difference.std(ddof=1) if n > 1 else np.nan
    error = np.nan
    if n_groups > 1:
        sums = np.bincount(groups, difference - difference.mean())
        error = np.sqrt(n_groups / (n_groups - 1) * (sums**2).sum()) / n
    reach = stats.t.ppf(0.5 + level / 2, max(n_groups - 1, 1)) * error
    t = row["difference"] / error if error > 0 else np.nan
    row |= {
        "se": error,
        "low": row["difference"] - reach,
        "high": row["difference"] + reach,
        "t": t,
        "p": 2 * stats.t.sf(abs(t), max(n_groups - 1, 1)),
        "effect_size": row["difference"] / spread if spread > 0 else np.nan,
    }
    return row


def _unpaired(scores, level):
    """Student's t of two samples taken as independent, and Cohen's d."""
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
