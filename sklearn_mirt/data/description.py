"""What is in a matrix of responses, before any model: gaps, constants, copies."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sklearn_mirt.data.responses import ResponseData

_SHOWN = 5


def describe_responses(data: ResponseData) -> dict:
    """Count what a reader should know of responses before a fit.

    Parameters
    ----------
    data : ResponseData

    Returns
    -------
    summary : dict
        n_respondents, n_items, n_answers; share_missing; mean_score; kinds ("0/1" or
        "between 0 and 1"); weighted (whether scores are means of repeats);
        respondent_means, item_means (smallest, quartiles and largest); and, each a dict
        of `n` and the first few `ids`: all_right and all_wrong items, items and
        respondents without answers, near_constant items (mean score outside (0.05,
        0.95), not constant), duplicate_items and duplicate_respondents (each one after
        the first of identical ones); components, the numbers of respondents and items
        of each part of the data that shares neither with the others.

    Notes
    -----
    Two rows are identical if they have the same gaps and scores; they are found by a
    random hash of 64 bits.
    """
    item, respondent, scores, weights = data.cells()
    means = data.item_means()
    with np.errstate(invalid="ignore"):
        right, wrong = means == 1, means == 0
        near = ((means <= 0.05) | (means >= 0.95)) & ~right & ~wrong
    n_cells = data.n_respondents * data.n_items
    binary = bool(np.isin(scores, (0, 1)).all())
    by_item = _signatures(item, respondent, scores, data.n_items, data.n_respondents)
    by_row = _signatures(respondent, item, scores, data.n_respondents, data.n_items)
    silent = np.isnan(means), np.isnan(data.respondent_means())
    return {
        "n_respondents": data.n_respondents,
        "n_items": data.n_items,
        "n_answers": data.n_observed,
        "share_missing": 1 - data.n_observed / n_cells,
        "mean_score": float(np.mean(scores)) if len(scores) else np.nan,
        "kinds": "0/1" if binary else "between 0 and 1",
        "weighted": weights is not None,
        "respondent_means": _quantiles(data.respondent_means()),
        "item_means": _quantiles(means),
        "items_without_answers": _some(data.items, silent[0]),
        "respondents_without_answers": _some(data.respondents, silent[1]),
        "all_right_items": _some(data.items, right),
        "all_wrong_items": _some(data.items, wrong),
        "near_constant_items": _some(data.items, near),
        "duplicate_items": _some(data.items, _copies(by_item, ~silent[0])),
        "duplicate_respondents": _some(data.respondents, _copies(by_row, ~silent[1])),
        "components": _components(item, respondent, silent),
    }


def describe_groups(data: ResponseData, groups):
    """Tabulate item groups: size, answers, mean score, spread over respondents.

    Parameters
    ----------
    data : ResponseData
    groups : sequence of str of length n_items

    Returns
    -------
    table : DataFrame, index group
        n_items, share_missing, mean_score, low_respondent, high_respondent (mean scores
        on the group), constant_items.
    """
    import pandas as pd

    labels, codes = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    by_group = data.group_means(codes, len(labels))
    means = data.item_means()
    weight = np.bincount(data.cells()[0], minlength=data.n_items)
    n_items = np.bincount(codes, minlength=len(labels))
    answers = np.bincount(codes, weight, len(labels))
    # a group that nobody answered has no mean
    filled = ~np.isnan(by_group).all(axis=0)
    columns = {name: np.full(len(labels), np.nan) for name in ("mean", "low", "high")}
    for name, function in (
        ("mean", np.nanmean),
        ("low", np.nanmin),
        ("high", np.nanmax),
    ):
        columns[name][filled] = function(by_group[:, filled], axis=0)
    return pd.DataFrame(
        {
            "n_items": n_items,
            "share_missing": 1 - answers / (n_items * data.n_respondents),
            "mean_score": columns["mean"],
            "low_respondent": columns["low"],
            "high_respondent": columns["high"],
            "constant_items": np.bincount(
                codes, (means == 0) | (means == 1), len(labels)
            ).astype(int),
        },
        index=pd.Index(labels, name="group"),
    )


def _some(ids, chosen) -> dict:
    return {"n": int(chosen.sum()), "ids": [str(v) for v in ids[chosen][:_SHOWN]]}


def _quantiles(values) -> list[float]:
    values = values[~np.isnan(values)]
    if not len(values):
        return []
    return np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()


def _signatures(rows, columns, scores, n_rows, n_columns):
    """Return a hash of the answers of each row."""
    keys = np.random.default_rng(0).integers(0, 2**64, n_columns, dtype=np.uint64)
    # odd, so that a score of 0 counts as an answer too
    factors = 2 * np.asarray(scores, dtype=np.float32).view(np.uint32) + np.uint32(1)
    out = np.zeros(n_rows, dtype=np.uint64)
    np.add.at(out, rows, keys[columns] * factors.astype(np.uint64))
    return out


def _copies(signatures, answered):
    """Mark each row that is the same as an earlier one; empty rows are no copies."""
    first = np.unique(signatures, return_index=True)[1]
    copies = np.ones(len(signatures), dtype=bool)
    copies[first] = False
    return copies & answered


def _components(item, respondent, silent) -> list[dict]:
    n_items, n_respondents = map(len, silent)
    n = n_items + n_respondents
    links = sparse.coo_matrix(
        (np.ones(len(item), dtype=np.int8), (item, respondent + n_items)), (n, n)
    )
    label = connected_components(links, directed=False)[1]
    sizes = [
        {
            "n_respondents": int(((label[n_items:] == k) & ~silent[1]).sum()),
            "n_items": int(((label[:n_items] == k) & ~silent[0]).sum()),
        }
        for k in np.unique(label[respondent + n_items])
    ]
    return sorted(sizes, key=lambda part: -part["n_items"])
