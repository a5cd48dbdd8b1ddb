"""Inspect: `.eval` and `.json` logs, through inspect_ai's own log reader."""

from __future__ import annotations

import math
from pathlib import Path

from sklearn_mirt.data.files.logs.answer_log import AnswerLog, ReadOptions, to_score
from sklearn_mirt.data.files.streams import FileFormatError, find_files, open_bytes

LAYOUT = "inspect"
# What Inspect's own scorers return, with the values its `value_to_float` gives them.
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


def recognises(paths: list[Path]) -> bool:
    """Return whether the paths are such logs, or folders of them."""
    return bool(_find(paths))


def _find(paths):
    found = []
    for path in paths:
        if path.is_dir():
            found += find_files(path, lambda name: name.endswith(".eval"))
            found += [
                p
                for p in find_files(path, lambda name: name.endswith(".json"))
                if _is_log(p)
            ]
        elif path.suffix == ".eval" or (path.suffix == ".json" and _is_log(path)):
            found.append(path)
    return sorted(found)


def _is_log(path) -> bool:
    """Return whether a JSON file begins as Inspect's do: version, status, eval."""
    with open_bytes(path) as file:
        start = file.read(400)
    return b'"version"' in start and b'"status"' in start and b'"eval"' in start


def read(paths: list[Path], options: ReadOptions, log: AnswerLog) -> None:
    """Read all logs under the paths.

    The item id is `<task>/<sample id>`. Epochs are repeats: the score is their mean,
    with their number as weight. An errored or unscored epoch counts as the caller says.
    """
    try:
        from inspect_ai import log as _  # noqa: F401 - only whether it is there
    except ImportError:
        raise FileFormatError(
            f"{paths[0]}: reading logs of Inspect needs inspect_ai; pip install "
            "'sklearn-mirt[inspect]'"
        ) from None
    files = _find(paths)
    if not files:
        raise FileFormatError(f"{paths[0]}: there is no log of Inspect")
    tasks = set()
    for path in files:
        header = _guarded(path, _header)
        tasks.add(header.eval.task)
        if options.wants(header.eval.task):
            _read_log(path, header, options, log)
        if options.progress is not None:
            options.progress.advance(path.stat().st_size)
    log.note_runs(paths[0], tasks, "logs of Inspect")


def _guarded(path, function):
    """Call inspect_ai; whatever it raises is a fault of the file."""
    try:
        return function(path)
    except FileFormatError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileFormatError(f"{path}: not a log of Inspect ({reason})") from error


def _header(path):
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(path), header_only=True)


def _samples(path):
    """Yield the samples one at a time, without what was said in them."""
    from inspect_ai.log import read_eval_log, read_eval_log_samples

    if path.suffix == ".json":
        yield from read_eval_log(str(path)).samples or []
        return
    heavy = {"messages", "events", "store", "attachments", "output"}
    yield from read_eval_log_samples(
        str(path), all_samples_required=False, exclude_fields=heavy
    )


def _read_log(path, header, options, log):
    about = header.eval
    run = log.start_run(
        path,
        about.model,
        about.task,
        harness="inspect_ai",
        harness_version=(about.packages or {}).get("inspect_ai"),
        task_version=str(about.task_version),
        status=header.status,
    )
    if header.status != "success":
        log.notes.append(f"{path}: the run ended as {header.status!r}, not as success")
    totals: dict[object, list] = {}
    metric = None
    stream = _guarded(path, lambda p: iter(_samples(p)))
    while (sample := _guarded(path, lambda _: next(stream, None))) is not None:
        if metric is None and sample.scores and not sample.error:
            metric = options.choose("metric", about.task, _choices(sample.scores), path)
            run["metric"] = metric
        item = f"{about.task}/{sample.id}"
        score = _score(sample, metric, run, item, log)
        total = totals.setdefault(sample.id, [0.0, 0, 0])
        total[2] += 1
        if not math.isnan(score):
            total[0] += score
            total[1] += 1
    if not totals:
        raise FileFormatError(f"{path}: a log without samples")
    for key, (score, n, _) in totals.items():
        log.add(
            run,
            f"{about.task}/{key}",
            score / n if n else math.nan,
            weight=max(n, 1),
            key=key,
        )
    run["n_epochs"] = max(n for _, _, n in totals.values())


def _choices(scores: dict) -> list[str]:
    """Return the scorers; of one that returns a table, `scorer.key` for each key."""
    names = []
    for name, score in scores.items():
        if isinstance(score.value, dict):
            names += [f"{name}.{key}" for key in score.value]
        else:
            names.append(name)
    return names


def _score(sample, metric, run, item, log) -> float:
    if sample.error is not None:
        return log.error_score(run, item, "the sample ended in an error")
    scorer, _, key = (metric or "").partition(".")
    scores = sample.scores or {}
    score = scores.get(metric) or scores.get(scorer)
    value = None if score is None else score.value
    if isinstance(value, dict):
        value = value.get(key)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return log.error_score(run, item, "there is no score")
    if isinstance(value, str) and value in _LETTERS:
        return _LETTERS[value]
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    return to_score(value, f"{run['file']}, item {item!r}")
