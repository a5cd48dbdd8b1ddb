"""Reads one CSV, TSV or Parquet file into a checked table that knows its lines.

Nothing here knows about responses. A table is refused, with the line, where a reader
that only wants to succeed would guess: rows of unequal length (pandas pads short ones
with missing values), repeated or empty column names, a cut archive, broken text.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# What stands for "no answer" in a column of numbers; ids are never read as missing.
MISSING_MARKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>")
_TRUTH = {"true": 1.0, "false": 0.0}
_PARQUET = {".parquet", ".pq"}


class FileFormatError(ValueError):
    """A file cannot be read as what it is meant to be; the message is one line."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one file, under their positions, with what is needed to name a cell.

    Attributes
    ----------
    path : Path
    names : list of str
        Column names; unique and not empty, except that the first may be empty.
    frame : DataFrame
        Columns 0, 1, ... in file order.
    lines : ndarray of shape (n_rows,) or None
        Line of the file where each row starts; None for a binary file.
    """

    path: Path
    names: list[str]
    frame: pd.DataFrame
    lines: np.ndarray | None

    def place(self, row: int) -> str:
        """Return where a row is, as a person would look it up."""
        if self.lines is None:
            return f"{self.path}, row {row + 1}"
        return f"{self.path}, line {self.lines[row]}"

    def texts(self, column: int) -> list[str]:
        """Return one column as strings; missing values become the empty string."""
        values = self.frame[column]
        missing = values.isna().tolist()
        return [
            "" if gone else str(value)
            for value, gone in zip(values.tolist(), missing, strict=True)
        ]

    def ids(self, column: int, kind: str) -> np.ndarray:
        """Return one column as ids, an object array of strings; refuse empty ones."""
        ids = np.empty(len(self.frame), dtype=object)
        ids[:] = self.texts(column)
        empty = np.flatnonzero(ids == "")
        if len(empty):
            raise FileFormatError(
                f"{self.place(empty[0])}: the {kind} id (column "
                f"{self.names[column]!r}) is empty"
            )
        return ids

    def unique_ids(self, column: int, kind: str) -> np.ndarray:
        """Return one column as ids; refuse empty and repeated ones."""
        ids = self.ids(column, kind)
        first: dict[str, int] = {}
        for row, value in enumerate(ids):
            if first.setdefault(value, row) != row:
                raise FileFormatError(
                    f"{self.place(row)}: the {kind} {value!r} was there already "
                    f"({self.place(first[value]).rpartition(', ')[2]}); ids must be "
                    "unique"
                )
        return ids

    def is_number(self, column: int) -> bool:
        """Tell whether all values of a column are numbers, true, false or missing."""
        return _plain_number(self.frame[column].dtype) or all(
            _number(text) is not None for text in set(self.texts(column))
        )

    def numbers(self, columns: list[int], hint: str = "") -> np.ndarray:
        """Return columns as float32 of shape (n_rows, len(columns)), NaN = missing."""
        frame = self.frame[columns]
        odd = [c for c in columns if not _plain_number(self.frame[c].dtype)]
        if odd:
            parsed = {column: self._parse_numbers(column, hint) for column in odd}
            frame = frame.copy()  # the table itself stays as read
            for column, values in parsed.items():
                frame[column] = values
        return frame.to_numpy(dtype=np.float32, na_value=np.nan)

    def _parse_numbers(self, column: int, hint: str) -> np.ndarray:
        texts = self.texts(column)
        known = {text: _number(text) for text in set(texts)}
        for row, text in enumerate(texts):
            if known[text] is None:
                raise FileFormatError(
                    f"{self.place(row)}, column {self.names[column]!r}: "
                    f"{_short(text)} is not a number{hint}"
                )
        return np.array([known[text] for text in texts], dtype=np.float32)

    def find(self, name: str) -> int:
        """Return the position of a column."""
        try:
            return self.names.index(name)
        except ValueError:
            raise FileFormatError(
                f"{self.path}: there is no column {name!r}; the columns are "
                f"{listing(self.names)}"
            ) from None


def read_table(path, *, text_names=()) -> Table:
    """Read a CSV, TSV (either may be gzipped) or Parquet file.

    Parameters
    ----------
    path : path-like
        A name that ends in .parquet or .pq is read with pyarrow, everything else as
        UTF-8 text with a header line.
    text_names : collection of str, default=()
        Columns of a text file that, like the first, are kept exactly as written ("007"
        and "NA" are ids, not numbers). Case does not matter.

    Returns
    -------
    table : Table

    Raises
    ------
    FileFormatError
        The file is missing, empty, damaged or not a proper table.
    """
    path = Path(path)
    if path.suffix.lower() in _PARQUET:
        table = _read_parquet(path)
    else:
        table = _read_text(path, text_names)
    if not len(table.frame):
        raise FileFormatError(f"{path}: there is a header but no row of data")
    if len(table.names) < 2:
        raise FileFormatError(
            f"{path}: there is only one column, {_short(table.names[0])}; columns are "
            "separated by a comma, a semicolon or a tab"
        )
    return table


def listing(values, limit: int = 4) -> str:
    """Return the first few values for a message, and how many more there are."""
    values = list(values)
    shown = ", ".join(_short(value) for value in values[:limit])
    more = len(values) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def _short(text: str, width: int = 60) -> str:
    return repr(text if len(text) <= width else text[: width - 3] + "...")


def _plain_number(dtype) -> bool:
    """Tell whether pandas already holds the column as real numbers or truth values."""
    return getattr(dtype, "kind", "O") in "biuf"


def _number(text: str) -> float | None:
    text = text.strip()
    if text in MISSING_MARKS:
        return np.nan
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    try:
        # Python reads 1_0 as ten; in a file of scores it is a slip.
        return None if "_" in text else float(text)
    except ValueError:
        return None


# ---- text files


def _read_text(path: Path, text_names) -> Table:
    raw = _read_bytes(path)
    text = _decode(path, raw)
    delimiter = _delimiter(path, text)
    names = _header(path, text, delimiter)
    lines = _line_numbers(path, raw, delimiter, len(names))
    as_text = {name.lower() for name in text_names}
    texts = [k for k, name in enumerate(names) if k == 0 or name.lower() in as_text]
    frame = _parse(path, raw, delimiter, lines, len(names), texts)
    return Table(path, names, frame, lines[1:])


def _read_bytes(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
    except FileNotFoundError:
        raise FileFormatError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise FileFormatError(f"{path}: this is a folder, not a file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileFormatError(
            f"{path}: the gzip archive is damaged or cut short ({error})"
        ) from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not raw.strip():
        raise FileFormatError(f"{path}: the file is empty")
    return raw


def _decode(path: Path, raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: not UTF-8 text (byte {raw[error.start]:#04x}); save "
            "the file as UTF-8"
        ) from None
    if "\0" in text:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise FileFormatError(f"{path}, line {line}: a NUL byte; not a text file")
    return text


def _delimiter(path: Path, text: str) -> str:
    header = text.lstrip("\n ").partition("\n")[0]
    if ".tsv" in path.suffixes or ".tab" in path.suffixes:
        return "\t"
    return next((mark for mark in ",;\t" if mark in header), ",")


def _header(path: Path, text: str, delimiter: str) -> list[str]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = next(row for row in rows if row and (len(row) > 1 or row[0].strip(" ")))
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            raise FileFormatError(f"{path}: two columns have the name {_short(name)}")
        if position and not name.strip():
            raise FileFormatError(f"{path}: column {position + 1} has no name")
        seen.add(name)
    return names


def _line_numbers(path: Path, raw: bytes, delimiter: str, n_columns: int):
    """Return the line of each row, header first; refuse rows of another length."""
    # Inside quotes, delimiters do not count; line ends do, as the mark \x01.
    plain = raw
    if b'"' in raw:
        plain = re.sub(rb'"[^"]*"', lambda m: b"\x01" * m[0].count(b"\n"), raw)
        if b'"' in plain:
            line = 1 + sum(plain.count(c, 0, plain.index(b'"')) for c in (b"\n", b"\1"))
            raise FileFormatError(
                f"{path}, line {line}: a quotation mark is opened and never closed"
            )
    mark = delimiter.encode()
    found, line = [], 1
    for content in plain.split(b"\n"):
        n_fields = content.count(mark) + 1
        if n_fields == n_columns and (n_columns > 1 or content.strip(b" ")):
            found.append(line)
        elif content.strip(b" "):
            raise FileFormatError(
                f"{path}, line {line}: {n_fields} values where the header has "
                f"{n_columns} columns"
            )
        line += 1 + content.count(b"\x01")
    return np.array(found, dtype=np.int64)


def _parse(path, raw, delimiter, lines, n_columns, texts):
    import pandas as pd

    try:
        frame = pd.read_csv(
            io.BytesIO(raw),
            sep=delimiter,
            header=0,
            names=list(range(n_columns)),
            index_col=False,
            # a converter keeps the text as it is; dtype=str would read "NA" as missing
            converters={column: str for column in texts},
            keep_default_na=False,
            na_values=list(MISSING_MARKS),
            low_memory=False,
            encoding="utf-8",
        )
    except (ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise FileFormatError(
            f"{path}: cannot be read as a table ({reason})"
        ) from error
    if len(frame) != len(lines) - 1:
        raise FileFormatError(
            f"{path}: {len(lines) - 1} rows by their line ends but {len(frame)} by "
            "their quotation marks; a quotation mark inside a value must be doubled"
        )
    return frame


# ---- Parquet


def _read_parquet(path: Path) -> Table:
    import pandas as pd

    if not path.exists():
        raise FileFormatError(f"{path}: there is no such file")
    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise FileFormatError(
            f"{path}: reading Parquet needs pyarrow; pip install "
            "'sklearn-mirt[parquet]'"
        ) from None
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        raise FileFormatError(f"{path}: not a Parquet file ({reason})") from error
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    repeated = pd.Index(names)
    if repeated.has_duplicates:
        name = repeated[repeated.duplicated()][0]
        raise FileFormatError(f"{path}: two columns have the name {_short(name)}")
    frame = frame.set_axis(range(len(names)), axis="columns")
    return Table(path, names, frame, None)
