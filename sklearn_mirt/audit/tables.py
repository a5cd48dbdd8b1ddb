"""The tables of an audit: benchmarks, subsets, respondents, items, dimensions."""

import numpy as np
from sklearn.base import clone

from sklearn_mirt.diagnostics.correlations import (
    Scales,
    adjusted,
    fisher_errors,
    fisher_interval,
    fisher_p_values,
    mean_of_known,
    pearson,
)
from sklearn_mirt.models.abilities import dimension_names
from sklearn_mirt.models.information import item_information
from sklearn_mirt.models.item_design import sorted_codes

_LABELS = ("benchmark", "subset", "category", "stated_dimension", "text")
_MOST_RESPONDENTS = 100  # at which information is averaged
_SATURATED = 0.05
_SIGNIFICANT = 1.96  # standard errors


def item_labels(ids, items):
    """Return benchmark, subset, category... of each item, joined by id.

    Parameters
    ----------
    ids : ndarray of shape (n_items,)
    items : DataFrame or None
        Index: item ids.

    Returns
    -------
    labels : dict of object ndarrays of shape (n_items,)
        "benchmark" always; the others where the table has them, "" where missing.

    Raises
    ------
    ValueError
        An item is missing, repeated, or without benchmark.
    """
    if items is None:
        return {"benchmark": np.array(["all items"] * len(ids), dtype=object)}
    known = set(items.index)
    missing = [item for item in ids if item not in known]
    if missing:
        raise ValueError(
            f"The item table has no row for item {missing[0]!r} ({len(missing)} of "
            f"{len(ids)} items are missing from it)"
        )
    if not items.index.is_unique:
        repeated = items.index[items.index.duplicated()][0]
        raise ValueError(f"The item table has more than one row for item {repeated!r}")
    rows, labels = items.loc[list(ids)], {}
    for column in _LABELS:
        if column in rows:
            values = rows[column].astype(object)
            if column == "benchmark" and values.isna().any():
                item = values.index[values.isna()][0]
                raise ValueError(f"The item table has no benchmark for item {item!r}")
            labels[column] = values.where(values.notna(), "").to_numpy()
    labels.setdefault("benchmark", np.array(["all items"] * len(ids), dtype=object))
    return labels


def with_item_groups(estimator, ids, labels):
    """Return an unfitted copy whose item groups are the benchmarks, unless it has some.

    Parameters
    ----------
    estimator : MIRTTransformer
    ids : ndarray of shape (n_items,)
    labels : dict
        As of `item_labels`.
    """
    model = clone(estimator)
    if model.item_groups is None:
        groups = dict(zip(ids, labels["benchmark"], strict=True))
        model.set_params(item_groups=groups)
    return model


def audit_scales(labels):
    """Return the scales of an audit, and which of them are benchmarks.

    Parameters
    ----------
    labels : dict
        As of `item_labels`.

    Returns
    -------
    scales : Scales
        Benchmarks, then (benchmark, subset) pairs.
    n_benchmarks : int
    """
    benchmark = labels["benchmark"]
    pairs = np.empty(len(benchmark), dtype=object)
    pairs[:] = list(zip(benchmark, labels.get("subset", benchmark), strict=True))
    parts, codes = sorted_codes(pairs)
    names, of_part = sorted_codes([pair[0] for pair in parts])
    members = of_part == np.arange(len(names))[:, None]
    members = np.vstack([members, np.eye(len(parts), dtype=bool)])
    return Scales(codes, members, [*names, *parts]), len(names)


def scale_table(model, data, scales, labels, items, clusters, fits):
    """Return one row per scale: size, mean, correlations with intervals and p-values.

    Parameters
    ----------
    model : fitted estimator
    data : ResponseData
    scales : Scales
    labels : dict
    items : DataFrame
        The item table of the audit.
    clusters : ndarray of int or None
        Groups of respondents.
    fits : AuditFits
        p-values are across the halves, or else of the correlation as it stands. The
        bootstrap, over items, adds its variance to the intervals.
    """
    import pandas as pd

    of_item = scales.members[:, scales.parts]
    n_items = of_item.sum(1)
    means = scales.means(data)
    item_means = items["mean_score"].to_numpy()
    outside = ~((item_means > 0.05) & (item_means < 0.95))
    table = pd.DataFrame(
        {
            "n_items": n_items,
            "mean_score": mean_of_known(means),
            "saturated_items": of_item @ outside / n_items,
        },
        index=pd.Index(scales.names, tupleize_cols=False),
    )
    r = pearson(model.abilities_, means)
    errors, dof = fisher_errors(model.abilities_, means, clusters)
    cross, p = np.full(r.shape, np.nan), fisher_p_values(r, errors, dof[:, None])
    if fits.halves is not None:
        cross, p = fits.halves.cross_correlations(data, scales, clusters)
    if fits.bootstrap is not None:
        errors = np.sqrt(errors**2 + fits.bootstrap.correlation_errors() ** 2)
    low, high = fisher_interval(r, errors, dof[:, None])
    columns = {"r": r, "p": p, "low": low, "high": high, "cross": cross}
    # at once: a table of many columns added one by one is slow
    parts = [_by_dimension(name, columns[name], table.index) for name in columns]
    table = pd.concat([table, *parts], axis=1)
    mdisc = items["mdisc"].to_numpy()
    table["mdisc"] = [np.median(mdisc[row]) for row in of_item]
    key = "stated_dimension" if "stated_dimension" in labels else "category"
    if key in labels:
        table["stated"] = [_one_label(labels[key][row]) for row in of_item]
    return table


def with_adjusted(table):
    """Add q_dim*: p-values adjusted for all correlations of the table."""
    import pandas as pd

    q = adjusted(table.filter(regex="^p_dim").to_numpy())
    return pd.concat([table, _by_dimension("q", q, table.index)], axis=1)


def _by_dimension(prefix, values, index):
    """Return a DataFrame with the columns prefix_dim1, prefix_dim2..."""
    import pandas as pd

    names = [f"{prefix}_{name}" for name in dimension_names(values.shape[1])]
    return pd.DataFrame(values, index, names)


def _one_label(values):
    """Return the label that all items share, or ""."""
    first = values[0]
    return first if all(value == first for value in values) else ""


def ability_table(model, data, bootstrap=None):
    """Return one row per respondent: abilities and errors; ranks if bootstrapped."""
    import pandas as pd

    names = dimension_names(model.n_dims_)
    errors = [f"se_{name}" for name in names]
    table = model.ability_posteriors_.to_frame()[names + errors]
    (_, weight), _ = data.sums()
    table["mean_score"], table["n_answers"] = data.respondent_means(), weight
    if bootstrap is None:
        return table
    intervals = bootstrap.ability_table()
    table[errors] = intervals[errors]
    parts = [table]
    for k, name in enumerate(names):
        parts.append(intervals[[f"low_{name}", f"high_{name}"]])
        ranks = bootstrap.rank_table(k).loc[data.respondents]
        ranks = ranks[["rank", "low_rank", "high_rank", "n_tied"]]
        parts.append(ranks.add_suffix(f"_{name}"))
    return pd.concat(parts, axis=1)


def item_table(model, data, labels):
    """Return one row per item: labels, slopes, errors, discrimination, mean score."""
    import pandas as pd

    items, index = model.item_parameters_, pd.Index(data.items, name="item")
    errors = np.sqrt(np.diagonal(items.covariances, axis1=1, axis2=2))
    (weight, _), _ = data.sums()
    parts = [
        pd.DataFrame(labels, index),
        _by_dimension("slope", items.slopes, index),
        _by_dimension("se_slope", errors[:, :-1], index),
    ]
    table = pd.concat(parts, axis=1)
    table["intercept"], table["se_intercept"] = items.intercepts, errors[:, -1]
    table["mdisc"], table["mdiff"] = items.mdisc, items.mdiff
    table["mean_score"], table["n_answers"] = data.item_means(), weight
    return table


def average_information(model):
    """Return the information of each item, averaged over the respondents.

    As :func:`item_information`, at up to 100 respondents evenly along the first
    dimension.
    """
    theta = model.abilities_
    order = np.argsort(theta[:, 0], kind="stable")
    step = max(1, -(-len(order) // _MOST_RESPONDENTS))
    return item_information(model.item_parameters_, theta[order[::step]])


def is_backwards(items, dims):
    """Return which items respondents of higher ability tend to get wrong.

    The slope on the item's leading dimension is negative by more than 1.96 standard
    errors; `items` is the table of :func:`item_table`.
    """
    slopes = items[[f"slope_{d}" for d in dims]].to_numpy(dtype=float)
    errors = items[[f"se_slope_{d}" for d in dims]].to_numpy(dtype=float)
    leading = np.abs(slopes).argmax(1)
    row = np.arange(len(slopes))
    return slopes[row, leading] < -_SIGNIFICANT * errors[row, leading]


def is_saturated_item(items):
    """Return which items nearly all respondents get right, or nearly all wrong."""
    mean = items["mean_score"].to_numpy(dtype=float)
    return (mean <= _SATURATED) | (mean >= 1 - _SATURATED)


def dimension_table(model, names, halves, replicates):
    """Return one row per dimension: name, share of logit variance, congruence."""
    import pandas as pd

    items, prior = model.item_parameters_, model.ability_correlation_
    # each dimension with its share of what it has in common with the others
    shares = ((items.slopes @ prior) * items.slopes).sum(0)
    table = pd.DataFrame(
        # nothing explained, as where there is one respondent, has no shares
        {"name": names, "share": shares / (shares.sum() or 1.0)},
        index=pd.Index(dimension_names(model.n_dims_), name="dimension"),
    )
    if halves is not None:
        table["congruence"] = halves.typical
        table["ceiling"] = np.median(halves.ceiling, axis=0)
        table["replicates"] = halves.typical > replicates
    return table
