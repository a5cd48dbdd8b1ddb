"""What the page says: plain values for the templates, from the tables of an audit."""

from itertools import combinations

import numpy as np

from sklearn_mirt.audit.report.limits import limits
from sklearn_mirt.audit.tables import (
    average_information,
    is_backwards,
    is_saturated_item,
)
from sklearn_mirt.plots.style import columns_of, dimensions_of

_MOST_LISTED = 5
_MOST_SUBSETS = 200
# Verdicts in the order of the summary, what surprises first, with mark and words.
_VERDICTS = {
    "reversed": ("bad", "Run backwards: more able respondents score lower"),
    "measures another dimension": ("warn", "Measure another dimension than they say"),
    "mixed": ("warn", "Mixed"),
    "saturated": ("bad", "Saturated: too little room left to measure"),
    "not measurable": ("none", "Not measurable with these answers"),
    "measures what it says": ("ok", "Measure what they say"),
    "measures": ("ok", "Measure one dimension; nothing stated to compare"),
}


def page_context(audit, *, title=None):
    """Return the context of the templates.

    Parameters
    ----------
    audit : BenchmarkAudit
    title : str, default=None

    Returns
    -------
    context : dict of plain values
    """
    dims = dimensions_of(audit.benchmarks, "r_")
    benchmarks = _benchmarks(audit, dims)
    return {
        "title": title or "What does each benchmark measure?",
        "size": _size(audit),
        "dims": _dimensions(audit.dimensions),
        "benchmarks": benchmarks,
        "verdicts": _by_verdict(benchmarks),
        "has_stated": any(b["stated"] for b in benchmarks),
        "ability_correlation": _pairs(audit.ability_correlation),
        "has_ranks": any(c.startswith("rank_") for c in audit.abilities),
        "n_replicates": getattr(audit.bootstrap, "n_replicates", 0),
        "null": audit.null,
        "held_out": audit.held_out,
        "baseline": _best_baseline(audit.held_out),
        "limits": limits(audit),
        "about": audit.about or {},
    }


def _size(audit):
    n_cells = len(audit.abilities) * len(audit.items)
    n_answers = float(audit.items["n_answers"].sum())
    return {
        "respondents": len(audit.abilities),
        "n_items": len(audit.items),
        "benchmarks": len(audit.benchmarks),
        "answers": n_answers,
        "missing": max(0.0, 1 - n_answers / n_cells),
    }


def _dimensions(table):
    """Rows of the table of dimensions; NaN where the halves were not compared."""
    columns = ["name", "share", "congruence", "ceiling", "replicates"]
    rows = table.reindex(columns=columns).to_dict("records")
    return [{**row, "name": _capitalized(str(row["name"]))} for row in rows]


def _capitalized(name):
    return name[:1].upper() + name[1:]


def _benchmarks(audit, dims):
    lists = _item_lists(audit, dims)
    subsets: dict[str, list] = {}
    for (benchmark, subset), scale in _scales(audit.subsets, dims):
        listed = subsets.setdefault(benchmark, [])
        if len(listed) < _MOST_SUBSETS:
            listed.append({**scale, "name": str(subset)})
    return [
        {
            **scale,
            "name": str(name),
            "slug": f"benchmark-{number}",
            "subsets": subsets.get(name, []),
            "lists": lists[name],
        }
        for number, (name, scale) in enumerate(_scales(audit.benchmarks, dims))
    ]


def _scales(table, dims):
    """Yield key and values of each row of a table of benchmarks or of subsets."""
    nan = float("nan")
    for key, row in zip(table.index, table.to_dict("records"), strict=True):
        cells = [
            {
                "r": row[f"r_{d}"],
                "interval": (row[f"low_{d}"], row[f"high_{d}"]),
                "q": row.get(f"q_{d}", row.get(f"p_{d}", nan)),
                "cross": row.get(f"cross_{d}", nan),
            }
            for d in dims
        ]
        mark, _ = _VERDICTS.get(row["verdict"], ("none", ""))
        yield key, {"stated": "", "null_r": nan, **row, "mark": mark, "cells": cells}


def _by_verdict(benchmarks):
    groups = []
    for verdict, (mark, words) in _VERDICTS.items():
        members = [b for b in benchmarks if b["verdict"] == verdict]
        if members:
            groups.append({"mark": mark, "words": words, "members": members})
    return groups


def _item_lists(audit, dims):
    """Most and least informative items of each benchmark, and those that stand out."""
    table = audit.items
    information = average_information(audit.estimator)
    backwards, saturated = is_backwards(table, dims), is_saturated_item(table)
    benchmark = table["benchmark"].to_numpy(dtype=object)
    mean = table["mean_score"].to_numpy(dtype=float)
    slopes = columns_of(table, "slope_", dims)

    def listed(found):
        rows = [
            {
                "place": j,
                "id": str(table.index[j]),
                "mean": mean[j],
                "information": information[j],
                "slopes": slopes[j],
            }
            for j in found[:_MOST_LISTED]
        ]
        return {"n": len(found), "rows": rows}

    lists = {}
    for name in audit.benchmarks.index:
        places = np.flatnonzero(benchmark == name)
        order = places[np.argsort(-information[places], kind="stable")]
        lists[name] = {
            "most": listed(order[:_MOST_LISTED]),
            "least": listed(order[::-1][: min(_MOST_LISTED, len(order) - 1)]),
            "backwards": listed(order[backwards[order]]),
            "saturated": listed(order[saturated[order]]),
        }
    return lists


def _pairs(correlation):
    """Off-diagonal correlations of the abilities."""
    r = correlation.to_numpy(dtype=float)
    pairs = combinations(range(len(r)), 2)
    return [{"first": j, "second": k, "r": r[j, k]} for j, k in pairs]


def _best_baseline(held_out):
    """Name of the best baseline, and by how much its log loss is above the model's."""
    if held_out is None:
        return None
    losses = held_out.scores["log_loss"]
    baselines = losses.iloc[1:]  # the model comes first
    return {"name": baselines.idxmin(), "gain": baselines.min() - losses.iloc[0]}
