"""The class of all displays: it keeps the axes and the figure of a picture."""


class Display:
    """Axes and figure of a picture; what is drawn is up to each display.

    matplotlib is imported when the first axes are made, not with this module.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def _begin(self, ax, size, *, frame=False):
        """Return the axes to draw on and keep them.

        Parameters
        ----------
        ax : matplotlib Axes or None
            A new figure is made if None.
        size : pair of float
            Of the new figure, in inches.
        frame : bool, default=False
            Whether the frame keeps its upper and right line.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=size, layout="constrained")[1]
        if not frame:
            ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def check_kind(kind, kinds):
    """Raise ValueError unless the kind of picture is one of the two there are."""
    if kind not in kinds:
        first, second = kinds
        raise ValueError(f"kind must be {first!r} or {second!r}, got {kind!r}")
