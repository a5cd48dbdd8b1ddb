"""Reads one CSV, TSV, Parquet or Feather file into a table that knows its lines.

Nothing here knows about responses. A table is refused, with the line, where a reader
that only wants to succeed would guess: rows of unequal length (pandas pads short ones
with missing values), repeated or empty column names, a cut archive, broken text.

Text is read without pandas, which needs half a minute for a table of 80,000 columns and
reads an id such as "NA" as missing or "007" as seven.
"""

import csv
import re
from abc import ABC, abstractmethod
from operator import itemgetter
from pathlib import Path

import numpy as np

from sklearn_mirt.data.checks import name_some, short_repr
from sklearn_mirt.data.files.streams import FileFormatError, read_all

# What stands for "no answer" in a column of numbers; ids are never read as missing.
MISSING_MARKS = frozenset(
    {"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>"}
)
_TRUTH = {"true": 1.0, "false": 0.0}
_ARROW = {".parquet": "parquet", ".pq": "parquet", ".feather": "feather"}
_ARROW[".arrow"] = "feather"
# The delimiter is judged by the lines at the start, without what is quoted.
_SAMPLE = 2**22
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


class Table(ABC):
    """Columns of one file, by position, with what is needed to name a cell.

    Attributes
    ----------
    path : Path
    names : list of str
        Column names; unique and not empty, except that the first may be empty.
    """

    def __init__(self, path: Path, names: list[str]):
        self.path = path
        self.names = names

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Return where a row is in the file, for a message: "line 17"."""

    @abstractmethod
    def texts(self, column: int) -> list[str]:
        """Return a column as text; a value missing in the file is the empty string."""

    @abstractmethod
    def numbers(self, columns: list[int], hint: str = "") -> np.ndarray:
        """Return columns as float32 of shape (n_rows, len(columns)), NaN = missing.

        Raises FileFormatError, ended by the hint, at the first value that is no number.
        """

    def find(self, name: str) -> int:
        """Return the position of a column."""
        if name not in self.names:
            raise FileFormatError(
                f"{self.path}: there is no column {name!r}; the columns are "
                f"{name_some(self.names)}"
            )
        return self.names.index(name)

    def not_a_number(self, row, column, text, hint) -> FileFormatError:
        """Return the error that names a cell whose text is no number."""
        return FileFormatError(
            f"{self.path}, {self.place(row)}, column {self.names[column]!r}: "
            f"{short_repr(text)} is not a number{hint}"
        )

    def not_numbers(self, columns: list[int]) -> list[int]:
        """Return those of the columns that hold something else than numbers."""
        return [c for c in columns if None in map(to_number, set(self.texts(c)))]

    def ids(self, column: int, kind: str) -> np.ndarray:
        """Return a column as ids, an object array of text; refuse empty ones."""
        ids = np.empty(len(self), dtype=object)
        ids[:] = self.texts(column)
        empty = np.flatnonzero(ids == "")
        if len(empty):
            raise FileFormatError(
                f"{self.path}, {self.place(empty[0])}: the {kind} id (column "
                f"{self.names[column]!r}) is empty"
            )
        return ids

    def unique_ids(self, column: int, kind: str) -> np.ndarray:
        """Return a column as ids; refuse empty and repeated ones."""
        ids = self.ids(column, kind)
        first: dict[str, int] = {}
        for row, value in enumerate(ids):
            if first.setdefault(value, row) != row:
                raise FileFormatError(
                    f"{self.path}, {self.place(row)}: the {kind} {value!r} was there "
                    f"already ({self.place(first[value])}); ids must be unique"
                )
        return ids


def read_table(path) -> Table:
    """Read a CSV or TSV (plain, gzip or Zstandard), Parquet or Feather file.

    Parameters
    ----------
    path : path-like
        A name that ends in .parquet, .pq, .feather or .arrow is read with pyarrow,
        everything else as UTF-8 text with a header line; columns are separated by
        commas, or else by semicolons or tabs.

    Returns
    -------
    table : Table

    Raises
    ------
    FileFormatError
        The file is missing, empty, damaged or not a proper table.
    """
    path = Path(path)
    kind = _ARROW.get(path.suffix.lower())
    table = _read_arrow(path, kind) if kind else _read_text(path)
    if not len(table):
        raise FileFormatError(f"{path}: there is a header but no row of data")
    if len(table.names) < 2:
        raise FileFormatError(
            f"{path}: there is only one column, {short_repr(table.names[0])}; columns "
            "are separated by a comma, a semicolon or a tab"
        )
    return table


def to_number(text: str) -> float | None:
    """Return the number a text stands for: NaN if missing, None if it is no number."""
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


def _check_names(path: Path, names: list[str]) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            raise FileFormatError(
                f"{path}: two columns have the name {short_repr(name)}"
            )
        if position and not name.strip():
            raise FileFormatError(f"{path}: column {position + 1} has no name")
        seen.add(name)


# ---- text files


class _TextTable(Table):
    """Rows as lists of text, and the line that each begins in."""

    def __init__(self, path, names, rows, lines):
        super().__init__(path, names)
        self._rows, self._lines = rows, lines

    def __len__(self):
        return len(self._rows)

    def place(self, row):
        return f"line {self._lines[row]}"

    def texts(self, column):
        return [row[column] for row in self._rows]

    def numbers(self, columns, hint=""):
        out = np.empty((len(self), len(columns)), dtype=np.float32)
        known = _Numbers()
        # three times as fast as a list; of one column it would give no tuple
        chosen = itemgetter(*columns) if len(columns) > 1 else None
        for k, row in enumerate(self._rows):
            texts = chosen(row) if chosen else (row[columns[0]],)
            numbers = map(known.__getitem__, texts)
            try:
                out[k] = np.fromiter(numbers, np.float32, len(texts))
            except KeyError as error:
                column = columns[texts.index(error.args[0])]
                raise self.not_a_number(k, column, error.args[0], hint) from None
        return out


class _Numbers(dict):
    """Numbers by their text: a file holds few different ones, however large it is."""

    def __missing__(self, text):
        number = to_number(text)
        if number is None:
            raise KeyError(text)
        self[text] = number
        return number


def _read_text(path: Path) -> _TextTable:
    text = _decode(path, _read_bytes(path))
    if ".tsv" in path.suffixes or ".tab" in path.suffixes:
        delimiter = "\t"
    else:
        delimiter = _delimiter(path, text)
    rows, lines = _rows_and_lines(path, text, delimiter)
    if not rows:
        raise FileFormatError(f"{path}: the file is empty")
    names = rows[0]
    _check_names(path, names)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(names):
            raise FileFormatError(
                f"{path}, line {line}: {len(row)} values where the header has "
                f"{len(names)} columns"
            )
    return _TextTable(path, names, rows[1:], lines[1:])


def _delimiter(path: Path, text: str) -> str:
    """Return what separates columns: in the header, and as often in the rows.

    Refuse where two marks would do: "model;a" over "x;0,5" has a decimal comma, or a
    column "model;a" of ids.
    """
    start = _QUOTED.sub("", text[:_SAMPLE].lstrip("\n ")).split("\n")
    # the last line of a long text may be cut
    lines = [line for line in start[: -1 if len(text) > _SAMPLE else None] if line]
    header = (lines or start)[0]
    marks = [mark for mark in ",;\t" if mark in header]
    if len(marks) < 2:
        return marks[0] if marks else ","
    even = [m for m in marks if len({line.count(m) for line in lines[:20]}) == 1]
    if len(even) > 1:
        raise FileFormatError(
            f"{path}: columns could be separated by {' or '.join(map(repr, even))}; "
            "quote the values that contain one of them, or use a file name in .tsv "
            "and tabs"
        )
    return even[0] if even else marks[0]


def _read_bytes(path: Path) -> bytes:
    raw = read_all(path)
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
    for mark in ("\0", "\x1f"):
        if mark in text:
            line = text.count("\n", 0, text.index(mark)) + 1
            raise FileFormatError(
                f"{path}, line {line}: a control character ({ord(mark):#04x}); not a "
                "text file"
            )
    return text


def _rows_and_lines(path: Path, text: str, delimiter: str):
    """Return the rows that are not blank, and the line that each begins in."""
    source = (line + "\n" for line in text.split("\n"))
    rows, lines, line = [], [], 1
    known: dict[str, str] = {}  # few different values fill most tables: one copy each
    limit = csv.field_size_limit(2**31 - 1)  # the default refuses long prompts
    try:
        reader = csv.reader(source, delimiter=delimiter, strict=True)
        for fields in reader:
            if len(fields) > 1 or (fields and fields[0].strip(" ")):
                rows.append([known.setdefault(text, text) for text in fields])
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(
            f"{path}, line {line}: a quotation mark is opened and not closed at the "
            f"end of the value ({error})"
        ) from None
    finally:
        csv.field_size_limit(limit)
    return rows, lines


# ---- Parquet and Feather


class _FrameTable(Table):
    def __init__(self, path, names, frame):
        super().__init__(path, names)
        self._frame = frame

    def __len__(self):
        return len(self._frame)

    def place(self, row):
        return f"row {row + 1}"

    def texts(self, column):
        values = self._frame.iloc[:, column]
        pairs = zip(values.tolist(), values.isna().tolist(), strict=True)
        return ["" if missing else str(value) for value, missing in pairs]

    def numbers(self, columns, hint=""):
        frame = self._frame.iloc[:, columns]
        if all(getattr(dtype, "kind", "O") in "biuf" for dtype in frame.dtypes):
            # what is too large for float32 is infinite, and refused as a score
            with np.errstate(over="ignore"):
                return frame.to_numpy(dtype=np.float32, na_value=np.nan)
        out = np.empty(frame.shape, dtype=np.float32)
        for k, column in enumerate(columns):
            for row, text in enumerate(self.texts(column)):
                number = to_number(text)
                if number is None:
                    raise self.not_a_number(row, column, text, hint)
                out[row, k] = number
        return out


def _read_arrow(path: Path, kind: str) -> _FrameTable:
    import pandas as pd

    if not path.exists():
        raise FileFormatError(f"{path}: there is no such file")
    name = kind.capitalize()
    try:
        from pyarrow import feather, parquet
    except ImportError:
        raise FileFormatError(
            f"{path}: reading {name} needs pyarrow; pip install 'sklearn-mirt[parquet]'"
        ) from None
    try:
        read = {"parquet": parquet.read_table, "feather": feather.read_table}[kind]
        table = read(path)
        # without this, pyarrow reads beyond the buffers of a damaged file
        table.validate(full=True)
        frame = table.to_pandas()
    except Exception as error:  # damaged bytes make pyarrow raise all kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"{path}: not a {name} file ({reason})") from error
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    _check_names(path, names)
    return _FrameTable(path, names, frame)
