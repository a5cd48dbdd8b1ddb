"""Reads response files and item tables: CSV, TSV (also gzipped) and Parquet.

Three layouts are known. `wide`: one row per respondent, one column per item.
`items-as-rows`: the same table lying on its side. `long`: one row per answer, with a
column of respondent ids, one of item ids and one of scores. Ids are text and joined by
name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sklearn_mirt.data import ResponseData
from sklearn_mirt.tables import (
    FileFormatError,
    Table,
    listing,
    read_table,
    to_number,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FileFormatError", "LoadedResponses", "read_items", "read_responses"]

LAYOUTS = ("auto", "wide", "long", "items-as-rows")
# Column names that are recognised, in order of preference; case does not matter.
RESPONDENT_NAMES = (
    "respondent",
    "respondent_id",
    "model",
    "model_id",
    "model_name",
    "person",
    "student",
)
ITEM_NAMES = (
    "item_id",
    "item",
    "question_id",
    "question",
    "prompt_id",
    "doc_id",
    "instance_id",
)
SCORE_NAMES = ("score", "correct", "is_correct", "response", "answer")
_MOST_ASIDE = 100
_ASIDE_HINT = (
    " (a column that is no item is set aside only when an item table is given)"
)
LABEL_COLUMNS = ("benchmark", "subset", "category")


@dataclass(frozen=True, eq=False)
class LoadedResponses:
    """Responses read from a file, and how the file was understood.

    Attributes
    ----------
    data : ResponseData
    layout : {"wide", "long", "items-as-rows"}
        The layout that was given or recognised.
    path : Path
    notes : tuple of str
        What a reader of results should know: what was recognised, columns set aside,
        items of the item table without answers.
    """

    data: ResponseData
    layout: str
    path: Path
    notes: tuple[str, ...] = field(default=())


def read_responses(
    path, *, layout="auto", respondent=None, item=None, score=None, items=None
) -> LoadedResponses:
    """Read scores of respondents on items.

    Parameters
    ----------
    path : path-like
        CSV, CSV.GZ, TSV or Parquet. Scores lie in [0, 1]; true and false count as 1 and
        0; an empty cell, NA, NaN, null or None is a missing answer.
    layout : {"auto", "wide", "long", "items-as-rows"}, default="auto"
        With "auto": `long` if the header has a column of respondents, of items and of
        scores (see Notes); otherwise the side where the ids of `items` stand, or,
        without `items`, `items-as-rows` if the first column is named like an item id,
        else `wide`.
    respondent, item, score : str, default=None
        Names of the id and score columns where they are not among the recognised ones.
        Giving `item` and `score` says that the layout is long.
    items : DataFrame, default=None
        Item table of :func:`read_items`. Every item of the responses must be in it. In
        the wide layout, columns of text that are not in it are set aside (and noted).

    Returns
    -------
    loaded : LoadedResponses

    Raises
    ------
    FileFormatError
        Missing, empty or damaged file, rows of unequal length, repeated ids or cells,
        a score that is no number or outside [0, 1], ids that do not match `items`; the
        message names the file, the line and the column.
    ValueError
        Unknown `layout`, or column names that do not belong to it.

    Notes
    -----
    Recognised names, case ignored: `respondent`, `respondent_id`, `model`, `model_id`,
    `model_name`, `person`, `student`; `item_id`, `item`, `question_id`, `question`,
    `prompt_id`, `doc_id`, `instance_id`; `score`, `correct`, `is_correct`, `response`,
    `answer`.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {LAYOUTS}, got {layout!r}")
    if score is not None and layout in ("wide", "items-as-rows"):
        raise ValueError(f"score={score!r} names a column of the long layout only")
    given = _Given(respondent, item, score)
    table = read_table(path)
    if layout == "auto":
        layout = _recognise(table, given, items)
    read = {"long": _read_long, "wide": _read_wide, "items-as-rows": _read_sideways}
    data, notes = read[layout](table, given, items)
    return LoadedResponses(data, layout, table.path, tuple(notes))


def read_items(path, *, labels=LABEL_COLUMNS) -> pd.DataFrame:
    """Read a table of items.

    Parameters
    ----------
    path : path-like
        CSV, CSV.GZ, TSV or Parquet. The ids are in the column named `item_id`, `item`,
        `question_id` and the like, or else in the first column.
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
    key = _named(table, None, ITEM_NAMES) or 0
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


# ---- recognising columns and layouts


@dataclass(frozen=True)
class _Given:
    """Column names that the caller states instead of having them recognised."""

    respondent: str | None
    item: str | None
    score: str | None

    def long_columns(self, table: Table) -> list[int | None]:
        return [
            _named(table, self.respondent, RESPONDENT_NAMES),
            _named(table, self.item, ITEM_NAMES),
            _named(table, self.score, SCORE_NAMES),
        ]


def _named(table: Table, stated: str | None, accepted) -> int | None:
    """Return the position of the stated column, else of the best recognised one."""
    if stated is not None:
        return table.find(stated)
    names = [name.strip().lower() for name in table.names]
    return next((names.index(name) for name in accepted if name in names), None)


def _recognise(table: Table, given: _Given, items) -> str:
    if None not in given.long_columns(table):
        return "long"
    if items is None:
        sideways = table.names[0].strip().lower() in ITEM_NAMES
        return "items-as-rows" if sideways or given.item is not None else "wide"
    key = 0 if given.item is None else table.find(given.item)
    n_rows = int(items.index.isin(table.texts(key)).sum())
    n_columns = int(items.index.isin(table.names).sum())
    if n_rows == n_columns == 0:
        raise FileFormatError(
            f"{table.path}: neither the columns ({listing(table.names[1:])}) nor the "
            f"rows ({listing(table.texts(key))}) are items of the item table "
            f"({listing(items.index)})"
        )
    return "items-as-rows" if n_rows > n_columns else "wide"


# ---- one reader per layout


def _read_wide(table: Table, given: _Given, items):
    key = 0 if given.respondent is None else table.find(given.respondent)
    respondents = table.unique_ids(key, "respondent")
    columns = [k for k in range(len(table.names)) if k != key]
    notes = ["read as wide: one row per respondent, one column per item"]
    if items is not None:
        known = set(items.index)
        strange = [k for k in columns if table.names[k] not in known]
        # with more of them, this is another matrix, and `_match` says so
        aside = table.not_numbers(strange) if len(strange) <= _MOST_ASIDE else []
        columns = [k for k in columns if k not in aside]
        notes += _set_aside(table, aside)
    names = np.array([table.names[k] for k in columns], dtype=object)
    notes += _match(table, names, items)
    hint = "" if items is not None else _ASIDE_HINT
    scores = table.numbers(columns, hint)
    _check_range(table, scores, columns, lambda row, k: (respondents[row], names[k]))
    return ResponseData.from_wide(scores, respondents=respondents, items=names), notes


def _read_sideways(table: Table, given: _Given, items):
    key = 0 if given.item is None else table.find(given.item)
    ids = table.unique_ids(key, "item")
    labels = [k for k, name in enumerate(table.names) if name in LABEL_COLUMNS]
    columns = [k for k in range(len(table.names)) if k != key and k not in labels]
    notes = ["read as items-as-rows: one row per item, one column per respondent"]
    notes += _set_aside(table, labels) + _match(table, ids, items)
    respondents = np.array([table.names[k] for k in columns], dtype=object)
    scores = table.numbers(columns)
    _check_range(table, scores, columns, lambda row, k: (respondents[k], ids[row]))
    return ResponseData.from_wide(scores.T, respondents=respondents, items=ids), notes


def _require_long(table: Table, given: _Given) -> list[int]:
    """Return the positions of the three columns; refuse if one is not recognised."""
    accepted = {
        "respondent": RESPONDENT_NAMES,
        "item": ITEM_NAMES,
        "score": SCORE_NAMES,
    }
    found = []
    for role, position in zip(accepted, given.long_columns(table), strict=True):
        if position is None:
            raise FileFormatError(
                f"{table.path}: no column is recognised as the {role} (one of "
                f"{', '.join(accepted[role])}); the columns are {listing(table.names)}"
            )
        found.append(position)
    return found


def _read_long(table: Table, given: _Given, items):
    found = _require_long(table, given)
    respondents = table.ids(found[0], "respondent")
    ids = table.ids(found[1], "item")
    scores = table.numbers([found[2]])
    _check_range(table, scores, found[2:], lambda row, k: (respondents[row], ids[row]))
    _refuse_repeats(table, respondents, ids)
    used = ", ".join(repr(table.names[k]) for k in found)
    notes = [f"read as long: one row per answer, from columns {used}"]
    notes += _match(table, np.array(list(dict.fromkeys(ids)), dtype=object), items)
    return ResponseData.from_long(respondents, ids, scores[:, 0]), notes


# ---- checks


def _set_aside(table: Table, columns: list[int]) -> list[str]:
    if not columns:
        return []
    names = listing([table.names[k] for k in columns], limit=10)
    return [f"set aside, not items: columns {names}"]


def _match(table: Table, ids: np.ndarray, items) -> list[str]:
    """Refuse items that the item table lacks; note those without any answers."""
    if items is None:
        return []
    known = set(items.index)
    strange = [name for name in ids if name not in known]
    if strange:
        raise FileFormatError(
            f"{table.path}: {len(strange)} of {len(ids)} items are not in the item "
            f"table: {listing(strange)}"
        )
    if len(known) > len(ids):
        return [
            f"{len(known) - len(ids)} items of the item table have no column or row"
        ]
    return []


def _check_range(table: Table, scores, columns: list[int], name_cell) -> None:
    """Refuse scores outside [0, 1]; `name_cell` names whose score (row, k) is."""
    outside = (scores < 0) | (scores > 1)
    if not outside.any():
        return
    row, k = divmod(int(np.argmax(outside)), scores.shape[1])
    respondent, item = name_cell(row, k)
    low, high = np.nanmin(scores), np.nanmax(scores)
    if low >= 0 and np.isfinite(high):
        advice = (
            f"the largest score here is {high:g}; scores on another scale must be "
            "divided by its maximum"
        )
    else:
        advice = "leave the cell of a missing answer empty"
    raise FileFormatError(
        f"{table.path}, {table.place(row)}, column {table.names[columns[k]]!r}: the "
        f"score of respondent {respondent!r} on item {item!r} is {scores[row, k]:g}, "
        f"outside [0, 1] ({advice})"
    )


def _refuse_repeats(table: Table, respondents, ids) -> None:
    import pandas as pd

    pairs = pd.DataFrame({"respondent": respondents, "item": ids})
    repeated = pairs.duplicated().to_numpy()
    if repeated.any():
        row = int(np.argmax(repeated))
        raise FileFormatError(
            f"{table.path}, {table.place(row)}: respondent {respondents[row]!r} has "
            f"another answer to item {ids[row]!r} further up ({repeated.sum()} such "
            "rows in all); keep one, or their mean"
        )
