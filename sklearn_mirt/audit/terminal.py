"""Tables of an audit for a terminal."""

import numpy as np
from rich.table import Table
from rich.text import Text

from sklearn_mirt.plots import significance_stars


def benchmark_table(benchmarks) -> Table:
    """Return the benchmark table for rich: size, mean score, correlations, verdict."""
    dims = [c.removeprefix("r_") for c in benchmarks.columns if c.startswith("r_")]
    table = Table(
        title="Correlation of mean score and ability",
        caption="adjusted p: * < .05   ** < .01   *** < .001",
        box=None,
        header_style="bold",
        padding=(0, 1),
    )
    table.add_column("benchmark", overflow="fold")
    for name in ("items", "mean", *dims):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for name, row in benchmarks.iterrows():
        table.add_row(
            Text(str(name)),  # not str: square brackets in a name are no markup
            f"{int(row['n_items']):,}",
            f"{row['mean_score']:.2f}",
            *(_correlation(row[f"r_{d}"], _p_value(row, d)) for d in dims),
            str(row["verdict"]),
        )
    return table


def _p_value(row, dim: str) -> float:
    """Return the adjusted p-value of a row, or the plain one."""
    return row.get(f"q_{dim}", row.get(f"p_{dim}", np.nan))


def _correlation(r: float, p: float) -> Text:
    if not np.isfinite(r):
        return Text("n/a   ", style="dim")
    strong = abs(r) >= 0.7
    style = ("bold " if strong else "") + ("red" if r < 0 and strong else "")
    return Text(f"{r:+.2f}{significance_stars(p):<3}", style=style.strip())
