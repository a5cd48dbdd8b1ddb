"""Heat map of benchmarks and dimensions."""

import numpy as np

from sklearn_mirt.plots.style import (
    dimension_label,
    dimension_names,
    dimensions_of,
    new_axes,
    significance_stars,
)


class BenchmarkHeatmapDisplay:
    """Heat map of the correlation of each benchmark with each ability dimension.

    Parameters
    ----------
    correlations : array-like of shape (n_benchmarks, n_dims)
        Pearson r between the respondents' mean scores and their abilities; NaN where it
        is not defined.
    p_values : array-like of shape (n_benchmarks, n_dims), default=None
        Drawn as stars: one below .05, two below .01, three below .001.
    benchmarks : sequence of str
        Row names.
    dims : sequence of str
        Column names.
    stated : sequence of str, default=None
        What each benchmark is said to measure, written after its name.
    p_label : str, default="p"
        What the p-values are called below the map.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
    """

    def __init__(
        self,
        correlations,
        *,
        p_values=None,
        benchmarks,
        dims,
        stated=None,
        p_label="p",
    ):
        self.stated = stated
        self.p_label = p_label
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
            Or any object whose `benchmarks` is a DataFrame with columns r_dim1, q_dim1
            (adjusted p-values; p_dim1 is taken where there are none), r_dim2 ...,
            stated, indexed by benchmark. Dimensions have the names of
            `audit.dimensions`, where there are any.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : BenchmarkHeatmapDisplay
        """
        table = audit.benchmarks
        dims = dimensions_of(table, "r_")
        p_names, has_p, adjusted = [], False, False
        for prefix in ("p_", "q_"):
            names = [f"{prefix}{dim}" for dim in dims]
            if set(names) <= set(table.columns):
                p_names, has_p, adjusted = names, True, prefix == "q_"
        display = cls(
            table[[f"r_{dim}" for dim in dims]].to_numpy(dtype=float),
            p_values=table[p_names].to_numpy(dtype=float) if has_p else None,
            benchmarks=[str(name) for name in table.index],
            dims=dimension_names(audit, dims),
            stated=table["stated"].tolist() if "stated" in table else None,
            p_label="adjusted p" if adjusted else "p",
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
        rows = [str(name) for name in self.benchmarks]
        if self.stated is not None:
            rows = [
                f"{name} ({stated})" if stated else name
                for name, stated in zip(rows, self.stated, strict=True)
            ]
        if ax is None:
            longest = max(len(name) for name in rows)
            width = 2.0 + 0.09 * longest + 0.95 * n_columns
            ax = new_axes((width, 1.2 + 0.32 * n_rows))
        colours = get_cmap(cmap).with_extremes(bad="0.9")
        image = ax.imshow(np.ma.masked_invalid(r), cmap=colours, vmin=-1, vmax=1)
        ax.set_aspect("auto")
        ax.set_xticks(range(n_columns), [dimension_label(dim) for dim in self.dims])
        ax.set_yticks(range(n_rows), rows)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        # white lines between the cells
        ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color=ax.get_facecolor(), linewidth=1.5)
        ax.tick_params(which="minor", length=0)
        self._write_cells(ax, r)
        ax.set_title("Correlation of mean score and ability", fontsize="medium")
        bar = ax.figure.colorbar(image, ax=ax, label="Pearson r", shrink=0.8, aspect=25)
        bar.outline.set_visible(False)
        if self.p_values is not None:
            stars = f"{self.p_label}: * < .05   ** < .01   *** < .001"
            ax.set_xlabel(stars, fontsize="small")
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
