"""Abilities with intervals, and who cannot be told apart."""

import numpy as np
from scipy.stats import norm

from sklearn_mirt.plots.style import (
    COLOURS,
    dimension_label,
    dimension_names,
    dimensions_of,
    foreground,
    new_axes,
    plain_axes,
)

_MOST_NAMED = 40


class AbilityDisplay:
    """Abilities of the respondents with intervals: a ranking or a map.

    Parameters
    ----------
    abilities, errors : ndarrays of shape (n_respondents, n_dims)
        In prior standard deviations, and standard errors.
    respondents : sequence of str
    dims : sequence of str

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, abilities, errors, *, respondents, dims):
        self.abilities = abilities
        self.errors = errors
        self.respondents = respondents
        self.dims = dims

    @classmethod
    def from_audit(cls, audit, *, kind="ranking", dim=0, ax=None):
        """Draw the table `audit.abilities`.

        Parameters
        ----------
        audit : BenchmarkAudit
        kind : {"ranking", "map"}, default="ranking"
        dim : int, default=0
            Dimension of the ranking.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : AbilityDisplay
        """
        table = audit.abilities
        keys = [key.removeprefix("se_") for key in table if key.startswith("se_")]
        if not keys:
            dimensions_of(table, "se_")  # says what is missing
        display = cls(
            table[keys].to_numpy(dtype=float),
            table[[f"se_{key}" for key in keys]].to_numpy(dtype=float),
            respondents=[str(name) for name in table.index],
            dims=dimension_names(audit, keys),
        )
        return display.plot(ax=ax, kind=kind, dim=dim)

    def plot(self, ax=None, *, kind="ranking", dim=0, level=0.95):
        """Draw the abilities.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        kind : {"ranking", "map"}, default="ranking"
            Ranking: one dimension, sorted, with intervals; alternate shades mark runs
            of neighbours whose difference from the first of the run is within error
            (tie sets). Map: two dimensions with both intervals.
        dim : int, default=0
        level : float, default=0.95

        Returns
        -------
        self : AbilityDisplay
        """
        reach = norm.ppf(0.5 + level / 2)
        if kind == "ranking":
            n = len(self.respondents)
            height = 0.2 * n + 1.2 if n <= _MOST_NAMED else 5.0
            ax = ax if ax is not None else new_axes((6.4, height))
            self._ranking(ax, dim, reach)
        elif kind == "map":
            ax = ax if ax is not None else new_axes((6.2, 5.6))
            self._map(ax, reach)
        else:
            raise ValueError(f"kind must be 'ranking' or 'map', got {kind!r}")
        plain_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _ranking(self, ax, dim, reach):
        value, error = self.abilities[:, dim], self.errors[:, dim]
        order = np.argsort(-value, kind="stable")
        sets = tie_sets(value[order], error[order], reach)
        y = np.arange(len(order))
        for k in range(sets[-1] + 1):
            rows = y[sets == k]
            if k % 2 == 0:
                ax.axhspan(rows[0] - 0.5, rows[-1] + 0.5, color="0.5", alpha=0.12, lw=0)
        ax.errorbar(
            value[order],
            y,
            xerr=reach * error[order],
            fmt="o",
            markersize=4 if len(y) <= _MOST_NAMED else 2,
            elinewidth=1,
            color=COLOURS[0],
        )
        if len(y) <= _MOST_NAMED:
            ax.set_yticks(y, [self.respondents[i] for i in order], fontsize="small")
        else:
            ax.set_ylabel("rank")
        ax.set_ylim(len(y) - 0.5, -0.5)
        ax.set_xlabel(f"ability, {dimension_label(self.dims[dim])}")
        ax.set_title("shades: ties with the first of each run", fontsize="small")

    def _map(self, ax, reach):
        if self.abilities.shape[1] < 2:
            raise ValueError("A map of abilities needs two dimensions, there is one")
        x, y = self.abilities[:, 0], self.abilities[:, 1]
        many = len(x) > 300
        ax.errorbar(
            x,
            y,
            xerr=None if many else reach * self.errors[:, 0],
            yerr=None if many else reach * self.errors[:, 1],
            fmt="o",
            markersize=2 if many else 4,
            alpha=0.5 if many else 0.8,
            elinewidth=0.6,
            color=COLOURS[0],
            rasterized=many,
        )
        if len(x) <= _MOST_NAMED:
            for i, name in enumerate(self.respondents):
                ax.annotate(
                    name,
                    (x[i], y[i]),
                    xytext=(4, 3),
                    textcoords="offset points",
                    fontsize="x-small",
                )
        for line in (ax.axhline, ax.axvline):
            line(0, color=foreground(), linewidth=0.4)
        ax.set_xlabel(f"ability, {dimension_label(self.dims[0])}")
        ax.set_ylabel(f"ability, {dimension_label(self.dims[1])}")


def tie_sets(value, error, reach):
    """Return the number of the run that each of a falling sequence is in.

    A run ends where the difference from its first exceeds its error.

    Parameters
    ----------
    value, error : ndarrays of shape (n,)
        Sorted, the largest first; independent errors.
    reach : float
        How many standard errors of the difference are within error.

    Returns
    -------
    sets : ndarray of int of shape (n,)
    """
    sets, first = np.zeros(len(value), dtype=int), 0
    for i in range(1, len(value)):
        gap = value[first] - value[i]
        apart = gap > reach * np.hypot(error[first], error[i])
        sets[i] = sets[i - 1] + apart
        first = i if apart else first
    return sets
