"""How a fit went, how many dimensions, how well calibrated, how two models differ."""

import numpy as np

from sklearn_mirt.plots.base import Display
from sklearn_mirt.plots.style import (
    COLOURS,
    curve_with_errors,
    dimension_label,
    foreground,
    zero_line,
)


class LowerBoundDisplay(Display):
    """Evidence lower bound after each pass: how far each was from the last.

    Parameters
    ----------
    lower_bounds : array-like of shape (n_iter,)
        In nats.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, lower_bounds):
        self.lower_bounds = lower_bounds

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw `estimator.lower_bounds_`."""
        return cls(estimator.lower_bounds_).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the distance from the last bound, on a logarithmic scale."""
        bounds = np.asarray(self.lower_bounds, dtype=float)
        ax = self._begin(ax, (5.6, 3.8))
        gap = np.maximum(bounds[-1] - bounds[:-1], 1e-9)
        ax.semilogy(np.arange(1, len(bounds)), gap, "o-", ms=3, color=COLOURS[0])
        ax.set(xlabel="pass", ylabel="nats below the last lower bound")
        ax.set_title(f"last bound: {bounds[-1]:,.1f} nats", fontsize="medium")
        return self


class DimensionsDisplay(Display):
    """Held-out loss against the number of dimensions, with its errors.

    Parameters
    ----------
    table : DataFrame, index n_dims
        excess and se_excess, in nats per answer.
    recommended : int

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, table, *, recommended):
        self.table = table
        self.recommended = recommended

    @classmethod
    def from_choice(cls, choice, *, ax=None):
        """Draw a :class:`DimensionChoice` of `choose_dimensions`."""
        return cls(choice.table, recommended=choice.recommended).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the excess loss of each number; the recommended one is marked."""
        ax = self._begin(ax, (5.6, 3.8))
        x = self.table.index.to_numpy()
        y = self.table["excess"].to_numpy(dtype=float)
        error = np.nan_to_num(self.table["se_excess"].to_numpy(dtype=float))
        ax.errorbar(x, y, yerr=error, fmt="o-", capsize=3, color=COLOURS[0])
        here = x == self.recommended
        ax.plot(x[here], y[here], "o", ms=12, mfc="none", mec=COLOURS[1], mew=2)
        zero_line(ax, 0.5)
        ax.set_xticks(x)
        ax.set_xlabel(f"dimensions (ring: recommended, {self.recommended})")
        ax.set_ylabel("excess held-out loss (nats an answer)")
        return self


class CalibrationDisplay(Display):
    """Observed against predicted probability of held-out answers.

    Parameters
    ----------
    table : DataFrame
        predicted, observed, se, n_answers.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, table):
        self.table = table

    @classmethod
    def from_audit(cls, audit, *, ax=None):
        """Draw the calibration of `audit.held_out`."""
        if audit.held_out is None:
            raise ValueError(
                "The audit held out no answers: audit_benchmarks(..., held_out=0.1)"
            )
        return cls(audit.held_out.calibration).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the points with 95% intervals and the line of perfect calibration."""
        ax = self._begin(ax, (4.8, 4.6))
        x, y, error = (self.table[name] for name in ("predicted", "observed", "se"))
        ax.plot([0, 1], [0, 1], "--", color=foreground(), linewidth=0.8)
        ax.errorbar(x, y, yerr=1.96 * error, fmt="o", capsize=2, color=COLOURS[0])
        ax.set_xlabel("predicted probability")
        ax.set_ylabel("observed share of right answers")
        n_answers = int(self.table["n_answers"].sum())
        ax.set_title(f"{n_answers:,} held-out answers", fontsize="medium")
        ax.set_aspect("equal")
        return self


class PairDisplay(Display):
    """Difference of two respondents by how discriminating the items are.

    Parameters
    ----------
    table : DataFrame, index (dimension, items)
        As of :func:`sklearn_mirt.compare_respondents`: difference, low, high.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, table):
        self.table = table

    @classmethod
    def from_table(cls, table, *, ax=None):
        """Draw a table of `compare_respondents`."""
        return cls(table).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the difference in each bin, one curve for each dimension."""
        ax = self._begin(ax, (6.0, 4.0))
        dims = list(dict.fromkeys(self.table.index.get_level_values(0)))
        for k, dim in enumerate(dims):
            rows = self.table.loc[dim]
            rows = rows[[str(name).startswith("bin ") for name in rows.index]]
            if rows.empty:
                raise ValueError("The table has no bins: compare_respondents(n_bins=5)")
            x = np.arange(1, len(rows) + 1) + 0.08 * (k - (len(dims) - 1) / 2)
            y, low, high = (
                rows[name].to_numpy(dtype=float)
                for name in ("difference", "low", "high")
            )
            error = np.nan_to_num(np.abs([y - low, high - y]))
            curve_with_errors(ax, k, x, y, error, dimension_label(dim))
        zero_line(ax, 0.6)
        ax.set_xticks(range(1, len(rows) + 1))
        ax.set_xlabel("bin of discrimination on the dimension (1: least)")
        ax.set_ylabel("difference in mean score")
        ax.legend(frameon=False)
        return self


class SelectionCurveDisplay(Display):
    """Fidelity of scores from few items against the number of items, held out.

    Parameters
    ----------
    curve : DataFrame
        As of :func:`sklearn_mirt.selection_curve`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, curve):
        self.curve = curve

    @classmethod
    def from_curve(cls, curve, *, metric="spearman", ax=None):
        """Draw a table of `selection_curve`."""
        return cls(curve).plot(ax=ax, metric=metric)

    def plot(self, ax=None, *, metric="spearman"):
        """Draw a measure against the budget, with standard errors over splits.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        metric : str, default="spearman"
            A column of the curve: spearman, kendall, mae, coverage...

        Returns
        -------
        self : SelectionCurveDisplay
        """
        if metric not in self.curve:
            raise ValueError(
                f"The curve has no column {metric!r}; it has {list(self.curve.columns)}"
            )
        ax = self._begin(ax, (6.4, 4.4))
        curves = self.curve.groupby(["strategy", "scorer"], sort=False)
        for k, ((strategy, scorer), rows) in enumerate(curves):
            by_size = rows.groupby("n_items")[metric].agg(["mean", "sem"])
            mean, error = by_size.to_numpy(float).T
            sizes, error = by_size.index.to_numpy(), np.nan_to_num(error)
            label = f"{strategy}, {scorer}".replace("_", " ")
            curve_with_errors(ax, k, sizes, mean, error, label)
        ax.set_xscale("log")
        sizes = sorted(set(self.curve["n_items"]))
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.minorticks_off()
        ax.set_xlabel("number of items (logarithmic)")
        ax.set_ylabel(f"{metric.replace('_', ' ')} with full scores, held out")
        ax.legend(frameon=False, fontsize="small")
        return self
