"""Writes responses and tables; whole files or none.

What is written here is read back by `read_responses` and `read_items`, cell by cell.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np

from sklearn_mirt.data.checks import is_missing
from sklearn_mirt.data.files.atomic import replacing
from sklearn_mirt.data.responses import ResponseData

TABLE_LAYOUTS = ("long", "wide", "items-as-rows", "py-irt")
# what Excel, LibreOffice and Google Sheets begin a formula with, and what they skip
_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def write_responses(
    data: ResponseData, path, *, layout="long", force=False, guard_formulas=False
) -> Path:
    """Write responses to one file.

    Parameters
    ----------
    data : ResponseData
    path : path-like
        The ending says how: .csv or .tsv (then .gz or .zst), .parquet, .feather;
        .jsonl for py-irt.
    layout : {"long", "wide", "items-as-rows", "py-irt"}, default="long"
        Only `long` keeps weights (a column `weight`, where there are any).
    force : bool, default=False
        Replace an existing file.
    guard_formulas : bool, default=False
        See :func:`write_table`; ids that were changed are read back changed.

    Returns
    -------
    path : Path

    Raises
    ------
    FileExistsError
        The file is there and `force` is False.
    ValueError
        Unknown layout or ending; weights in a layout that cannot hold them; two ids
        that are the same text.
    """
    if layout not in TABLE_LAYOUTS:
        raise ValueError(f"layout must be one of {TABLE_LAYOUTS}, got {layout!r}")
    weighted = data.cells()[3] is not None
    if weighted and layout != "long":
        raise ValueError(
            f"the scores have weights, which the layout {layout!r} cannot hold; write "
            "layout='long'"
        )
    for kind, ids in (("respondent", data.respondents), ("item", data.items)):
        if len({str(name) for name in ids}) < len(ids):
            raise ValueError(f"two {kind} ids are the same when written as text")
    if layout == "py-irt":
        return _write_lines(data, Path(path), force)
    frame = _frame(data, layout)
    return write_table(frame, path, force=force, guard_formulas=guard_formulas)


def write_table(frame, path, *, force=False, guard_formulas=False) -> Path:
    """Write a DataFrame, without its index, as CSV, TSV, Parquet or Feather.

    Parameters
    ----------
    frame : DataFrame
        Column names are text.
    path : path-like
        Ending in .csv or .tsv (then .gz or .zst), .parquet, .pq or .feather.
    force : bool, default=False
        Replace an existing file.
    guard_formulas : bool, default=False
        Put an apostrophe before text that a spreadsheet would take for a formula (it
        begins with ``=``, ``+``, ``-``, ``@``, tab or carriage return).

    Returns
    -------
    path : Path
    """
    path = Path(path)
    kind = path.suffix.lower()
    with replacing(path, force) as scratch:
        if kind in {".parquet", ".pq", ".feather", ".arrow"}:
            frame = guarded(frame) if guard_formulas else frame
            frame = frame.reset_index(drop=True)
            write = frame.to_parquet if kind[:2] == ".p" else frame.to_feather
            write(scratch)
        else:
            text = csv_text(
                frame, delimiter=_delimiter(path), guard_formulas=guard_formulas
            )
            scratch.write_bytes(_packed(text, kind))
    return path


def _frame(data, layout):
    import pandas as pd

    respondents = [str(name) for name in data.respondents]
    items = [str(name) for name in data.items]
    if layout == "wide":
        frame = pd.DataFrame(data.to_wide(), columns=items)
        frame.insert(0, _free("respondent", items), respondents)
        return frame
    if layout == "items-as-rows":
        frame = pd.DataFrame(data.to_wide().T, columns=respondents)
        frame.insert(0, _free("item_id", respondents), items)
        return frame
    return long_frame(data)


def long_frame(data, *, weights=False):
    """Return one row per answer, and one without score for each id without answers.

    Parameters
    ----------
    data : ResponseData
    weights : bool, default=False
        Whether there is a column `weight` even where all weights are 1.

    Returns
    -------
    frame : DataFrame
        respondent, item_id (text), score and, where there are any, weight.
    """
    import pandas as pd

    respondents = np.array([str(name) for name in data.respondents], dtype=object)
    items = np.array([str(name) for name in data.items], dtype=object)
    item, respondent, scores, weight = data.cells()
    weight = np.ones(len(scores)) if weight is None and weights else weight
    frame = pd.DataFrame(
        {
            "respondent": respondents[respondent],
            "item_id": items[item],
            "score": scores.astype(float),
        }
    )
    if weight is not None:
        frame["weight"] = weight.astype(float)
    weight_of = data.sums()[0]
    rows = [(respondents[0], items[j]) for j in np.flatnonzero(weight_of[0] == 0)]
    rows += [(respondents[i], items[0]) for i in np.flatnonzero(weight_of[1] == 0)]
    rows = list(dict.fromkeys(rows))
    silent = pd.DataFrame(rows, columns=["respondent", "item_id"], dtype=object)
    silent = silent.assign(score=np.nan, weight=1.0)
    return pd.concat([frame, silent[list(frame.columns)]])


def _free(name, taken) -> str:
    while name in taken:
        name += "_id"
    return name


def _delimiter(path: Path) -> str:
    names = {suffix.lower() for suffix in path.suffixes}
    if not names & {".csv", ".tsv"}:
        raise ValueError(f"{path}: a table is .csv, .tsv, .parquet or .feather")
    return "\t" if ".tsv" in names else ","


def _packed(text: str, kind: str) -> bytes:
    content = text.encode("utf-8")
    if kind == ".gz":
        # no time stamp: the same table is the same bytes
        return gzip.compress(content, mtime=0)
    if kind == ".zst":
        import pyarrow as pa

        # through a stream: its reader wants the size of no frame
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(content)
        return sink.getvalue().to_pybytes()
    return content


def _write_lines(data, path: Path, force: bool) -> Path:
    wide = data.to_wide()
    items = [str(name) for name in data.items]
    with (
        replacing(path, force) as scratch,
        scratch.open("w", encoding="utf-8") as file,
    ):
        for name, row in zip(data.respondents, wide.tolist(), strict=True):
            answers = {
                item: None if score != score else score
                for item, score in zip(items, row, strict=True)
            }
            line = {"subject_id": str(name), "responses": answers}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


# ---- CSV text, also for spreadsheets


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
    columns = [map(_text, frame[name].tolist()) for name in frame.columns]
    writer.writerows(zip(*columns, strict=True))
    return lines.getvalue()


class _Lines(io.StringIO):
    r"""Takes lines that end in \r\n and ends them in \n.

    csv.writer puts values in quotes that hold a character of the end of its lines: so
    a lone carriage return is in quotes too, where it begins no new row.
    """

    def write(self, line):
        return super().write(line.removesuffix("\r\n") + "\n")


def _text(value) -> str:
    """Return a value as text: a whole number without point, a missing one empty."""
    if is_missing(value) or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
