"""Pictures of audit tables: tables in, matplotlib axes out; nothing is fitted here.

The classes follow scikit-learn's displays: `from_audit` picks the columns of the tables
and draws; `plot` draws again, on other axes. matplotlib is imported on first use.
"""

from __future__ import annotations

import numpy as np

# Okabe and Ito (2008), told apart with any common colour vision; yellow is left out,
# which is too pale for points on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444")
# A number of markers coprime to the number of colours: pairs repeat after 56 groups.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
_MAX_GROUPS = 30
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


class BenchmarkHeatmapDisplay:
    """Heat map of the correlation of each benchmark with each ability dimension.

    Parameters
    ----------
    correlations : array-like of shape (n_benchmarks, n_dims)
        Pearson r between the respondents' mean scores and their abilities; NaN where it
        is not defined.
    p_values : array-like of shape (n_benchmarks, n_dims), default=None
        Drawn as stars: * below .05, ** below .01, *** below .001.
    benchmarks : sequence of str
        Row names.
    dims : sequence of str
        Column names.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
    """

    def __init__(self, correlations, *, p_values=None, benchmarks, dims):
        self.correlations = correlations
        self.p_values = p_values
        self.benchmarks = benchmarks
        self.dims = dims

    @classmethod
    def from_audit(cls, audit, *, ax=None):
        """Draw the table `audit.benchmarks`.

        Parameters
        ----------
        audit : BenchmarkAudit
            Or any object whose `benchmarks` is a DataFrame with columns r_dim1, p_dim1,
            r_dim2 ..., indexed by benchmark.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : BenchmarkHeatmapDisplay
        """
        table = audit.benchmarks
        dims = dimensions_of(table, "r_")
        p_names = [f"p_{dim}" for dim in dims]
        has_p = set(p_names) <= set(table.columns)
        display = cls(
            table[[f"r_{dim}" for dim in dims]].to_numpy(dtype=float),
            p_values=table[p_names].to_numpy(dtype=float) if has_p else None,
            benchmarks=[str(name) for name in table.index],
            dims=dims,
        )
        return display.plot(ax=ax)

    def plot(self, ax=None, *, cmap="RdBu"):
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure, as large as the table needs, if None.
        cmap : str or Colormap, default="RdBu"
            A diverging colour map, centred on r = 0.

        Returns
        -------
        self : BenchmarkHeatmapDisplay
        """
        from matplotlib.pyplot import get_cmap

        r = np.asarray(self.correlations, dtype=float)
        n_rows, n_columns = r.shape
        if ax is None:
            longest = max(len(name) for name in self.benchmarks)
            width = 2.0 + 0.09 * longest + 0.95 * n_columns
            ax = _new_axes((width, 1.2 + 0.32 * n_rows))
        colours = get_cmap(cmap).with_extremes(bad="0.9")
        image = ax.imshow(np.ma.masked_invalid(r), cmap=colours, vmin=-1, vmax=1)
        ax.set_aspect("auto")
        ax.set_xticks(range(n_columns), [_label(dim) for dim in self.dims])
        ax.set_yticks(range(n_rows), self.benchmarks)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        # white lines between the cells
        ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)
        self._write_cells(ax, r)
        ax.set_title("Correlation of mean score and ability", fontsize="medium")
        bar = ax.figure.colorbar(image, ax=ax, label="Pearson r", shrink=0.8, aspect=25)
        bar.outline.set_visible(False)
        if self.p_values is not None:
            ax.set_xlabel("* p < .05   ** p < .01   *** p < .001", fontsize="small")
        self.ax_, self.figure_, self.image_ = ax, ax.figure, image
        return self

    def _write_cells(self, ax, r):
        p = np.full(r.shape, np.nan)
        if self.p_values is not None:
            p = np.asarray(self.p_values, dtype=float)
        for (row, column), value in np.ndenumerate(r):
            text = "n/a"
            if np.isfinite(value):
                text = f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
                text += significance_stars(float(p[row, column]))
            ax.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize="small",
                color="white" if abs(value) > 0.65 else "black",
            )


class DiscriminationDisplay:
    """Scatter of item slopes on two dimensions, coloured by benchmark.

    Small points are items, large outlined ones the mean slopes of a benchmark. With one
    dimension, the slopes of each benchmark are spread over a line of their own.

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
            table[[f"slope_{dim}" for dim in dims]].to_numpy(dtype=float),
            benchmarks=benchmarks,
            dims=dims,
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
        names, codes, counts = _groups_by_size(self.benchmarks)
        one_dim = slopes.shape[1] == 1
        if ax is None:
            ax = _new_axes((8.2, max(5.2, 0.24 * len(names) + 1.0)))
        if one_dim:
            x, y = slopes[:, 0], _spread_over_lines(codes)
        else:
            x, y = slopes[:, axes[0]], slopes[:, axes[1]]
        shown = _sample(codes, counts, max_items)
        self._draw_points(ax, x, y, codes, shown, names)
        self._finish_axes(ax, (x, y), names, axes, one_dim)
        ax.set_title(_scatter_title(len(shown), len(slopes)), fontsize="medium")
        self.ax_, self.figure_, self.n_shown_ = ax, ax.figure, len(shown)
        return self

    def _draw_points(self, ax, x, y, codes, shown, names):
        size, alpha = (14, 0.6) if len(shown) <= 1000 else (6, 0.35)
        # one call with mixed colours: no benchmark is drawn on top of all others
        colours = np.array([_colour(k, names) for k in range(len(names))])
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
                marker=_MARKERS[k % len(_MARKERS)],
                color=colours[k],
                edgecolors="black",
                linewidths=0.9,
                label=name,
                zorder=3,
            )

    def _finish_axes(self, ax, values, names, axes, one_dim):
        ax.axvline(0, color="0.7", linewidth=0.8, zorder=0)
        ax.set_xlabel(f"slope on {_label(self.dims[0 if one_dim else axes[0]])}")
        ax.set_xlim(*_limits(values[0]))
        ax.spines[["top", "right"]].set_visible(False)
        if one_dim:
            ax.set_yticks(range(len(names)), names)
            ax.invert_yaxis()
            return
        ax.axhline(0, color="0.7", linewidth=0.8, zorder=0)
        ax.set_ylabel(f"slope on {_label(self.dims[axes[1]])}")
        ax.set_ylim(*_limits(values[1]))
        if len(names) > 1:
            ax.legend(
                loc="upper left",
                bbox_to_anchor=(1.01, 1.0),
                frameon=False,
                fontsize="small",
                title="benchmark (mean)",
                title_fontsize="small",
                alignment="left",
            )


def significance_stars(p: float) -> str:
    """Return the stars of a p-value; none for NaN."""
    return next((stars for limit, stars in _STARS if p < limit), "")


def dimensions_of(table, prefix: str) -> list[str]:
    """Return the dimensions that a table has columns for: prefix + dimension."""
    dims = [c.removeprefix(prefix) for c in table.columns if c.startswith(prefix)]
    if not dims:
        raise ValueError(
            f"the table has no column that starts with {prefix!r}; its columns are "
            f"{list(table.columns)}"
        )
    return dims


def _label(dim: str) -> str:
    """Return dim1 as "dimension 1"; names that users gave stay as they are."""
    number = dim.removeprefix("dim")
    return f"dimension {number}" if number.isdigit() else dim


def _new_axes(size):
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _groups_by_size(labels):
    """Return group names by size, the code of each item, sizes; small ones joined."""
    unique, codes = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    counts = np.bincount(codes, minlength=len(unique))
    order = np.argsort(-counts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    codes, names, counts = rank[codes], unique[order].tolist(), counts[order]
    if len(names) > _MAX_GROUPS:
        n_joined = len(names) - _MAX_GROUPS + 1
        names = [*names[: _MAX_GROUPS - 1], f"{n_joined} smaller ones"]
        codes = np.minimum(codes, _MAX_GROUPS - 1)
        counts = np.bincount(codes, minlength=_MAX_GROUPS)
    return names, codes, counts


def _colour(k: int, names) -> str:
    joined = len(names) == _MAX_GROUPS and k == _MAX_GROUPS - 1
    return "#BBBBBB" if joined else _COLOURS[k % len(_COLOURS)]


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


def _spread_over_lines(codes):
    return codes + np.random.default_rng(0).uniform(-0.3, 0.3, size=len(codes))


def _limits(values):
    """Return axis limits that leave out the last 0.1% of either side, and hold 0."""
    low, high = np.quantile(values, [0.001, 0.999])
    low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.05 * max(high - low, 1e-3)
    return low - margin, high + margin


def _scatter_title(n_shown: int, n_items: int) -> str:
    if n_shown == n_items:
        return f"Discrimination of {n_items:,} items"
    return f"Discrimination of items ({n_shown:,} of {n_items:,} drawn)"
