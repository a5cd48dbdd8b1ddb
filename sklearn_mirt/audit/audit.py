"""What does each benchmark measure? Tables and findings from one fit.

The table of BenchMIRT: a multidimensional model is fitted to all answers without being
told which benchmark is which; then the abilities are correlated, over respondents, with
the mean score on each benchmark and on each of its subsets. Beyond BenchMIRT: each
correlation has an interval, and is tested between halves of the items, where a score
shares no answer with the abilities it is compared with.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sklearn_mirt.audit import tables
from sklearn_mirt.audit.findings import Measure, Namer, Thresholds, describe
from sklearn_mirt.audit.provenance import provenance
from sklearn_mirt.data.files.write import csv_text
from sklearn_mirt.data.responses import ResponseData, as_responses
from sklearn_mirt.diagnostics.bootstrap import (
    Bootstrap,
    ItemReplicates,
    respondent_codes,
)
from sklearn_mirt.diagnostics.held_out import HeldOut, refit_held_out
from sklearn_mirt.diagnostics.null_control import NullControl, refit_permuted
from sklearn_mirt.diagnostics.refit import Refitter
from sklearn_mirt.diagnostics.stability import REPLICATES, ItemHalves, refit_halves
from sklearn_mirt.estimators.transformer import MIRTTransformer
from sklearn_mirt.models.abilities import dimension_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class BenchmarkAudit:
    """Tables of an audit; see :func:`audit_benchmarks`.

    Attributes
    ----------
    benchmarks : DataFrame, index benchmark
        n_items, mean_score, saturated_items (share of items with a mean score outside
        (0.05, 0.95)), r_dim* (Pearson correlation over respondents of ability and mean
        score), low_dim*, high_dim* (its 95% interval), cross_dim* (the correlation of a
        score on half of the items with the ability from the other half), p_dim* (its
        p-value), q_dim* (the p-value adjusted for all correlations of the table,
        Benjamini & Yekutieli), mdisc (median discrimination), stated (what it is said
        to measure, where the item table tells), verdict, finding.
    subsets : DataFrame, index (benchmark, subset)
        The same columns; empty where there are no subsets.
    abilities : DataFrame, index respondent
        dim*, se_dim*, mean_score, n_answers; with a bootstrap low_dim*, high_dim*,
        rank_dim*, low_rank_dim*, high_rank_dim*, n_tied_dim*.
    items : DataFrame, index item
        benchmark, subset, slope_dim*, se_slope_dim*, intercept, se_intercept, mdisc,
        mdiff, mean_score, n_answers; with a null control explained, p_null, q_null,
        beats_null.
    ability_correlation : DataFrame
        Correlation of the abilities in the population.
    findings : list of str
        One plain sentence per benchmark.
    estimator : MIRTTransformer
        The fitted model.
    dimensions : DataFrame, index dim*
        name (from the labels that stand for it, or "dimension k"), share of the
        explained logit variance, congruence of the abilities from two halves of the
        items, its ceiling, and whether the dimension replicates (congruence over 0.95).
    bootstrap : Bootstrap or None
    null : NullControl or None
    held_out : HeldOut or None
        Answers held out and predicted, by the model and by baselines.
    responses : ResponseData
        The answers, for the report.
    about : dict
        Versions, settings, fingerprint of the answers, time: how it was made.
    """

    benchmarks: pd.DataFrame
    subsets: pd.DataFrame
    abilities: pd.DataFrame
    items: pd.DataFrame
    ability_correlation: pd.DataFrame
    estimator: MIRTTransformer
    dimensions: pd.DataFrame
    bootstrap: Bootstrap | None
    null: NullControl | None
    held_out: HeldOut | None
    responses: ResponseData
    about: dict

    @property
    def findings(self):
        """Return the findings, in the order of the benchmarks."""
        return self.benchmarks["finding"].tolist()

    def __repr__(self):
        """Return sizes and findings, not whole tables."""
        size = (
            f"BenchmarkAudit({len(self.abilities)} respondents, {len(self.items)} "
            f"items, {len(self.benchmarks)} benchmarks, {len(self.dimensions)} "
            "dimensions)"
        )
        return "\n".join([size, *(f"- {finding}" for finding in self.findings)])

    def __rich__(self):
        """Return the table of benchmarks for a terminal (rich)."""
        from sklearn_mirt.audit.terminal import benchmark_table

        return benchmark_table(self.benchmarks)

    def _repr_html_(self):
        """Return findings and heat map for a notebook; None without jinja2."""
        from sklearn_mirt.audit.report import notebook_html

        try:
            return notebook_html(self)
        except ModuleNotFoundError:
            return None

    def to_html(self, path, *, title=None, texts=None):
        """Write the report: one HTML file that needs nothing else and no network.

        Parameters
        ----------
        path : path-like
            File to write; replaced if it is there.
        title : str, default=None
            Heading of the report.
        texts : mapping or Series, default=None
            Text of each item by id, shown in the item explorer; default: the column
            "text" of the item table, if there was one.

        Returns
        -------
        path : Path

        Raises
        ------
        ModuleNotFoundError
            jinja2 is not installed (``pip install 'sklearn-mirt[report]'``).
        """
        from sklearn_mirt.audit.report import write_report

        return write_report(self, path, title=title, texts=texts)

    def to_csv(self, folder, *, guard_formulas=False):
        """Write each table to a CSV file of the folder, which must exist.

        Parameters
        ----------
        folder : path-like
        guard_formulas : bool, default=False
            Put an apostrophe before text that a spreadsheet would take for a formula
            (it begins with ``=``, ``+``, ``-``, ``@``, tab or carriage return).
        """
        names = ("benchmarks", "subsets", "abilities", "items", "dimensions")
        for name in (*names, "ability_correlation"):
            table = getattr(self, name)
            table = table.rename_axis(index=[n or "" for n in table.index.names])
            text = csv_text(table.reset_index(), guard_formulas=guard_formulas)
            path = Path(folder) / f"{name}.csv"
            path.write_text(text, encoding="utf-8", newline="")


def audit_benchmarks(
    responses,
    *,
    items=None,
    n_dims=2,
    rotation="oblimin",
    estimator=None,
    respondent_groups=None,
    n_halves=1,
    n_bootstrap=0,
    n_null=0,
    held_out=0.0,
    thresholds=None,
    n_jobs=None,
    random_state=0,
    progress=None,
    keep=None,
):
    """Fit a model to all answers and say what each benchmark measures.

    Parameters
    ----------
    responses : ResponseData, DataFrame or array-like of shape (n_respondents, n_items)
        Scores in [0, 1], NaN where there is no answer.
    items : DataFrame, default=None
        Index: item ids. Columns: "benchmark" (default: all items are one), "subset",
        and what the items are said to measure, "stated_dimension" or "category" (all
        three may lack). Rows may be in any order; every item needs one.
    n_dims : int or "auto", default=2
        Number of ability dimensions.
    rotation : str or None, default="oblimin"
        Rotation of the dimensions.
    estimator : MIRTTransformer, default=None
        Model to fit in place of the default one; `n_dims`, `rotation`, `n_jobs` and
        `random_state` are then not used for it. Item groups are set to the benchmarks
        unless it has its own.
    respondent_groups : mapping, Series or array-like, default=None
        Family of each respondent, by id or in order: intervals and p-values count
        families, not respondents.
    n_halves : int, default=1
        Random splits of the items into halves, each two more fits of half the size. 0
        for none: correlations are then tested as they stand, with answers on both
        sides.
    n_bootstrap : int, default=0
        Bootstrap replicates over items: intervals of abilities and ranks, and wider
        ones of correlations.
    n_null : int, default=0
        Repeats of the analysis on answers permuted within items.
    held_out : float in [0, 1), default=0.0
        Share of the answers to hold out from one more fit, predicted by the model and
        by baselines. 0 for none.
    thresholds : Thresholds, default=None
        When a finding is called saturated, reversed, mixed...
    n_jobs : int, default=None
        Threads.
    random_state : int, default=0
        Seed.
    progress : callable, default=None
        Called as ``progress(done, total)`` by the bootstrap and the null control.
    keep : path-like, default=None
        Folder where the bootstrap keeps finished replicates, and finds those of an
        interrupted run.

    Returns
    -------
    audit : BenchmarkAudit

    Raises
    ------
    ValueError
        The responses are not valid, or an item has no benchmark.

    Notes
    -----
    Intervals of correlations refer to other respondents of the same kind who meet the
    same items (influence of each respondent or family, the delta method), with
    `n_bootstrap` to other items of the same benchmarks as well.

    Examples
    --------
    >>> from sklearn_mirt import audit_benchmarks
    >>> from sklearn_mirt.datasets import make_benchmark_suite
    >>> suite = make_benchmark_suite(scale=0.02, random_state=0)
    >>> items = suite.item_table.set_index("item_id")
    >>> audit = audit_benchmarks(suite.responses, items=items)
    >>> audit.benchmarks.loc["WMDP", "verdict"]
    'reversed'
    """
    start = time.perf_counter()
    data = as_responses(responses)
    labels = tables.item_labels(data.items, items)
    if estimator is None:
        estimator = MIRTTransformer(
            n_dims, rotation=rotation, n_jobs=n_jobs, random_state=random_state
        )
    model = tables.with_item_groups(estimator, data.items, labels).fit(data)
    settings = {
        "n_halves": n_halves,
        "n_bootstrap": n_bootstrap,
        "n_null": n_null,
        "held_out": held_out,
        "random_state": random_state,
    }
    fits = _more_fits(model, data, labels, settings, progress, keep)
    settings["respondent_groups"] = respondent_groups is not None
    about = provenance(model, data, settings, time.perf_counter() - start)
    thresholds = thresholds or Thresholds()
    return tabulate(model, data, labels, fits, thresholds, respondent_groups, about)


@dataclass(frozen=True, eq=False)
class AuditFits:
    """The fits of an audit beyond the first; None where there is none.

    Parameters
    ----------
    halves : ItemHalves, default=None
    bootstrap : Bootstrap, default=None
    null : NullControl, default=None
    held_out : HeldOut, default=None
    """

    halves: ItemHalves | None = None
    bootstrap: Bootstrap | None = None
    null: NullControl | None = None
    held_out: HeldOut | None = None


def _more_fits(model, data, labels, sizes, progress, keep):
    """Return the AuditFits of the sizes that are not zero."""
    names = ("n_halves", "n_bootstrap", "n_null", "held_out")
    n_halves, n_bootstrap, n_null, share = (sizes[name] for name in names)
    if not (n_halves or n_bootstrap or n_null or share):
        return AuditFits()
    refitter = Refitter(model, data, n_jobs=model.n_jobs)
    scales, _ = tables.audit_scales(labels)
    seed = {"random_state": sizes["random_state"]}
    shown = {"progress": progress, **seed}
    fits = {}
    if n_halves:
        fits["halves"] = refit_halves(refitter, n_splits=n_halves, **seed)
    if n_bootstrap:
        fits["bootstrap"] = ItemReplicates(refitter, scales).run(
            n_bootstrap, n_jobs=model.n_jobs, keep=keep, **shown
        )
    if n_null:
        shown |= {"scales": scales, "n_repeats": n_null}
        fits["null"] = refit_permuted(refitter, **shown)
    if share:
        fits["held_out"] = refit_held_out(refitter, share=share, **seed)
    return AuditFits(**fits)


def tabulate(model, data, labels, fits, thresholds, respondent_groups, about):
    """Return the BenchmarkAudit of a fitted model.

    Parameters
    ----------
    model : MIRTTransformer fitted to `data`
    data : ResponseData
    labels : dict of ndarrays of shape (n_items,)
        "benchmark" and, where known, "subset", "category", "stated_dimension".
    fits : AuditFits
    thresholds : Thresholds
    respondent_groups : mapping, Series, array-like or None
    about : dict
    """
    import pandas as pd

    clusters = None
    if respondent_groups is not None:
        clusters = respondent_codes(data.respondents, respondent_groups)
    items = tables.item_table(model, data, labels)
    scales, n_benchmarks = tables.audit_scales(labels)
    table = tables.scale_table(model, data, scales, labels, items, clusters, fits)
    if fits.null is not None:
        table["null_r"] = fits.null.correlations["null_r"].to_numpy()
        items = items.join(fits.null.items)
    benchmarks, subsets = _divided(table, n_benchmarks)
    real = np.ones(model.n_dims_, dtype=bool)
    if fits.halves is not None:
        n_clusters = data.n_respondents if clusters is None else clusters.max() + 1
        real = fits.halves.real(thresholds.real, n_clusters)
    names = _find(benchmarks, subsets, thresholds, real)
    columns = dimension_names(model.n_dims_)
    return BenchmarkAudit(
        benchmarks,
        subsets,
        tables.ability_table(model, data, fits.bootstrap),
        items,
        pd.DataFrame(model.ability_correlation_, columns, columns),
        model,
        tables.dimension_table(model, names, fits.halves, REPLICATES),
        fits.bootstrap,
        fits.null,
        fits.held_out,
        data,
        about,
    )


def _divided(table, n_benchmarks):
    """Benchmarks, and the subsets of those that have more than one."""
    import pandas as pd

    benchmarks = table.iloc[:n_benchmarks].copy().rename_axis("benchmark")
    subsets = table.iloc[n_benchmarks:].copy()
    subsets.index = pd.MultiIndex.from_tuples(
        subsets.index.tolist(), names=["benchmark", "subset"]
    )
    of_benchmark = subsets.index.get_level_values(0)
    subsets = subsets[of_benchmark.duplicated(keep=False)].copy()
    return tables.with_adjusted(benchmarks), tables.with_adjusted(subsets)


def _find(benchmarks, subsets, thresholds, real):
    """Add verdict and finding to both tables; return the names of the dimensions."""
    whole = [_measure(name, row) for name, row in benchmarks.iterrows()]
    parts = [_measure(name, row) for name, row in subsets.iterrows()]
    namer = Namer(whole, len(real), thresholds, real)
    of: dict[object, list[Measure]] = {}
    for part in parts:
        of.setdefault(part.benchmark, []).append(part)
    for table, measures, within in ((benchmarks, whole, of), (subsets, parts, {})):
        found = [
            describe(m, within.get(m.benchmark, []), namer, thresholds, real)
            for m in measures
        ]
        table["verdict"] = [verdict for verdict, _ in found]
        table["finding"] = [sentence for _, sentence in found]
    return namer.names


def _measure(name, row):
    """Measure of a row of the tables."""
    pair = isinstance(name, tuple)
    values = {
        prefix: row.filter(regex=f"^{prefix}_dim").to_numpy(dtype=float)
        for prefix in ("r", "q", "low", "high")
    }
    return Measure(
        name=" / ".join(str(part) for part in name) if pair else str(name),
        mean=row["mean_score"],
        label=row.get("stated") or None,
        benchmark=name[0] if pair else name,
        **values,
    )
