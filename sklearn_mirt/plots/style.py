"""What the displays share: colours, labels, limits, curves with errors, legends."""

import numpy as np

# Okabe and Ito (2008), told apart with any common colour vision; yellow is left out,
# which is too pale for points on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#777777")
# A number of markers coprime to the number of colours: pairs repeat after 56 groups.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
MAX_GROUPS = 30
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


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


def columns_of(table, prefix, dims):
    """Return the columns prefix + dimension of a table as floats."""
    return table[[f"{prefix}{dim}" for dim in dims]].to_numpy(dtype=float)


def names_in_audit(audit, dims):
    """Return the names that an audit gives its dimensions, or their keys."""
    table = getattr(audit, "dimensions", None)
    return list(dims) if table is None else [str(name) for name in table["name"]]


def dimension_label(dim: str) -> str:
    """Return dim1 as "dimension 1"; names that users gave stay as they are."""
    number = dim.removeprefix("dim")
    return f"dimension {number}" if number.isdigit() else dim


def groups_by_size(labels):
    """Return group names by size, the code of each item, sizes; small ones joined."""
    labels = np.asarray(labels, dtype=str)
    unique, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    codes = np.argsort(order)[codes]
    names, counts = unique[order].tolist(), counts[order]
    if len(names) > MAX_GROUPS:
        n_joined = len(names) - MAX_GROUPS + 1
        names = [*names[: MAX_GROUPS - 1], f"{n_joined} smaller ones"]
        codes = np.minimum(codes, MAX_GROUPS - 1)
        counts = np.bincount(codes, minlength=MAX_GROUPS)
    return names, codes, counts


def group_colour(k: int, names) -> str:
    """Return the colour of a group; grey for the joined small ones."""
    joined = len(names) == MAX_GROUPS and k == MAX_GROUPS - 1
    return "#BBBBBB" if joined else COLOURS[k % len(COLOURS)]


def axis_limits(values):
    """Return axis limits that leave out the last 0.1% of either side, and hold 0."""
    low, high = np.quantile(values, [0.001, 0.999])
    low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.05 * max(high - low, 1e-3)
    return low - margin, high + margin


def foreground():
    """Return the colour of text, which a dark style makes light."""
    import matplotlib

    return matplotlib.rcParams["text.color"]


def zero_line(ax, linewidth):
    """Draw the horizontal line at 0."""
    ax.axhline(0, color=foreground(), linewidth=linewidth)


def ability_plane(ax, dims):
    """Name the axes of a plane of two abilities and draw its zero lines."""
    zero_line(ax, 0.4)
    ax.axvline(0, color=foreground(), linewidth=0.4)
    first, second = (f"ability, {dimension_label(dim)}" for dim in dims[:2])
    ax.set(xlabel=first, ylabel=second)


def curve_with_errors(ax, k, x, y, error, label):
    """Draw the curve number k with its errors; colour and line tell curves apart."""
    style = ("o-", "s--", "^-.", "D:")[k % 4]
    colour = COLOURS[k % len(COLOURS)]
    ax.errorbar(x, y, yerr=error, fmt=style, capsize=3, color=colour, label=label)


def legend_beside(ax, title, left):
    """Put the legend of the benchmarks to the right of the axes."""
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(left, 1.0),
        frameon=False,
        fontsize="small",
        title=title,
        title_fontsize="small",
        alignment="left",
    )
