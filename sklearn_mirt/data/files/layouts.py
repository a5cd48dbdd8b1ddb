"""Layouts of tables of responses: how they are recognised, and one reader for each."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sklearn_mirt.data.checks import name_some, object_array
from sklearn_mirt.data.files.tables import FileFormatError, Table
from sklearn_mirt.data.responses import ResponseData

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
# Number of answers that a score is the mean of; optional.
WEIGHT_NAMES = ("weight", "n_answers")
# BenchMIRT: question_id, then one column per model, e.g. acc_norm_my-model.
_BENCHMIRT = re.compile(r"acc_norm[_, ](?P<model>.+)")
_MOST_ASIDE = 100
_ASIDE_HINT = (
    " (a column that is no item is set aside only when an item table is given)"
)
LABEL_COLUMNS = ("benchmark", "subset", "category")


# ---- recognising columns and layouts


@dataclass(frozen=True)
class GivenColumns:
    """Column names that the caller states instead of having them recognised."""

    respondent: str | None
    item: str | None
    score: str | None

    def long_columns(self, table: Table) -> list[int | None]:
        """Return the places of respondent, item and score; None where there is none."""
        return [
            named_column(table, self.respondent, RESPONDENT_NAMES),
            named_column(table, self.item, ITEM_NAMES),
            named_column(table, self.score, SCORE_NAMES),
        ]


def named_column(table: Table, stated: str | None, accepted) -> int | None:
    """Return the position of the stated column, else of the best recognised one."""
    if stated is not None:
        return table.find(stated)
    names = [name.strip().lower() for name in table.names]
    return next((names.index(name) for name in accepted if name in names), None)


def recognise(table: Table, given: GivenColumns, items) -> str:
    """Return the layout of a table; see `read_responses` for the rules."""
    if None not in given.long_columns(table):
        return "long"
    if "question_id" in table.names and any(map(_BENCHMIRT.fullmatch, table.names)):
        return "benchmirt"
    if items is None:
        sideways = table.names[0].strip().lower() in ITEM_NAMES
        return "items-as-rows" if sideways or given.item is not None else "wide"
    key = 0 if given.item is None else table.find(given.item)
    n_rows = int(items.index.isin(table.texts(key)).sum())
    n_columns = int(items.index.isin(table.names).sum())
    if n_rows == n_columns == 0:
        raise FileFormatError(
            f"{table.path}: neither the columns ({name_some(table.names[1:])}) nor the "
            f"rows ({name_some(table.texts(key))}) are items of the item table "
            f"({name_some(items.index)})"
        )
    return "items-as-rows" if n_rows > n_columns else "wide"


# ---- one reader per layout


def _read_wide(table: Table, given: GivenColumns, items):
    key = 0 if given.respondent is None else table.find(given.respondent)
    respondents = table.unique_ids(key, "respondent")
    columns = [k for k in range(len(table.names)) if k != key]
    notes = ["read as wide: one row per respondent, one column per item"]
    if items is not None:
        known = set(items.index)
        strange = [k for k in columns if table.names[k] not in known]
        # with more of them, this is another matrix, and `match` says so
        aside = table.not_numbers(strange) if len(strange) <= _MOST_ASIDE else []
        columns = [k for k in columns if k not in aside]
        notes += _set_aside(table, aside)
    names = np.array([table.names[k] for k in columns], dtype=object)
    notes += match(table, names, items)
    hint = "" if items is not None else _ASIDE_HINT
    scores = table.numbers(columns, hint)
    _check_range(table, scores, columns, lambda row, k: (respondents[row], names[k]))
    return ResponseData.from_wide(scores, respondents=respondents, items=names), notes


def _read_sideways(table: Table, given: GivenColumns, items):
    key = 0 if given.item is None else table.find(given.item)
    labels = [k for k, name in enumerate(table.names) if name in LABEL_COLUMNS]
    names = {
        k: name for k, name in enumerate(table.names) if k != key and k not in labels
    }
    note = "read as items-as-rows: one row per item, one column per respondent"
    return _items_as_rows(table, key, names, [note, *_set_aside(table, labels)], items)


def _items_as_rows(table: Table, key, names: dict[int, str], notes, items):
    """Read columns of respondents, whose names are given by place."""
    ids = table.unique_ids(key, "item")
    notes += match(table, ids, items)
    columns, respondents = list(names), object_array(names.values())
    scores = table.numbers(columns)
    _check_range(table, scores, columns, lambda row, k: (respondents[k], ids[row]))
    return ResponseData.from_wide(scores.T, respondents=respondents, items=ids), notes


def _require_long(table: Table, given: GivenColumns) -> list[int]:
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
                f"{', '.join(accepted[role])}); the columns are "
                f"{name_some(table.names)}"
            )
        found.append(position)
    return found


def _read_long(table: Table, given: GivenColumns, items, aggregate=None):
    found = _require_long(table, given)
    respondents = table.ids(found[0], "respondent")
    ids = table.ids(found[1], "item")
    scores = table.numbers([found[2]])
    _check_range(table, scores, found[2:], lambda row, k: (respondents[row], ids[row]))
    if aggregate is None:
        _refuse_repeats(table, respondents, ids)
    weight = named_column(table, None, WEIGHT_NAMES)
    weights = None
    if weight is not None:
        weights = table.numbers([weight])[:, 0]
        _check_weights(table, weights, weight)
        found.append(weight)
    used = ", ".join(repr(table.names[k]) for k in found)
    notes = [f"read as long: one row per answer, from columns {used}"]
    notes += match(table, np.array(list(dict.fromkeys(ids)), dtype=object), items)
    data = ResponseData.from_long(
        respondents, ids, scores[:, 0], weights=weights, aggregate=aggregate
    )
    return data, notes


def _read_benchmirt(table: Table, given: GivenColumns, items):
    key = table.find("question_id")
    matches = [_BENCHMIRT.fullmatch(name) for name in table.names]
    models = {k: found["model"] for k, found in enumerate(matches) if found}
    if not models:
        raise FileFormatError(
            f"{table.path}: no column is named acc_norm_<model>; the columns are "
            f"{name_some(table.names)}"
        )
    aside = [k for k in range(len(table.names)) if k not in models and k != key]
    note = "read as benchmirt: one row per question, columns acc_norm_<model>"
    return _items_as_rows(table, key, models, [note, *_set_aside(table, aside)], items)


READERS = {
    "long": _read_long,
    "wide": _read_wide,
    "items-as-rows": _read_sideways,
    "benchmirt": _read_benchmirt,
}


# ---- checks


def _set_aside(table: Table, columns: list[int]) -> list[str]:
    if not columns:
        return []
    names = name_some([table.names[k] for k in columns], most=10)
    return [f"set aside, not items: columns {names}"]


def match(table, ids: np.ndarray, items) -> list[str]:
    """Refuse items that the item table lacks; note those without any answers."""
    if items is None:
        return []
    known = set(items.index)
    strange = [name for name in ids if name not in known]
    if strange:
        raise FileFormatError(
            f"{getattr(table, 'path', table)}: {len(strange)} of {len(ids)} items are "
            f"not in the item table: {name_some(strange)}"
        )
    if len(known) > len(ids):
        return [
            f"{len(known) - len(ids)} items of the item table have no column or row"
        ]
    return []


def _check_weights(table: Table, weights, column: int) -> None:
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise FileFormatError(
            f"{table.path}, {table.place(row)}, column {table.names[column]!r}: a "
            f"weight is a number of answers, at least 0, not {weights[row]:g}"
        )


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
            "rows in all); keep one, or merge them with aggregate='mean', 'first' or "
            "'count'"
        )
