"""Reads responses: tables, and the logs of evaluation programs; one entry point.

Tables (CSV, TSV, Parquet, Feather) have three layouts. `wide`: one row per respondent,
one column per item. `items-as-rows`: the same table lying on its side. `long`: one row
per answer, with a column of respondent ids, one of item ids and one of scores. Ids are
text and joined by name. For logs see `sklearn_mirt/data/files/logs`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sklearn_mirt.data.files.layouts import (
    ITEM_NAMES,
    LABEL_COLUMNS,
    READERS,
    GivenColumns,
    match,
    named_column,
    recognise,
)
from sklearn_mirt.data.files.logs import helm, inspect_logs, lm_eval, opencompass, pyirt
from sklearn_mirt.data.files.logs.answer_log import ERRORS, AnswerLog, ReadOptions
from sklearn_mirt.data.files.streams import ByteProgress, find_files
from sklearn_mirt.data.files.tables import FileFormatError, Table, read_table, to_number
from sklearn_mirt.data.files.write import long_frame
from sklearn_mirt.data.responses import ResponseData

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FileFormatError", "LoadedResponses", "read_items", "read_responses"]

_LOGS = {
    module.LAYOUT: module
    for module in (lm_eval, inspect_logs, helm, opencompass, pyirt)
}
LAYOUTS = ("auto", *READERS, *_LOGS)


@dataclass(frozen=True, eq=False)
class LoadedResponses:
    """Responses read from files, and how the files were understood.

    Attributes
    ----------
    data : ResponseData
    layout : str
        The layout that was given or recognised.
    path : Path
        The first path.
    notes : tuple of str
        What a reader of results should know: what was recognised, columns set aside,
        items of the item table without answers, versions that are mixed.
    items : DataFrame or None
        Of a log: by item id, `benchmark` (the task) and `doc_id` (the id within it).
    provenance : DataFrame or None
        Of a log: one row per run: file, respondent, task, versions, metric, number of
        answers and of errors.
    n_errors : int
        Of a log: answers that ended in an error or were not scored.
    """

    data: ResponseData
    layout: str
    path: Path
    notes: tuple[str, ...] = field(default=())
    items: pd.DataFrame | None = None
    provenance: pd.DataFrame | None = None
    n_errors: int = 0


def read_responses(
    path,
    *,
    layout="auto",
    respondent=None,
    item=None,
    score=None,
    items=None,
    metric=None,
    filter=None,
    tasks=None,
    errors=None,
    aggregate=None,
    progress=None,
) -> LoadedResponses:
    """Read scores of respondents on items, from tables or from logs.

    Parameters
    ----------
    path : path-like or sequence of path-likes
        Tables: CSV, TSV (plain, .gz or .zst), Parquet or Feather. Scores lie in [0, 1];
        true and false count as 1 and 0; an empty cell, NA, NaN, null or None is a
        missing answer. Logs: files, or folders that are searched at any depth.
    layout : str, default="auto"
        Tables: "wide", "items-as-rows", "long", "benchmirt" (`question_id` and one
        column `acc_norm_<model>` per model). Logs: "lm-eval", "inspect", "helm",
        "opencompass", "py-irt". With "auto" logs are told by the names of their files;
        a table is `long` if its header has a column of respondents, of items and of
        scores (see Notes); otherwise the side where the ids of `items` stand decides,
        or, without `items`, it is `items-as-rows` if the first column is named like an
        item id, else `wide`.
    respondent, item, score : str, default=None
        Names of the id and score columns where they are not among the recognised ones.
        Giving `item` and `score` says that the layout is long.
    items : DataFrame, default=None
        Item table of :func:`read_items`. Every item of the responses must be in it. In
        the wide layout, columns of text that are not in it are set aside (and noted).
    metric, filter : str or mapping from task to str, default=None
        Logs: the score to take (in Inspect the scorer) and of which filtered answer;
        needed where there are several, which the error then lists.
    tasks : sequence of str, default=None
        Logs: the tasks to read; all by default.
    errors : {None, "missing", "wrong"}, default=None
        Logs: what an answer is that ended in an error or was not scored. None refuses
        logs with such answers, since leaving them out raises the score of a respondent
        that fails often.
    aggregate : {None, "mean", "first", "count"}, default=None
        What to do where a respondent answered an item in more than one run: refuse;
        take the mean as one answer; take the first; take the mean, weighted by the
        number of answers. Epochs of one Inspect log and trials of one HELM run are
        always repeats, weighted by their number.
    progress : callable, default=None
        Logs: called with the bytes read so far and in all.

    Returns
    -------
    loaded : LoadedResponses

    Raises
    ------
    FileFormatError
        Missing, empty or damaged file, rows of unequal length, repeated ids or cells,
        a score that is no number or outside [0, 1], ids that do not match `items`, no
        or several possible metrics; the message names the file, the line and the
        column.
    ValueError
        Unknown `layout`, or column names that do not belong to it.

    Warns
    -----
    ResponseDataWarning
        Answers to the items of one task come from different versions of the task or of
        the program, or the content of an item differs between runs.

    Notes
    -----
    Recognised names, case ignored: `respondent`, `respondent_id`, `model`, `model_id`,
    `model_name`, `person`, `student`; `item_id`, `item`, `question_id`, `question`,
    `prompt_id`, `doc_id`, `instance_id`; `score`, `correct`, `is_correct`, `response`,
    `answer`; for the number of answers behind a score `weight`, `n_answers`.

    Logs are read line by line: memory grows with the number of answers (48 bytes
    each), not with the size of the files.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {LAYOUTS}, got {layout!r}")
    if score is not None and layout not in ("auto", "long"):
        raise ValueError(f"score={score!r} names a column of the long layout only")
    if errors is not None and errors not in ERRORS:
        raise ValueError(f"errors must be None or one of {ERRORS}, got {errors!r}")
    paths = [Path(p) for p in ([path] if isinstance(path, str | os.PathLike) else path)]
    if not paths:
        raise ValueError("no file is given")
    program = _kind_of_log(paths) if layout == "auto" else layout
    if program in _LOGS:
        wanted = None if tasks is None else frozenset(tasks)
        counted = ByteProgress(progress, _size(paths))
        options = ReadOptions(metric, filter, wanted, errors, counted)
        return read_logs(paths, program, options, items=items, aggregate=aggregate)
    columns = GivenColumns(respondent, item, score)
    return read_table_responses(
        paths, layout, columns, items=items, aggregate=aggregate
    )


def read_table_responses(
    paths, layout, columns, *, items=None, aggregate=None
) -> LoadedResponses:
    """Read scores from tables.

    Parameters
    ----------
    paths : list of Path
    layout : str
        A layout of tables, or "auto".
    columns : GivenColumns
    items, aggregate
        As in :func:`read_responses`.

    Returns
    -------
    loaded : LoadedResponses
        Of several tables, which are joined by id, ids are sorted.
    """
    loaded = [_read_table(path, layout, columns, items, aggregate) for path in paths]
    return loaded[0] if len(loaded) == 1 else _together(loaded, aggregate)


def read_logs(
    paths, program, options, *, items=None, aggregate=None
) -> LoadedResponses:
    """Read scores from logs of one evaluation program.

    Parameters
    ----------
    paths : list of Path
        Files, or folders that are searched at any depth.
    program : str
        A layout of logs.
    options : ReadOptions
    items, aggregate
        As in :func:`read_responses`.

    Returns
    -------
    loaded : LoadedResponses
    """
    for path in paths:
        if not path.exists():
            raise FileFormatError(f"{path}: there is no such file")
    log = AnswerLog(options.errors)
    _LOGS[program].read(paths, options, log)
    mixtures = log.warn_of_mixtures(stacklevel=4)
    data = log.to_data(aggregate)
    notes = [*log.notes, *mixtures]
    if log.n_errors:
        notes.append(
            f"{log.n_errors} answers without a score count as {options.errors}"
        )
    return LoadedResponses(
        data,
        program,
        paths[0],
        tuple(notes + match(paths[0], data.items, items)),
        log.item_table().loc[data.items],
        log.provenance_table(),
        log.n_errors,
    )


def _kind_of_log(paths: list[Path]) -> str | None:
    """Return the layout of the logs at the paths, None if they are tables."""
    kinds = [kind for kind, module in _LOGS.items() if module.recognises(paths)]
    if len(kinds) > 1:
        raise FileFormatError(
            f"{paths[0]}: there are logs of several kinds ({', '.join(kinds)}); say "
            "which with layout=..."
        )
    folder = next((p for p in paths if p.is_dir()), None)
    if not kinds and folder is not None:
        raise FileFormatError(
            f"{folder}: this is a folder without logs of a known kind "
            f"({', '.join(_LOGS)})"
        )
    unknown = next((p for p in paths if ".json" in p.name), None)
    if not kinds and unknown is not None and unknown.exists():
        raise FileFormatError(
            f"{unknown}: JSON of an unknown kind; say which with layout=... "
            f"({', '.join(_LOGS)})"
        )
    return kinds[0] if kinds else None


def _size(paths: list[Path]) -> int:
    files = [p for p in paths if p.is_file()]
    for folder in paths:
        if folder.is_dir():
            files += find_files(folder, lambda name: True)
    return sum(p.stat().st_size for p in files if p.is_file())


def _read_table(path, layout, given, items, aggregate) -> LoadedResponses:
    table = read_table(path)
    if layout == "auto":
        layout = recognise(table, given, items)
    more = (aggregate,) if layout == "long" else ()
    data, notes = READERS[layout](table, given, items, *more)
    return LoadedResponses(data, layout, table.path, tuple(notes))


def _together(parts: list[LoadedResponses], aggregate) -> LoadedResponses:
    """Return the answers of several tables as one; ids are sorted."""
    import pandas as pd

    frame = pd.concat([long_frame(part.data, weights=True) for part in parts])
    data = ResponseData.from_long(
        frame["respondent"],
        frame["item_id"],
        frame["score"],
        weights=None if (frame["weight"] == 1).all() else frame["weight"],
        aggregate=aggregate,
    )
    layouts = list(dict.fromkeys(part.layout for part in parts))
    notes = [f"{part.path}: {note}" for part in parts for note in part.notes]
    return LoadedResponses(data, " and ".join(layouts), parts[0].path, tuple(notes))


def read_items(path, *, labels=LABEL_COLUMNS) -> pd.DataFrame:
    """Read a table of items.

    Parameters
    ----------
    path : path-like
        CSV or TSV (plain, .gz or .zst), Parquet or Feather. The ids are in the column
        named `item_id`, `item`, `question_id` and the like, or else in the first one.
    labels : sequence of str, default=("benchmark", "subset", "category")
        Columns kept as text ("2024" is a label, not a number); an empty label is NaN.
        Other columns are read as numbers where all their values are.

    Returns
    -------
    items : DataFrame
        Indexed by item id (text), index name `item_id`.

    Raises
    ------
    FileFormatError
        Missing, empty or damaged file, rows of unequal length, repeated or empty ids.
    """
    import pandas as pd

    table = read_table(path)
    key = named_column(table, None, ITEM_NAMES) or 0
    columns = {
        name: _item_values(table, column, is_label=name in labels)
        for column, name in enumerate(table.names)
        if column != key
    }
    ids = table.unique_ids(key, "item")
    return pd.DataFrame(columns, index=pd.Index(ids, name="item_id"))


def _item_values(table: Table, column: int, *, is_label: bool) -> np.ndarray:
    """Return numbers where the column holds only numbers and is no label, else text."""
    if not is_label and not table.not_numbers([column]):
        return np.array([to_number(text) for text in table.texts(column)])
    texts = np.array(table.texts(column), dtype=object)
    return np.where(texts == "", np.nan, texts)
