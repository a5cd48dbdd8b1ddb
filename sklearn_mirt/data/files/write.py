"""Writes responses, tables and lists of chosen items; whole files or none.

What is written here is read back by `read_responses` and `read_items`, cell by cell.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import replacing
from sklearn_mirt.data.files.spreadsheets import csv_text, guarded
from sklearn_mirt.data.responses import ResponseData

TABLE_LAYOUTS = ("long", "wide", "items-as-rows", "py-irt")
ITEM_LISTS = ("lm-eval", "inspect", "csv")


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


def write_item_list(
    items, path, *, kind=None, force=False, guard_formulas=False
) -> Path:
    """Write chosen items for the program that is to ask them.

    Parameters
    ----------
    items : DataFrame
        By item id, with `benchmark` (the task) and `doc_id` (the id within it), as
        `read_responses` returns it for logs; only the chosen rows.
    path : path-like
    kind : {"lm-eval", "inspect", "csv"}, default=None
        "lm-eval": JSON `{task: [doc ids]}`, for ``lm_eval --samples FILE``. "inspect":
        the same with sample ids, for :func:`inspect_filter` or ``inspect eval
        --sample-id``. "csv": item id, task and id within it. Default by the ending:
        .csv for "csv", else "lm-eval".
    force : bool, default=False
        Replace an existing file.
    guard_formulas : bool, default=False
        For "csv", see :func:`write_table`; ids that were changed are read back changed.

    Returns
    -------
    path : Path

    Raises
    ------
    ValueError
        The table lacks a column; for "lm-eval", an id that is no number of a document.
    """
    path = Path(path)
    kind = kind or ("csv" if path.suffix == ".csv" else "lm-eval")
    if kind not in ITEM_LISTS:
        raise ValueError(f"kind must be one of {ITEM_LISTS}, got {kind!r}")
    lacking = [name for name in ("benchmark", "doc_id") if name not in items]
    if lacking and kind != "csv":
        raise ValueError(
            f"the item table has no column {lacking[0]!r}, so that items cannot be "
            "named to the program; write kind='csv'"
        )
    if kind == "csv":
        columns = [n for n in ("benchmark", "doc_id") if n in items]
        frame = items[columns].rename_axis(index="item_id").reset_index()
        return write_table(frame, path, force=force, guard_formulas=guard_formulas)
    by_task: dict[str, list] = {}
    for item, task, key in zip(
        items.index, items["benchmark"], items["doc_id"], strict=True
    ):
        by_task.setdefault(str(task), []).append(
            _number(key, item) if kind == "lm-eval" else _native(key)
        )
    chosen = {
        task: sorted(keys, key=lambda key: (isinstance(key, str), key))
        for task, keys in sorted(by_task.items())
    }
    with replacing(path, force) as scratch:
        scratch.write_text(json.dumps(chosen, indent=1) + "\n", encoding="utf-8")
    return path


def inspect_filter(path, task: str):
    """Return a filter for `Dataset.filter` of Inspect that keeps the chosen samples.

    Parameters
    ----------
    path : path-like
        Written by :func:`write_item_list` with kind "inspect".
    task : str
        Name of the task.

    Returns
    -------
    keep : callable
        True for a sample whose id was chosen.

    Examples
    --------
    ``dataset = dataset.filter(inspect_filter("chosen.json", "capitals"))``
    """
    chosen = json.loads(Path(path).read_text(encoding="utf-8"))
    if task not in chosen:
        raise ValueError(f"{path}: no task {task!r}; it has {', '.join(chosen)}")
    keys = {(type(key), key) for key in chosen[task]}
    return lambda sample: (type(sample.id), sample.id) in keys


def _native(key):
    return key.item() if isinstance(key, np.generic) else key


def _number(key, item) -> int:
    try:
        return int(key)
    except (TypeError, ValueError):
        raise ValueError(
            f"item {item!r} has the doc_id {key!r}, which is no number of a document"
        ) from None


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
    item, respondent, scores, weights = data.cells()
    frame = pd.DataFrame(
        {
            "respondent": np.array(respondents, dtype=object)[respondent],
            "item_id": np.array(items, dtype=object)[item],
            "score": scores.astype(float),
        }
    )
    if weights is not None:
        frame["weight"] = weights.astype(float)
    return pd.concat([frame, _silent(data, respondents, items, frame)])


def _silent(data, respondents, items, frame):
    """Return rows without a score that name who has no answers, to keep the ids."""
    import pandas as pd

    weight = data.sums()[0]
    rows = [(respondents[0], items[j]) for j in np.flatnonzero(weight[0] == 0)]
    rows += [(respondents[i], items[0]) for i in np.flatnonzero(weight[1] == 0)]
    rows = list(dict.fromkeys(rows))
    silent = pd.DataFrame(rows, columns=["respondent", "item_id"], dtype=object)
    return silent.assign(score=np.nan, weight=1.0)[list(frame.columns)]


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
