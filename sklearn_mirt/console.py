"""Audit tables as text for a terminal and as JSON. Nothing is fitted here."""

import numpy as np
from rich.table import Table
from rich.text import Text

from sklearn_mirt.plots import significance_stars


def benchmark_table(benchmarks) -> Table:
    """Return the benchmark table for rich: size, mean score, correlations, finding."""
    dims = [c.removeprefix("r_") for c in benchmarks.columns if c.startswith("r_")]
    table = Table(
        title="Correlation of mean score and ability",
        caption="* p < .05   ** p < .01   *** p < .001",
        box=None,
        header_style="bold",
        padding=(0, 1),
    )
    table.add_column("benchmark", overflow="fold")
    for name in ("items", "mean", *dims):
        table.add_column(name, justify="right", no_wrap=True)
    if "finding" in benchmarks:
        table.add_column("finding", overflow="fold")
    for name, row in benchmarks.iterrows():
        cells = [str(name), f"{int(row['n_items']):,}", f"{row['mean_score']:.2f}"]
        cells += [_correlation(row[f"r_{d}"], row.get(f"p_{d}", np.nan)) for d in dims]
        if "finding" in benchmarks:
            cells.append(str(row["finding"]))
        # Text, not str: square brackets in a name are no markup
        table.add_row(*(c if isinstance(c, Text) else Text(c) for c in cells))
    return table


def _correlation(r: float, p: float) -> Text:
    if not np.isfinite(r):
        return Text("n/a   ", style="dim")
    strong = abs(r) >= 0.7
    style = ("bold " if strong else "") + ("red" if r < 0 and strong else "")
    return Text(f"{r:+.2f}{significance_stars(p):<3}", style=style.strip())


def compare_with_truth(benchmarks, suite) -> str:
    """Say how near the fitted correlations are to those of a simulated suite.

    Dimensions have no order of their own: each true one is matched with the fitted one
    that is nearest to it over all benchmarks.
    """
    from scipy.optimize import linear_sum_assignment

    truth = suite.correlations
    fitted = benchmarks.loc[
        truth.index, [c for c in benchmarks.columns if c.startswith("r_")]
    ].to_numpy(dtype=float)
    true = truth.to_numpy(dtype=float)
    distance = np.abs(true[:, :, None] - fitted[:, None, :]).sum(axis=0)
    fitted = fitted[:, linear_sum_assignment(distance)[1]]
    decided = truth.index[
        [suite.dominant_dimension[b] is not None for b in truth.index]
    ]
    right = np.argmax(np.abs(fitted), axis=1) == np.argmax(np.abs(true), axis=1)
    n_right = int(right[truth.index.isin(decided)].sum())
    return (
        f"against the known truth: dominant dimension right for {n_right} of "
        f"{len(decided)} benchmarks that have one, correlations off by "
        f"{np.abs(fitted - true).max():.3f} at most"
    )


def as_json(audit, about: dict) -> dict:
    """Return the benchmark table, findings and provenance as plain JSON values."""
    rows = audit.benchmarks.rename_axis(index="benchmark").reset_index()
    return {
        "about": about,
        "benchmarks": [
            {key: _plain(value) for key, value in row.items()}
            for row in rows.to_dict(orient="records")
        ],
        "findings": list(audit.findings),
    }


def _plain(value):
    value = value.item() if isinstance(value, np.generic) else value
    # JSON has no NaN
    return None if isinstance(value, float) and not np.isfinite(value) else value
