"""Heat map of benchmarks and dimensions."""

import numpy as np

from sklearn_mirt.plots.base import Display
from sklearn_mirt.plots.style import (
    columns_of,
    dimension_label,
    dimensions_of,
    names_in_audit,
    significance_stars,
)


class BenchmarkHeatmapDisplay(Display):
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
        given = [p for p in ("q_", "p_") if {p + dim for dim in dims} <= set(table)]
        display = cls(
            columns_of(table, "r_", dims),
            p_values=columns_of(table, given[0], dims) if given else None,
            benchmarks=[str(name) for name in table.index],
            dims=names_in_audit(audit, dims),
            stated=table["stated"].tolist() if "stated" in table else None,
            p_label="adjusted p" if "q_" in given else "p",
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
        r = np.asarray(self.correlations, dtype=float)
        n_rows, n_columns = r.shape
        rows = [str(name) for name in self.benchmarks]
        if self.stated is not None:
            rows = [
                f"{name} ({stated})" if stated else name
                for name, stated in zip(rows, self.stated, strict=True)
            ]
        width = 2.0 + 0.09 * max(map(len, rows)) + 0.95 * n_columns
        ax = self._begin(ax, (width, 1.2 + 0.32 * n_rows))
        image = self._draw_cells(ax, r, cmap)
        ax.set_xticks(range(n_columns), [dimension_label(dim) for dim in self.dims])
        ax.set_yticks(range(n_rows), rows)
        ax.set_title("Correlation of mean score and ability", fontsize="medium")
        bar = ax.figure.colorbar(image, ax=ax, label="Pearson r", shrink=0.8, aspect=25)
        bar.outline.set_visible(False)
        if self.p_values is not None:
            stars = f"{self.p_label}: * < .05   ** < .01   *** < .001"
            ax.set_xlabel(stars, fontsize="small")
        self.image_ = image
        return self

    def _draw_cells(self, ax, r, cmap):
        from matplotlib.pyplot import get_cmap

        colours = get_cmap(cmap).with_extremes(bad="0.9")
        image = ax.imshow(np.ma.masked_invalid(r), cmap=colours, vmin=-1, vmax=1)
        ax.set_aspect("auto")
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
        # lines in the colour of the background between the cells
        for axis, n in ((ax.xaxis, r.shape[1]), (ax.yaxis, r.shape[0])):
            axis.set_ticks(np.arange(n + 1) - 0.5, minor=True)
        ax.grid(which="minor", color=ax.get_facecolor(), linewidth=1.5)
        self._write_cells(ax, r)
        return image

    def _write_cells(self, ax, r):
        p = np.full(r.shape, np.nan)
        if self.p_values is not None:
            p = np.asarray(self.p_values, dtype=float)
        for (row, column), value in np.ndenumerate(r):
            text = "n/a"
            if np.isfinite(value):
                text = f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
                text += significance_stars(float(p[row, column]))
            colour = "white" if abs(value) > 0.65 else "black"
            place = {"ha": "center", "va": "center"}
            ax.text(column, row, text, fontsize="small", color=colour, **place)
