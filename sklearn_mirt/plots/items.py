"""Curves of single items and of tests: probability, information, difficulty."""

import numpy as np

from sklearn_mirt.models.abilities import dimension_names
from sklearn_mirt.models.information import total_information
from sklearn_mirt.plots.base import Display, check_kind
from sklearn_mirt.plots.style import (
    COLOURS,
    MARKERS,
    ability_plane,
    columns_of,
    dimension_label,
    group_colour,
    groups_by_size,
    legend_beside,
)

_REACH = 3.0  # standard deviations of ability that are drawn
_FINE, _COARSE = 121, 61  # points on a line, and on each side of a plane
_HARDEST = 5.0  # standard deviations of ability


class ItemCurvesDisplay(Display):
    """Item characteristic curves, along each item's own direction, or one surface.

    Parameters
    ----------
    items : ItemParameters
        The items to draw.
    dims : sequence of str
        Names of the dimensions.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, items, *, dims):
        self.items = items
        self.dims = dims

    @classmethod
    def from_estimator(cls, estimator, items=None, *, kind="curves", ax=None):
        """Draw items of a fitted estimator.

        Parameters
        ----------
        estimator : fitted MIRTTransformer or MIRTClassifier
        items : list of item ids, default=None
            Default: five items of the largest to the smallest discrimination.
        kind : {"curves", "surface"}, default="curves"
            See :meth:`plot`.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : ItemCurvesDisplay
        """
        parameters = estimator.item_parameters_
        if items is None:
            order = np.argsort(-parameters.mdisc, kind="stable")
            n = min(5, len(order))
            places = order[np.linspace(0, len(order) - 1, n).astype(int)]
        else:
            places = _places(parameters.ids, items)
        dims = dimension_names(parameters.n_dims)
        return cls(parameters.take(places), dims=dims).plot(ax=ax, kind=kind)

    def plot(self, ax=None, *, kind="curves"):
        """Draw the curves, or the surface of the first item over two dimensions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        kind : {"curves", "surface"}, default="curves"
            A curve is the probability along the direction of the item's slopes, where
            it rises fastest. The surface needs two dimensions.

        Returns
        -------
        self : ItemCurvesDisplay
        """
        check_kind(kind, ("curves", "surface"))
        ax = self._begin(ax, (6.4, 4.6), frame=kind == "surface")
        if kind == "curves":
            self._curves(ax)
        else:
            self._surface(ax)
        return self

    def _curves(self, ax):
        x = np.linspace(-_REACH, _REACH, _FINE)
        for k, name in enumerate(self.items.ids):
            item = self.items.take(slice(k, k + 1))
            length = item.mdisc[0]
            direction = item.slopes[0] / length if length > 0 else item.slopes[0]
            p = item.probability(x[:, None] * direction)[:, 0]
            style = "-" if k < len(COLOURS) else "--"
            ax.plot(x, p, style, color=COLOURS[k % len(COLOURS)], label=str(name))
        ax.set_xlabel("ability along the item's direction (standard deviations)")
        ax.set_ylabel("probability of a right answer")
        ax.set_ylim(-0.02, 1.02)
        ax.legend(frameon=False, fontsize="small")

    def _surface(self, ax):
        if len(self.dims) != 2:
            raise ValueError(f"A surface needs 2 dimensions, got {len(self.dims)}")
        x, theta = _plane()
        p = self.items.take(slice(0, 1)).probability(theta)[:, 0].reshape(len(x), -1)
        levels = np.linspace(0, 1, 11)
        filled = ax.contourf(x, x, p, levels=levels, cmap="cividis")
        ax.contour(x, x, p, levels=[0.5], colors="white", linewidths=1.5)
        ax.figure.colorbar(filled, ax=ax, label="probability (white line: 0.5)")
        ability_plane(ax, self.dims)
        ax.set_aspect("equal")
        ax.set_title(str(self.items.ids[0]), fontsize="medium")


class InformationDisplay(Display):
    """Information of a test about each ability: curves, or a map of two dimensions.

    Parameters
    ----------
    items : ItemParameters
        The items of the test.
    groups : array-like of shape (n_items,)
        Part of the test each item belongs to.
    dims : sequence of str

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, items, *, groups, dims):
        self.items = items
        self.groups = groups
        self.dims = dims

    @classmethod
    def from_estimator(cls, estimator, items=None, *, kind="curves", ax=None):
        """Draw the information of items of a fitted estimator.

        Parameters
        ----------
        estimator : fitted MIRTTransformer or MIRTClassifier
        items : list of item ids, default=None
            Default: all.
        kind : {"curves", "map"}, default="curves"
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : InformationDisplay
        """
        parameters, groups = estimator.item_parameters_, estimator.item_groups_
        if items is not None:
            places = _places(parameters.ids, items)
            parameters, groups = parameters.take(places), groups[places]
        dims = dimension_names(parameters.n_dims)
        return cls(parameters, groups=groups, dims=dims).plot(ax=ax, kind=kind)

    def plot(self, ax=None, *, kind="curves"):
        """Draw the information.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        kind : {"curves", "map"}, default="curves"
            Curves: information on each dimension along that dimension, the others at
            0. Map: the standard error that the whole test leaves on the first of two
            dimensions, with the prior.

        Returns
        -------
        self : InformationDisplay
        """
        check_kind(kind, ("curves", "map"))
        ax = self._begin(ax, (6.4, 4.6), frame=kind == "map")
        if kind == "curves":
            self._curves(ax)
        else:
            self._map(ax)
        return self

    def _curves(self, ax):
        x = np.linspace(-_REACH, _REACH, _FINE)
        for k, dim in enumerate(self.dims):
            theta = np.zeros((len(x), len(self.dims)))
            theta[:, k] = x
            information = total_information(self.items, theta)[:, k, k]
            style, colour = ("-", "--", "-.", ":")[k % 4], COLOURS[k % len(COLOURS)]
            ax.plot(x, information, style, color=colour, label=dimension_label(dim))
        ax.set_ylim(bottom=0)
        ax.set_xlabel("ability (standard deviations)")
        ax.set_ylabel("information (1 / variance)")
        ax.legend(frameon=False)

    def _map(self, ax):
        if len(self.dims) != 2:
            raise ValueError(f"A map needs 2 dimensions, got {len(self.dims)}")
        x, theta = _plane()
        information = total_information(self.items, theta) + np.eye(2)
        errors = np.sqrt(np.linalg.inv(information)[:, 0, 0]).reshape(len(x), -1)
        filled = ax.contourf(x, x, errors, levels=12, cmap="cividis")
        label = f"standard error, {dimension_label(self.dims[0])}"
        ax.figure.colorbar(filled, ax=ax, label=label)
        ability_plane(ax, self.dims)
        ax.set_aspect("equal")


class DifficultyDisplay(Display):
    """Difficulty against discrimination of all items, as a density.

    Parameters
    ----------
    difficulty, discrimination : array-like of shape (n_items,)
        MDIFF, in standard deviations of ability, and MDISC, in logits per standard
        deviation (Reckase 2009).
    groups : array-like of shape (n_items,)
        Benchmarks; their medians are drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, difficulty, discrimination, *, groups):
        self.difficulty = difficulty
        self.discrimination = discrimination
        self.groups = groups

    @classmethod
    def from_audit(cls, audit, *, ax=None):
        """Draw the columns mdiff and mdisc of `audit.items`."""
        table = audit.items
        difficulty, discrimination = columns_of(table, "", ["mdiff", "mdisc"]).T
        groups = table["benchmark"].astype(str).to_numpy(dtype=object)
        return cls(difficulty, discrimination, groups=groups).plot(ax=ax)

    def plot(self, ax=None):
        """Draw the density and the medians of the benchmarks; return the display."""
        ax = self._begin(ax, (8.6, 4.8))
        x = np.asarray(self.difficulty, dtype=float)
        y = np.asarray(self.discrimination, dtype=float)
        # an item that hardly discriminates has a difficulty without bounds
        known = np.isfinite(x) & np.isfinite(y)
        inside = known & (np.abs(x) <= _HARDEST)
        image = ax.hexbin(
            x[inside], y[inside], gridsize=45, bins="log", mincnt=1, cmap="cividis"
        )
        ax.figure.colorbar(image, ax=ax, label="items", pad=0.01)
        self._medians(ax, x, y, known)
        ax.set_xlim(-_HARDEST, _HARDEST)
        ax.set_xlabel("difficulty (standard deviations of ability)")
        ax.set_ylabel("discrimination (logits per standard deviation)")
        n_inside = inside.sum()
        title = f"{n_inside:,} items; {len(x) - n_inside:,} beyond the axis"
        ax.set_title(title, fontsize="medium")
        return self

    def _medians(self, ax, x, y, known):
        names, codes, _ = groups_by_size(self.groups)
        for k, name in enumerate(names):
            here = known & (codes == k)
            if here.any():
                ax.plot(
                    np.clip(np.median(x[here]), -_HARDEST, _HARDEST),
                    np.median(y[here]),
                    MARKERS[k % len(MARKERS)],
                    color=group_colour(k, names),
                    markeredgecolor="white",
                    markersize=8,
                    linestyle="none",
                    label=name,
                )
        legend_beside(ax, "benchmark (median)", 1.2)


def _places(ids, wanted):
    place = {name: k for k, name in enumerate(ids)}
    unknown = [name for name in wanted if name not in place]
    if unknown:
        raise ValueError(f"There is no item {unknown[0]!r} among the fitted ones")
    return np.array([place[name] for name in wanted])


def _plane():
    x = np.linspace(-_REACH, _REACH, _COARSE)
    first, second = np.meshgrid(x, x)
    return x, np.column_stack([first.ravel(), second.ravel()])
