"""Text that a spreadsheet does not take for a formula."""

from __future__ import annotations

# what Excel, LibreOffice and Google Sheets begin a formula with, and what they skip
_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def guarded_text(text: str) -> str:
    """Return the text, with a quote before it where a spreadsheet would compute it."""
    return "'" + text if text.startswith(_BEGINNINGS) else text


def guarded(frame):
    """Return a DataFrame whose text cells, index and column names are all only text.

    Text that begins with ``=``, ``+``, ``-``, ``@``, tab or carriage return gets an
    apostrophe before it (OWASP, *CSV injection*); numbers stay as they are.

    Parameters
    ----------
    frame : DataFrame

    Returns
    -------
    frame : DataFrame
    """

    def one(value):
        return guarded_text(value) if isinstance(value, str) else value

    def labels(index):
        if index.nlevels == 1:
            return index.map(one)
        return index.map(lambda parts: tuple(one(part) for part in parts))

    text = frame.select_dtypes(exclude=["number", "bool", "datetime"])
    out = frame.assign(**{name: text[name].map(one) for name in text.columns})
    return out.set_axis(labels(out.index), axis=0).set_axis(labels(out.columns), axis=1)
