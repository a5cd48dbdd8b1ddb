"""How well an exact fit describes the answers to each item.

References
----------
Orlando and Thissen (2000), Applied Psychological Measurement 24, 50-64 (S-X2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from sklearn_mirt.diagnostics.respondent_fit import log_likelihood_moments
from sklearn_mirt.solvers.quadrature.fit_result import ExactFit
from sklearn_mirt.solvers.quadrature.respondent_scores import (
    item_log_tables,
    node_weights,
    recode,
    sum_score_likelihoods,
)


@dataclass(frozen=True, eq=False)
class ItemFit:
    """S-X2 of every item; NaN p-values where no degrees of freedom are left."""

    items: np.ndarray
    statistic: np.ndarray
    df: np.ndarray
    p_value: np.ndarray


def item_fit(fit: ExactFit, responses, *, min_expected: float = 1.0) -> ItemFit:
    """Return the S-X2 statistic of each item.

    Observed and expected answers are compared at each sum score (but the lowest and
    the highest, where they agree by construction). Score groups with an expected count
    under ``min_expected`` are merged with their neighbour towards the middle, and
    categories that are still too rare with the next one.

    Parameters
    ----------
    fit : ExactFit
    responses : array-like of shape (n_respondents, n_items)
        The data of the fit; without missing answers.
    min_expected : float

    Returns
    -------
    ItemFit
    """
    coded = complete_answers(fit, responses, "S-X2").astype(int)
    tables, weights = item_log_tables(fit), node_weights(fit)
    totals = coded.sum(1)
    everyone = sum_score_likelihoods(tables) @ weights
    n_scores = len(everyone)
    statistic, df = np.zeros(fit.spec.n_items), np.zeros(fit.spec.n_items, dtype=int)
    for item, _, where in fit.item_positions():
        others = sum_score_likelihoods(tables[:item] + tables[item + 1 :])
        p = np.exp(tables[item])
        expected, observed = np.zeros((2, n_scores, len(p)))
        for k in range(len(p)):
            joint = (others * p[k]) @ weights
            expected[k : k + len(joint), k] = joint / everyone[k : k + len(joint)]
            observed[:, k] = np.bincount(
                totals[coded[:, item] == k], minlength=n_scores
            )
        expected *= observed.sum(1, keepdims=True)
        inner = slice(1, n_scores - 1)
        cells = _merge_cells(expected[inner], observed[inner], min_expected)
        n_free = len(np.unique(fit.spec.index[where][fit.spec.index[where] >= 0]))
        statistic[item] = sum(((o - e) ** 2 / e).sum() for e, o in cells)
        df[item] = sum(len(e) - 1 for e, _ in cells) - n_free
    p_value = np.where(df > 0, chi2.sf(statistic, np.maximum(df, 1)), np.nan)
    return ItemFit(fit.items, statistic, df, p_value)


def _merge_cells(expected, observed, smallest):
    """Return (expected, observed) rows after merging score groups and categories."""
    expected, observed = list(expected), list(observed)
    for end in (0, -1):
        while len(expected) > 1 and expected[end].min() < smallest:
            e, o = expected.pop(end), observed.pop(end)
            expected[end] = expected[end] + e
            observed[end] = observed[end] + o
    return [
        _merge_categories(e, o, smallest)
        for e, o in zip(expected, observed, strict=True)
        if e.sum() > 0
    ]


def _merge_categories(expected, observed, smallest):
    expected, observed = list(expected), list(observed)
    k = 0
    while k < len(expected) and len(expected) > 1:
        if expected[k] >= smallest:
            k += 1
            continue
        to = k + 1 if k + 1 < len(expected) else k - 1
        expected[to] += expected[k]
        observed[to] += observed[k]
        del expected[k], observed[k]
        k = max(min(k, to) - 1, 0)
    return np.array(expected), np.array(observed)


def item_zh(fit: ExactFit, responses, *, method: str = "eap") -> np.ndarray:
    """Return Zh of each item: large negative values are unlikely answers.

    As :func:`person_zh`, summed over respondents instead of items.

    Parameters
    ----------
    fit : ExactFit
    responses : array-like of shape (n_respondents, n_items)
    method : {"eap", "map", "ml"}, default="eap"
        How abilities are estimated.

    Returns
    -------
    zh : ndarray of shape (n_items,)
    """
    value, mean, variance = log_likelihood_moments(fit, responses, method)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (value - mean).sum(0) / np.sqrt(variance.sum(0))


def complete_answers(fit, responses, what):
    """Return the responses as categories; raise ValueError where one is missing."""
    coded = recode(fit, np.asarray(responses, dtype=float))
    if np.isnan(coded).any():
        row, column = np.argwhere(np.isnan(coded))[0]
        raise ValueError(
            f"{what} needs complete data; row {row} has no answer to item "
            f"{fit.items[column]!r}. Drop incomplete respondents first."
        )
    return coded
