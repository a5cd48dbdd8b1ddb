"""Collects answers from logs, with where they stand and what made them."""

from __future__ import annotations

import math
import warnings
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.streams import ByteProgress, FileFormatError
from sklearn_mirt.data.responses import ResponseData
from sklearn_mirt.exceptions import ResponseDataWarning

_WIDTH = 6  # numbers kept of an answer
ERRORS = ("missing", "wrong")
# Facts of a run that make its scores another measurement when they differ.
_VERSION_FACTS = ("harness", "harness_version", "task_version", "n_shot")


@dataclass(frozen=True)
class ReadOptions:
    """What the caller decides about a log.

    Parameters
    ----------
    metric, filter : str, mapping from task to str, or None
        Which score to take, and of which filtered answer, where there are several.
    tasks : collection of str or None
        Tasks to read; all if None.
    errors : {"missing", "wrong"} or None
        What an answer is that ended in an error or was not scored; None refuses.
    progress : ByteProgress or None
    """

    metric: str | Mapping[str, str] | None = None
    filter: str | Mapping[str, str] | None = None
    tasks: frozenset[str] | None = None
    errors: str | None = None
    progress: ByteProgress | None = None

    def wants(self, task: str) -> bool:
        """Return whether a task is to be read."""
        return self.tasks is None or task in self.tasks

    def of_task(self, name: str, task: str) -> str | None:
        """Return the metric or filter asked for in a task."""
        value = getattr(self, name)
        return value.get(task) if isinstance(value, Mapping) else value

    def choose(self, name: str, task: str, choices, where) -> str:
        """Return the metric or filter to take, out of those there are.

        Raises
        ------
        FileFormatError
            None is asked for and there are several, or the one asked for is not there;
            the choices are listed.
        """
        choices = sorted(choices)
        wanted = self.of_task(name, task)
        if wanted is None and len(choices) == 1:
            return choices[0]
        if wanted is not None and wanted in choices:
            return wanted
        have = ", ".join(choices) if choices else "none"
        if wanted is None:
            raise FileFormatError(
                f"{where}: task {task!r} has several: {have}; say which with "
                f"{name}=... (a mapping from task to {name} where they differ)"
            )
        raise FileFormatError(
            f"{where}: task {task!r} has no {name} {wanted!r}; it has {have}"
        )


class AnswerLog:
    """Answers of respondents to items, gathered line by line.

    Parameters
    ----------
    errors : {"missing", "wrong"} or None
        See :class:`ReadOptions`.

    Attributes
    ----------
    n_errors : int
        Answers that ended in an error or were not scored.
    provenance : list of dict
        One row per run: file, respondent, task, versions, metric, counts.
    notes : list of str
    """

    def __init__(self, errors: str | None = None):
        self._errors = errors
        self._respondents: dict[str, int] = {}
        self._items: dict[str, int] = {}
        self._task_of: list[tuple[str, object]] = []
        self._hashes: dict[int, str] = {}
        self._differing: set[int] = set()
        self._paths: list[Path] = []
        # respondent, item, score, weight, file and line of each answer: 48 bytes
        self._answers = array("d")
        self.n_errors = 0
        self.provenance: list[dict] = []
        self.notes: list[str] = []

    def __len__(self):
        return len(self._answers) // _WIDTH

    @property
    def n_items(self):
        """Return the number of items so far."""
        return len(self._items)

    def start_run(self, path, respondent: str, task: str, **facts) -> dict:
        """Say that the next answers come from one run; return its provenance row."""
        if not respondent:
            raise FileFormatError(f"{path}: no name of a model in the log")
        _refuse_half_characters(respondent, path)
        if not self._paths or self._paths[-1] != path:
            self._paths.append(path)
        row = {"file": str(path), "respondent": respondent, "task": task, **facts}
        row |= {"n_answers": 0, "n_errors": 0}
        self.provenance.append(row)
        return row

    def note_runs(self, path, tasks, noun: str) -> None:
        """Note how many runs were read; refuse where none of the tasks was wanted."""
        if not self.provenance:
            raise FileFormatError(
                f"{path}: no such task; there are {', '.join(sorted(tasks))}"
            )
        self.notes.append(f"read {len(self.provenance)} {noun}")

    def add(self, run, item, score, *, weight=1.0, line=0, key=None, digest=None):
        """Add one answer, or the mean of `weight` repeats.

        Parameters
        ----------
        run : dict
            Row that :meth:`start_run` returned.
        item : str
            Item id.
        score : float
            In [0, 1]; NaN is a missing answer.
        weight : float, default=1
        line : int, default=0
            Line of the file, 0 where there are no lines.
        key : object, default=None
            Id of the item within its task; default the item id.
        digest : str, default=None
            Hash of the item's content: a change of it is warned about.
        """
        respondent = run["respondent"]
        if not (math.isnan(score) or 0 <= score <= 1):
            where = _where(run["file"], line)
            raise FileFormatError(
                f"{where}: the score of {respondent!r} on item {item!r} is {score:g}, "
                "outside [0, 1]; choose another metric, or divide by its maximum"
            )
        code = self._items.setdefault(item, len(self._items))
        place = (run["task"], item if key is None else key)
        if code == len(self._task_of):
            _refuse_half_characters(item, run["file"])
            self._task_of.append(place)
        elif self._task_of[code] != place or (
            type(self._task_of[code][1]) is not type(place[1])
        ):
            raise FileFormatError(
                f"{run['file']}: two items have the id {item!r}: "
                f"{self._task_of[code]} and {place}"
            )
        if digest and self._hashes.setdefault(code, digest) != digest:
            self._differing.add(code)
        row = self._respondents.setdefault(respondent, len(self._respondents))
        file = len(self._paths) - 1
        self._answers.extend((row, code, score, weight, file, line))
        run["n_answers"] += 1

    def error_score(self, run, item, what, line=0) -> float:
        """Count an answer that has no score; return what the caller says it is worth.

        Raises
        ------
        FileFormatError
            The caller has not said.
        """
        self.n_errors += 1
        run["n_errors"] += 1
        if self._errors is None:
            where = _where(run["file"], line)
            raise FileFormatError(
                f"{where}: {what} for item {item!r} of {run['respondent']!r}; say what "
                "such answers are with errors='missing' or errors='wrong'"
            )
        return math.nan if self._errors == "missing" else 0.0

    def to_data(self, aggregate=None) -> ResponseData:
        """Return the answers; merge a respondent's repeated answers as asked."""
        if not len(self):
            raise FileFormatError("there is no answer in the log")
        answers = np.frombuffer(self._answers).reshape(-1, _WIDTH).T
        respondent, item, file, line = answers[[0, 1, 4, 5]].astype(np.int64)
        scores, weights = answers[2:4]
        if aggregate is None:
            self._refuse_repeats(respondent, item, file, line)
        names = np.array(list(self._respondents), dtype=object)
        ids = np.array(list(self._items), dtype=object)
        return ResponseData.from_long(
            names[respondent],
            ids[item],
            scores,
            weights=None if (weights == 1).all() else weights,
            aggregate=aggregate,
        )

    def item_table(self):
        """Return a DataFrame by item id: benchmark (the task) and key within it."""
        import pandas as pd

        tasks, keys = zip(*self._task_of, strict=True)
        index = pd.Index(np.array(list(self._items), dtype=object), name="item_id")
        return pd.DataFrame(
            {"benchmark": tasks, "doc_id": np.array(keys, dtype=object)}, index=index
        )

    def provenance_table(self):
        """Return `provenance` as a DataFrame, one row per run."""
        import pandas as pd

        for row in self.provenance:
            for value in row.values():
                if isinstance(value, str):
                    _refuse_half_characters(value, row["file"])
        return pd.DataFrame(self.provenance)

    def _refuse_repeats(self, respondent, item, file, line):
        code = respondent * len(self._items) + item
        order = np.argsort(code, kind="stable")
        again = np.flatnonzero(code[order][1:] == code[order][:-1])
        if not len(again):
            return
        k, other = order[again[0] + 1], order[again[0]]
        names, ids = list(self._respondents), list(self._items)
        here, before = (_where(self._paths[file[n]], line[n]) for n in (k, other))
        raise FileFormatError(
            f"{here}: respondent {names[respondent[k]]!r} has another answer to item "
            f"{ids[item[k]]!r} in {before} "
            f"({len(again)} repeated cells in all); read one run only, or merge them "
            "with aggregate='mean', 'first' or 'count'"
        )

    def warn_of_mixtures(self, stacklevel=3) -> list[str]:
        """Warn where answers to one item come from different versions; return notes."""
        seen: dict[str, dict[str, set]] = {}
        for row in self.provenance:
            facts = seen.setdefault(row["task"], {})
            for name in _VERSION_FACTS:
                if row.get(name) is not None:
                    facts.setdefault(name, set()).add(str(row[name]))
        messages = [
            f"task {task!r} mixes {name.replace('_', ' ')}s: "
            + ", ".join(sorted(values))
            for task, facts in seen.items()
            for name, values in facts.items()
            if len(values) > 1
        ]
        if self._differing:
            ids = list(self._items)
            some = ", ".join(repr(ids[k]) for k in sorted(self._differing)[:3])
            messages.append(
                f"the content of {len(self._differing)} item(s) differs between runs "
                f"under the same id: {some}"
            )
        for message in messages:
            warnings.warn(
                f"{message}; their scores may not be comparable",
                ResponseDataWarning,
                stacklevel=stacklevel,
            )
        return messages


def _where(path, line) -> str:
    return f"{path}, line {line}" if line else f"{path}"


def _refuse_half_characters(text: str, path) -> None:
    """Refuse a lone surrogate, which JSON can write and no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise FileFormatError(
            f"{path}: {ascii(text)} is no text (half of a surrogate pair)"
        ) from None


def to_score(value, where: str) -> float:
    """Return a logged value as a score: truth values are 1 and 0, null is NaN.

    Raises
    ------
    FileFormatError
        The value is no number.
    """
    if value is None:
        return math.nan
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    raise FileFormatError(
        f"{where}: the score is {str(value)[:60]!r}, which is no number"
    )


def is_score(value) -> bool:
    """Return whether a logged value could be a score of one answer."""
    return isinstance(value, bool | int | float)
