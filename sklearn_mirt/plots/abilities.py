"""Abilities with intervals, and who cannot be told apart."""

import numpy as np
from scipy.stats import norm

from sklearn_mirt.plots.base import Display, check_kind
from sklearn_mirt.plots.style import (
    COLOURS,
    ability_plane,
    columns_of,
    dimension_label,
    dimensions_of,
    names_in_audit,
)

_MOST_NAMED = 40


class AbilityDisplay(Display):
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
        keys = dimensions_of(table, "se_")
        display = cls(
            columns_of(table, "", keys),
            columns_of(table, "se_", keys),
            respondents=[str(name) for name in table.index],
            dims=names_in_audit(audit, keys),
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
        check_kind(kind, ("ranking", "map"))
        reach = norm.ppf(0.5 + level / 2)
        n = len(self.respondents)
        if kind == "ranking":
            height = 0.2 * n + 1.2 if n <= _MOST_NAMED else 5.0
            self._ranking(self._begin(ax, (6.4, height)), dim, reach)
        else:
            self._map(self._begin(ax, (6.2, 5.6)), reach)
        return self

    def _ranking(self, ax, dim, reach):
        value, error = self.abilities[:, dim], self.errors[:, dim]
        order = np.argsort(-value, kind="stable")
        value, error = value[order], error[order]
        sets = tie_sets(value, error, reach)
        y = np.arange(len(order))
        named = len(y) <= _MOST_NAMED
        for k in range(0, sets[-1] + 1, 2):
            rows = y[sets == k]
            ax.axhspan(rows[0] - 0.5, rows[-1] + 0.5, color="0.5", alpha=0.12, lw=0)
        ax.errorbar(
            value,
            y,
            xerr=reach * error,
            fmt="o",
            markersize=4 if named else 2,
            elinewidth=1,
            color=COLOURS[0],
        )
        if named:
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
                offset = {"xytext": (4, 3), "textcoords": "offset points"}
                ax.annotate(name, (x[i], y[i]), fontsize="x-small", **offset)
        ability_plane(ax, self.dims)


def tie_sets(value, error, reach):
    """Return the number of the run that each value of a falling sequence belongs to.

    A run ends where the difference from its first value exceeds its error.

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
