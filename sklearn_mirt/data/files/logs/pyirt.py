"""py-irt's JSON lines: one line per respondent, as BenchMIRT writes its answers too.

{"subject_id": "model-a", "responses": {"q1": 1, "q2": 0}}
"""

from __future__ import annotations

from pathlib import Path

from sklearn_mirt.data.files.logs.answer_log import AnswerLog, ReadOptions, to_score
from sklearn_mirt.data.files.streams import FileFormatError, json_lines

LAYOUT = "py-irt"
_ENDINGS = (".jsonl", ".jsonlines", ".jsonl.gz", ".jsonl.zst", ".jsonlines.gz")


def recognises(paths: list[Path]) -> bool:
    """Return whether the first line of each file is such a line."""
    return all(p.name.endswith(_ENDINGS) and p.is_file() for p in paths) and all(
        "subject_id" in next(json_lines(path))[1] for path in paths
    )


def read(paths: list[Path], options: ReadOptions, log: AnswerLog) -> None:
    """Read all lines; an item without value (null) is a missing answer."""
    for path in paths:
        lines = json_lines(path, options.progress, pairs_hook=_refuse_twice)
        for line, row in lines:
            where = f"{path}, line {line}"
            subject, responses = row.get("subject_id"), row.get("responses")
            if not isinstance(subject, str | int) or not isinstance(responses, dict):
                raise FileFormatError(
                    f"{where}: a line has a subject_id and responses, an object of "
                    "scores by item id"
                )
            run = log.start_run(path, str(subject), "py-irt")
            for item, value in responses.items():
                score = to_score(value, f"{where}, item {item!r}")
                log.add(run, item, score, line=line)
    log.notes.append("read as py-irt: one JSON line per respondent")


def _refuse_twice(pairs):
    """Return the pairs as a dictionary; JSON itself would keep the last of two."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"{twice!r} is there twice")
    return found
