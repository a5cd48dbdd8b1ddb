"""What the page says: plain values for the templates, from the tables of an audit."""

import numpy as np

from sklearn_mirt.audit.report.limits import limits
from sklearn_mirt.audit.tables import (
    average_information,
    is_backwards,
    is_saturated_item,
)
from sklearn_mirt.plots import dimensions_of

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
        "dims": _dimensions(audit, dims),
        "benchmarks": benchmarks,
        "verdicts": _by_verdict(benchmarks),
        "has_subsets": len(audit.subsets) > 0,
        "has_stated": any(b["stated"] for b in benchmarks),
        "ability_correlation": _pairs(audit.ability_correlation),
        "has_ranks": any(c.startswith("rank_") for c in audit.abilities),
        "n_replicates": getattr(audit.bootstrap, "n_replicates", 0),
        "null": _null(audit.null),
        "held_out": _held_out(audit.held_out),
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


def _dimensions(audit, dims):
    rows = []
    for key, (_, row) in zip(dims, audit.dimensions.iterrows(), strict=True):
        name = str(row["name"])
        rows.append(
            {
                "key": key,
                "name": name[:1].upper() + name[1:],
                "share": float(row["share"]),
                "congruence": _float(row.get("congruence")),
                "ceiling": _float(row.get("ceiling")),
                "replicates": bool(row.get("replicates", False)),
            }
        )
    return rows


def _benchmarks(audit, dims):
    extremes = _item_lists(audit, dims)
    subsets: dict[str, list] = {}
    for (benchmark, subset), row in audit.subsets.iterrows():
        listed = subsets.setdefault(benchmark, [])
        if len(listed) < _MOST_SUBSETS:
            listed.append(_scale(subset, row, dims))
    out = []
    for number, (name, row) in enumerate(audit.benchmarks.iterrows()):
        scale = _scale(name, row, dims)
        scale |= {
            "slug": f"benchmark-{number}",
            "subsets": subsets.get(name, []),
            "lists": extremes[name],
        }
        out.append(scale)
    return out


def _scale(name, row, dims):
    """One row of the tables of benchmarks or of subsets."""
    mark, _ = _VERDICTS.get(row["verdict"], ("none", ""))
    return {
        "name": str(name),
        "n_items": int(row["n_items"]),
        "mean": float(row["mean_score"]),
        "saturated": float(row["saturated_items"]),
        "mdisc": float(row["mdisc"]),
        "stated": str(row.get("stated") or ""),
        "verdict": str(row["verdict"]),
        "mark": mark,
        "finding": str(row["finding"]),
        "null_r": _float(row.get("null_r")),
        "cells": [
            {
                "r": float(row[f"r_{d}"]),
                "interval": (float(row[f"low_{d}"]), float(row[f"high_{d}"])),
                "q": _float(row.get(f"q_{d}", row.get(f"p_{d}"))),
                "cross": _float(row.get(f"cross_{d}")),
            }
            for d in dims
        ],
    }


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
    mdisc = table["mdisc"].to_numpy(dtype=float)
    out = {}
    for name in audit.benchmarks.index:
        places = np.flatnonzero(benchmark == name)
        order = places[np.argsort(-information[places], kind="stable")]
        rows = {
            "most": order[:_MOST_LISTED],
            "least": order[::-1][: min(_MOST_LISTED, len(order) - 1)],
            "backwards": order[backwards[order]],
            "saturated": order[saturated[order]],
        }
        out[name] = {
            key: {
                "n": len(found),
                "rows": [
                    {
                        "place": int(j),
                        "id": str(table.index[j]),
                        "mean": float(mean[j]),
                        "mdisc": float(mdisc[j]),
                        "information": float(information[j]),
                        "slopes": [float(table[f"slope_{d}"].iat[j]) for d in dims],
                    }
                    for j in found[:_MOST_LISTED]
                ],
            }
            for key, found in rows.items()
        }
    return out


def _pairs(correlation):
    """Off-diagonal correlations of the abilities."""
    values = correlation.to_numpy(dtype=float)
    n = len(values)
    return [
        {"first": j, "second": k, "r": float(values[j, k])}
        for j in range(n)
        for k in range(j + 1, n)
    ]


def _null(null):
    if null is None:
        return None
    return {
        "share": float(null.share_of_items),
        "chance": float(null.null_share),
        "n_repeats": int(null.n_repeats),
    }


def _held_out(held_out):
    if held_out is None:
        return None
    table = held_out.scores.sort_values("log_loss", kind="stable")
    losses = held_out.scores["log_loss"]
    return {
        "n": int(held_out.n_answers),
        "share": float(held_out.share),
        "rows": [
            {"name": str(name), **{key: float(row[key]) for key in row.index}}
            for name, row in table.iterrows()
        ],
        "gain": float(losses.iloc[1:].min() - losses.iloc[0]),
        "best": str(losses.iloc[1:].idxmin()),
        "calibration": [
            {key: float(row[key]) for key in row.index}
            for _, row in held_out.calibration.iterrows()
        ],
    }


def _float(value):
    return float("nan") if value is None else float(value)
