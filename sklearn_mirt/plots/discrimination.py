"""Items by their slopes."""

import numpy as np

from sklearn_mirt.plots.base import Display
from sklearn_mirt.plots.style import (
    MARKERS,
    axis_limits,
    columns_of,
    dimension_label,
    dimensions_of,
    foreground,
    group_colour,
    groups_by_size,
    legend_beside,
    names_in_audit,
)


class DiscriminationDisplay(Display):
    """Scatter of item slopes on two dimensions, coloured by benchmark.

    Small points are items, large outlined ones the mean slopes of a benchmark. With one
    dimension, each benchmark has its own line.

    Parameters
    ----------
    slopes : array-like of shape (n_items, n_dims)
        Slopes, logits per standard deviation of ability.
    benchmarks : array-like of shape (n_items,)
        Benchmark of each item.
    dims : sequence of str
        Names of the columns of `slopes`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    n_shown_ : int
        Number of items drawn.
    """

    def __init__(self, slopes, *, benchmarks, dims):
        self.slopes = slopes
        self.benchmarks = benchmarks
        self.dims = dims

    @classmethod
    def from_audit(cls, audit, *, ax=None, axes=(0, 1), max_items=6000):
        """Draw the table `audit.items`.

        Parameters
        ----------
        audit : BenchmarkAudit
            Or any object whose `items` is a DataFrame with columns benchmark,
            slope_dim1, slope_dim2 ...
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.
        axes : pair of int, default=(0, 1)
            Dimensions to draw.
        max_items : int, default=6000
            See :meth:`plot`.

        Returns
        -------
        display : DiscriminationDisplay
        """
        table = audit.items
        dims = dimensions_of(table, "slope_")
        if "benchmark" in table:
            benchmarks = table["benchmark"].astype(str).to_numpy(dtype=object)
        else:
            benchmarks = np.full(len(table), "all items", dtype=object)
        display = cls(
            columns_of(table, "slope_", dims),
            benchmarks=benchmarks,
            dims=names_in_audit(audit, dims),
        )
        return display.plot(ax=ax, axes=axes, max_items=max_items)

    def plot(self, ax=None, *, axes=(0, 1), max_items=6000):
        """Draw the scatter.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.
        axes : pair of int, default=(0, 1)
            Dimensions to draw.
        max_items : int, default=6000
            Above it a fixed random part of the items is drawn, the same share of each
            benchmark (but at least 20); the means are always those of all items. The
            axes leave out the outermost 0.1% of slopes on either side.

        Returns
        -------
        self : DiscriminationDisplay
        """
        slopes = np.asarray(self.slopes, dtype=float)
        names, codes, counts = groups_by_size(self.benchmarks)
        one_dim = slopes.shape[1] == 1
        ax = self._begin(ax, (8.2, max(5.2, 0.24 * len(names) + 1.0)))
        if one_dim:
            spread = np.random.default_rng(0).uniform(-0.3, 0.3, size=len(codes))
            x, y = slopes[:, 0], codes + spread
        else:
            x, y = slopes[:, axes[0]], slopes[:, axes[1]]
        shown = _sample(codes, counts, max_items)
        self._draw_points(ax, x, y, codes, shown, names)
        self._finish_axes(ax, (x, y), names, axes, one_dim)
        ax.set_title(_scatter_title(len(shown), len(slopes)), fontsize="medium")
        self.n_shown_ = len(shown)
        return self

    def _draw_points(self, ax, x, y, codes, shown, names):
        size, alpha = (14, 0.6) if len(shown) <= 1000 else (6, 0.35)
        # one call with mixed colours: no benchmark is drawn on top of all others
        colours = np.array([group_colour(k, names) for k in range(len(names))])
        ax.scatter(
            x[shown],
            y[shown],
            s=size,
            c=colours[codes[shown]],
            alpha=alpha,
            linewidths=0,
            rasterized=True,
        )
        for k, name in enumerate(names):
            ax.scatter(
                np.mean(x[codes == k]),
                np.mean(y[codes == k]),
                s=80,
                marker=MARKERS[k % len(MARKERS)],
                color=colours[k],
                edgecolors=foreground(),
                linewidths=0.9,
                label=name,
                zorder=3,
            )

    def _finish_axes(self, ax, values, names, axes, one_dim):
        ax.axvline(0, color="0.7", linewidth=0.8, zorder=0)
        first = self.dims[0 if one_dim else axes[0]]
        ax.set_xlabel(f"slope on {dimension_label(first)}")
        ax.set_xlim(*axis_limits(values[0]))
        if one_dim:
            ax.set_yticks(range(len(names)), names)
            ax.invert_yaxis()
            return
        ax.axhline(0, color="0.7", linewidth=0.8, zorder=0)
        ax.set_ylabel(f"slope on {dimension_label(self.dims[axes[1]])}")
        ax.set_ylim(*axis_limits(values[1]))
        if len(names) > 1:
            legend_beside(ax, "benchmark (mean)", 1.01)


def _sample(codes, counts, max_items):
    """Return the items to draw in random order, the same ones each time."""
    order = np.random.default_rng(0).permutation(len(codes))
    if len(codes) <= max_items:
        return order
    wanted = np.maximum(np.ceil(counts * (max_items / len(codes))), 20)
    by_group = order[np.argsort(codes[order], kind="stable")]
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    place = np.arange(len(codes)) - starts  # place of each item within its group
    chosen = by_group[place < wanted[codes[by_group]]]
    return np.random.default_rng(1).permutation(chosen)


def _scatter_title(n_shown: int, n_items: int) -> str:
    if n_shown == n_items:
        return f"Discrimination of {n_items:,} items"
    return f"Discrimination of items ({n_shown:,} of {n_items:,} drawn)"
