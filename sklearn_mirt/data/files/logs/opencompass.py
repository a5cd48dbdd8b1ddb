"""OpenCompass: `results/<model>/<data set>.json` of runs with `--dump-eval-details`.

`details` holds one entry per question, by number or in a list, with `correct`: true or
false, or a list of them where a question was answered several times. The folder
`predictions` alone tells nothing: it holds what models said, not whether it was right.
"""

from __future__ import annotations

import math
from pathlib import Path

from sklearn_mirt.data.files.logs.answer_log import (
    AnswerLog,
    ReadOptions,
    is_score,
    to_score,
)
from sklearn_mirt.data.files.streams import FileFormatError, find_files, json_document

LAYOUT = "opencompass"


def recognises(paths: list[Path]) -> bool:
    """Return whether the paths are, or hold, folders `results` or `predictions`."""
    return all(p.is_dir() for p in paths) and bool(
        _find(paths, "results") or _find(paths, "predictions")
    )


def _find(paths, folder):
    """Return the files <folder>/<model>/<data set>.json under the paths."""
    found = []
    for path in paths:
        files = find_files(path, lambda name: name.endswith(".json"))
        found += [f for f in files if f.parent.parent.name == folder]
    return found


def read(paths: list[Path], options: ReadOptions, log: AnswerLog) -> None:
    """Read all result files under the paths; one file is held at a time.

    The item id is `<data set>/<number>`. Several verdicts on one question are repeats:
    the score is their mean, with their number as weight.
    """
    files = _find(paths, "results")
    if not files:
        raise FileFormatError(
            f"{paths[0]}: predictions of OpenCompass without results; evaluate them "
            "with --dump-eval-details"
        )
    tasks = set()
    for path in files:
        tasks.add(path.stem)
        if options.wants(path.stem):
            document = json_document(path, options.progress)
            run = log.start_run(
                path, path.parent.name, path.stem, harness="OpenCompass"
            )
            for number, detail in _details(path, document):
                _add(detail, number, run, options, log)
    log.note_runs(paths[0], tasks, "result files of OpenCompass")


def _details(path, document):
    details = document.get("details") if isinstance(document, dict) else None
    if isinstance(details, list):
        return list(enumerate(details))
    if isinstance(details, dict):
        return [(key, value) for key, value in details.items() if key != "type"]
    raise FileFormatError(
        f"{path}: results without details; evaluate with --dump-eval-details"
    )


def _verdict(detail, task, where, options) -> str:
    """Return which entry of a question is its verdict."""
    choices = [key for key, value in detail.items() if _could_be_verdict(key, value)]
    if options.of_task("metric", task) is None and "correct" in choices:
        return "correct"
    return options.choose("metric", task, choices, where)


def _could_be_verdict(key, value) -> bool:
    """Return whether an entry is a truth value, several of them, or named as one."""
    values = value if isinstance(value, list) and value else [value]
    all_true_or_false = all(isinstance(v, bool) for v in values)
    return all_true_or_false or (key in ("correct", "score") and value != "")


def _add(detail, number, run, options, log):
    item = f"{run['task']}/{number}"
    where = f"{run['file']}, question {number!r}"
    if not isinstance(detail, dict):
        raise FileFormatError(f"{where}: an entry of details is an object")
    name = run.get("metric")
    if name is None:
        name = run["metric"] = _verdict(detail, run["task"], where, options)
    # a question without this verdict has none: another one is another measurement
    values = detail.get(name)
    values = values if isinstance(values, list) else [values]
    scores = [
        to_score(v, where) if is_score(v) else log.error_score(run, item, "no verdict")
        for v in values
    ]
    scores = [score for score in scores if not math.isnan(score)]
    mean = sum(scores) / len(scores) if scores else math.nan
    log.add(run, item, mean, weight=max(len(scores), 1), key=str(number))
