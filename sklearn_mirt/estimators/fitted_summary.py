"""What a fitted estimator says of itself in a notebook and in a terminal."""

from html import escape

from sklearn import get_config
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

# on scikit-learn's own diagram, in a light and in a dark notebook
_STYLE = "font-family: monospace; margin: 0 0 .5em; border-collapse: collapse"
_CELL = "padding: 0 1em 0 0; text-align: left; font-weight: normal"


class FittedSummaryMixin:
    """Shows a short table of what was fitted, above scikit-learn's diagram.

    Subclasses give `_fitted_summary`, a list of (name, value). Before the fit, or with
    scikit-learn's `display="text"`, everything is scikit-learn's own.
    """

    def _fitted_summary(self) -> list[tuple[str, object]]:
        raise NotImplementedError

    def _summary(self):
        try:
            check_is_fitted(self)
        except NotFittedError:
            return []
        return [(name, str(value)) for name, value in self._fitted_summary()]

    @property
    def _repr_html_(self):
        # as in scikit-learn: notebooks ask whether the attribute is there
        if get_config()["display"] != "diagram":
            raise AttributeError("there is HTML only with display='diagram'")
        return lambda: _table(self._summary()) + estimator_html_repr(self)

    def _repr_mimebundle_(self, **kwargs):
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_()
        return bundle

    def __rich__(self):
        """Return the parameters and what was fitted for a terminal (rich)."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, padding=(0, 1))
        for name, value in self._summary():
            # not str: square brackets in a name are no markup
            table.add_row(Text(name, style="dim"), Text(value))
        head = Text(repr(self))
        return Group(head, table) if table.row_count else head


def _table(rows) -> str:
    if not rows:
        return ""
    lines = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table style="{_STYLE}"><tbody>{lines}</tbody></table>'
