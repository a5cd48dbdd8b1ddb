"""Tables as CSV text, which a spreadsheet need not take for formulas."""

from __future__ import annotations

import csv
import io

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


def csv_text(frame, *, delimiter=",", guard_formulas=False) -> str:
    """Return a DataFrame, without its index, as CSV with a header line.

    Parameters
    ----------
    frame : DataFrame
    delimiter : str, default=","
    guard_formulas : bool, default=False
        Whether text is `guarded`; all values are then in quotes, since a spreadsheet
        may divide them at other marks than the delimiter.

    Returns
    -------
    text : str
        Missing values are empty, whole numbers have no point.
    """
    frame = guarded(frame) if guard_formulas else frame
    lines = _Lines()
    writer = csv.writer(
        lines,
        delimiter=delimiter,
        lineterminator="\r\n",
        quoting=csv.QUOTE_ALL if guard_formulas else csv.QUOTE_MINIMAL,
    )
    writer.writerow(frame.columns)
    columns = [_texts(frame[name]) for name in frame.columns]
    writer.writerows(zip(*columns, strict=True))
    return lines.getvalue()


class _Lines(io.StringIO):
    r"""Takes lines that end in \r\n and ends them in \n.

    csv.writer puts values in quotes that hold a character of the end of its lines: so
    a lone carriage return is in quotes too, where it begins no new row.
    """

    def write(self, line):
        return super().write(line.removesuffix("\r\n") + "\n")


def _texts(column) -> list[str]:
    """Return a column as text: whole numbers without point, missing values empty."""
    out = []
    for value, missing in zip(column.tolist(), column.isna().tolist(), strict=True):
        if missing:
            out.append("")
        elif isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            out.append(str(int(value)))
        else:
            out.append(str(value))
    return out
