"""What does each benchmark measure? Tables and findings from one fit.

The table of BenchMIRT: a multidimensional model is fitted to all answers without being
told which benchmark is which; then the abilities are correlated, over respondents, with
the mean score on each benchmark and on each of its subsets.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from sklearn_mirt.data import ResponseData
from sklearn_mirt.design import sorted_codes
from sklearn_mirt.findings import Thresholds, describe
from sklearn_mirt.transformer import MIRTTransformer


@dataclass(frozen=True, eq=False)
class BenchmarkAudit:
    """Tables of an audit; see :func:`audit_benchmarks`.

    Attributes
    ----------
    benchmarks : DataFrame, index benchmark
        n_items, mean_score, saturated_items (share of items with a mean score outside
        (0.05, 0.95)), r_dim* (Pearson correlation over respondents of ability and mean
        score), p_dim* (its p-value), q_dim* (the p-value adjusted for all correlations of
        the table, Benjamini & Yekutieli), mdisc (median discrimination), verdict, finding.
    subsets : DataFrame, index (benchmark, subset)
        The same columns; empty where there are no subsets.
    abilities : DataFrame, index respondent
        dim*, se_dim*, mean_score, n_answers.
    items : DataFrame, index item
        benchmark, subset, slope_dim*, se_slope_dim*, intercept, se_intercept, mdisc,
        mdiff, mean_score, n_answers.
    ability_correlation : DataFrame
        Correlation of the abilities in the population.
    findings : list of str
        One plain sentence per benchmark.
    estimator : MIRTTransformer
        The fitted model.
    """

    benchmarks: object
    subsets: object
    abilities: object
    items: object
    ability_correlation: object
    estimator: object

    @property
    def findings(self):
        """Return the findings, in the order of the benchmarks."""
        return self.benchmarks["finding"].tolist()

    def to_csv(self, folder):
        """Write each table to a CSV file of the folder, which must exist."""
        for name in ("benchmarks", "subsets", "abilities", "items"):
            getattr(self, name).to_csv(Path(folder) / f"{name}.csv")
        self.ability_correlation.to_csv(Path(folder) / "ability_correlation.csv")


def audit_benchmarks(
    responses,
    *,
    items=None,
    n_dims=2,
    rotation="oblimin",
    estimator=None,
    thresholds=None,
    n_jobs=None,
    random_state=0,
):
    """Fit a model to all answers and say what each benchmark measures.

    Parameters
    ----------
    responses : ResponseData, DataFrame or array-like of shape (n_respondents, n_items)
        Scores in [0, 1], NaN where there is no answer.
    items : DataFrame, default=None
        Index: item ids. Columns: "benchmark" (default: all items are one), "subset" and
        "category" (both may lack). Rows may be in any order; every item needs one.
    n_dims : int, default=2
        Number of ability dimensions.
    rotation : str or None, default="oblimin"
        Rotation of the dimensions.
    estimator : MIRTTransformer, default=None
        Model to fit in place of the default one; `n_dims`, `rotation`, `n_jobs` and
        `random_state` are then not used. Item groups are set to the benchmarks unless it
        has its own.
    thresholds : Thresholds, default=None
        When a finding is called saturated, reversed, mixed...
    n_jobs : int, default=None
        Threads.
    random_state : int, default=0
        Seed.

    Returns
    -------
    audit : BenchmarkAudit

    Raises
    ------
    ValueError
        The responses are not valid, or an item has no benchmark.

    Examples
    --------
    >>> from sklearn_mirt import audit_benchmarks
    >>> from sklearn_mirt.datasets import make_benchmark_suite
    >>> suite = make_benchmark_suite(scale=0.02, random_state=0)
    >>> items = suite.item_table.set_index("item_id")
    >>> audit = audit_benchmarks(suite.responses, items=items)
    >>> float(audit.benchmarks.loc["WMDP", "r_dim1"]) < -0.7
    True
    """
    from sklearn.base import clone

    data = responses
    if not isinstance(data, ResponseData):
        data = ResponseData.from_wide(data)
    labels = _item_labels(data.items, items)
    if estimator is None:
        estimator = MIRTTransformer(
            n_dims, rotation=rotation, n_jobs=n_jobs, random_state=random_state
        )
    model = clone(estimator)
    if model.item_groups is None:
        model.set_params(item_groups=dict(zip(data.items, labels["benchmark"])))
    return tabulate(model.fit(data), data, labels, thresholds or Thresholds())


def tabulate(model, data, labels, thresholds):
    """Return the BenchmarkAudit of a fitted model.

    Parameters
    ----------
    model : MIRTTransformer fitted to `data`
    data : ResponseData
    labels : dict of ndarrays of shape (n_items,)
        "benchmark" and, where known, "subset" and "category".
    thresholds : Thresholds
    """
    import pandas as pd

    items = _item_table(model, data, labels)
    benchmarks = _group_table(model, data, [labels["benchmark"]], items)
    benchmarks.index.name = "benchmark"
    keys = [labels["benchmark"], labels.get("subset", labels["benchmark"])]
    subsets = _group_table(model, data, keys, items)
    subsets.index = pd.MultiIndex.from_tuples(
        subsets.index.tolist(), names=["benchmark", "subset"]
    )
    of_benchmark = subsets.index.get_level_values(0)
    subsets = subsets[of_benchmark.duplicated(keep=False)].copy()
    for table in (benchmarks, subsets):
        found = [
            describe(name, row, _parts_of(subsets, name), thresholds)
            for name, row in table.iterrows()
        ]
        table["verdict"] = [verdict for verdict, _ in found]
        table["finding"] = [text for _, text in found]
    names = dimension_names(model.n_dims)
    return BenchmarkAudit(
        benchmarks,
        subsets,
        _ability_table(model, data),
        items,
        pd.DataFrame(model.ability_correlation_, names, names),
        model,
    )


def dimension_names(n_dims):
    """Return the column names of the dimensions: dim1, dim2..."""
    return [f"dim{k + 1}" for k in range(n_dims)]


# ---------------------------------------------------------------------------- tables


def _item_labels(ids, items):
    """Benchmark, subset and category of each item, joined by id."""
    if items is None:
        return {"benchmark": np.array(["all items"] * len(ids), dtype=object)}
    missing = [item for item in ids if item not in items.index]
    if missing:
        raise ValueError(
            f"The item table has no row for item {missing[0]!r} ({len(missing)} of "
            f"{len(ids)} items are missing from it)"
        )
    if not items.index.is_unique:
        repeated = items.index[items.index.duplicated()][0]
        raise ValueError(f"The item table has more than one row for item {repeated!r}")
    rows = items.loc[list(ids)]
    labels = {}
    for column in ("benchmark", "subset", "category", "stated_dimension"):
        if column in rows:
            values = rows[column].astype(object)
            if column == "benchmark" and values.isna().any():
                item = values.index[values.isna()][0]
                raise ValueError(f"The item table has no benchmark for item {item!r}")
            labels[column] = values.where(values.notna(), "").to_numpy()
    labels.setdefault("benchmark", np.array(["all items"] * len(ids), dtype=object))
    return labels


def _group_table(model, data, keys, items):
    """One row per group of items: size, mean, correlations with the abilities."""
    import pandas as pd

    pairs = np.empty(data.n_items, dtype=object)
    pairs[:] = list(zip(*keys)) if len(keys) > 1 else keys[0]
    groups, codes = sorted_codes(pairs)
    means = data.group_means(codes, len(groups))
    table = pd.DataFrame(
        {"n_items": np.bincount(codes, minlength=len(groups))},
        index=pd.Index(groups, tupleize_cols=False),
    )
    item_means = items["mean_score"].to_numpy()
    saturated = ~((item_means > 0.05) & (item_means < 0.95))
    table["mean_score"] = np.nanmean(means, axis=0)
    table["saturated_items"] = np.bincount(codes, saturated) / table["n_items"]
    names = dimension_names(model.n_dims)
    r, p = correlations(model.abilities_, means)
    adjusted = _adjust(p)
    for k, name in enumerate(names):
        table[f"r_{name}"] = r[:, k]
    for k, name in enumerate(names):
        table[f"p_{name}"], table[f"q_{name}"] = p[:, k], adjusted[:, k]
    mdisc = items["mdisc"].to_numpy()
    table["mdisc"] = [np.median(mdisc[codes == g]) for g in range(len(groups))]
    return table


def correlations(abilities, means):
    """Return Pearson r and p-values of mean scores with abilities over respondents.

    Parameters
    ----------
    abilities : ndarray of shape (n_respondents, n_dims)
    means : ndarray of shape (n_respondents, n_groups)
        NaN where a respondent has no score on a group; left out.

    Returns
    -------
    r, p : ndarrays of shape (n_groups, n_dims)
        NaN with under three respondents or without variation.
    """
    shape = (means.shape[1], abilities.shape[1])
    r, p = np.full(shape, np.nan), np.full(shape, np.nan)
    for g in range(shape[0]):
        seen = ~np.isnan(means[:, g])
        if seen.sum() < 3 or np.ptp(means[seen, g]) == 0:
            continue
        for k in range(shape[1]):
            if np.ptp(abilities[seen, k]) > 0:
                result = stats.pearsonr(abilities[seen, k], means[seen, g])
                r[g, k], p[g, k] = result.statistic, result.pvalue
    return r, p


def _adjust(p):
    """Benjamini-Yekutieli adjustment over the whole table; NaN stays."""
    known = ~np.isnan(p)
    adjusted = np.full(p.shape, np.nan)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p[known], method="by")
    return adjusted


def _parts_of(subsets, name):
    """Subsets of a benchmark, None for a subset or a benchmark without parts."""
    if isinstance(name, tuple) or name not in subsets.index.get_level_values(0):
        return None
    return subsets.loc[name]


def _ability_table(model, data):
    import pandas as pd

    names = dimension_names(model.n_dims)
    errors = model.ability_posteriors_.standard_errors
    (_, weight), _ = data.sums()
    table = pd.DataFrame(model.abilities_, columns=names)
    for k, name in enumerate(names):
        table[f"se_{name}"] = errors[:, k]
    table["mean_score"], table["n_answers"] = data.respondent_means(), weight
    table.index = pd.Index(data.respondents, name="respondent")
    return table


def _item_table(model, data, labels):
    import pandas as pd

    items = model.item_parameters_
    names = dimension_names(model.n_dims)
    errors = np.sqrt(np.diagonal(items.covariances, axis1=1, axis2=2))
    (weight, _), _ = data.sums()
    table = pd.DataFrame(labels, index=pd.Index(data.items, name="item"))
    for k, name in enumerate(names):
        table[f"slope_{name}"] = items.slopes[:, k]
    for k, name in enumerate(names):
        table[f"se_slope_{name}"] = errors[:, k]
    table["intercept"], table["se_intercept"] = items.intercepts, errors[:, -1]
    table["mdisc"], table["mdiff"] = items.mdisc, items.mdiff
    table["mean_score"], table["n_answers"] = data.item_means(), weight
    return table
