"""lm-evaluation-harness: output folders of `--output_path` with `--log_samples`.

A run of a model leaves `results_<stamp>.json` and, per task, one line per document and
filter in `samples_<task>_<stamp>.jsonl` (lm_eval 0.4).
"""

from __future__ import annotations

import re
from pathlib import Path

from sklearn_mirt.data.files.logs.answer_log import (
    AnswerLog,
    ReadOptions,
    is_score,
    to_score,
)
from sklearn_mirt.data.files.streams import (
    FileFormatError,
    find_files,
    json_document,
    json_lines,
)

LAYOUT = "lm-eval"
_STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES = re.compile(
    rf"samples_(?P<task>.+?)(?:_(?P<stamp>{_STAMP}))?\.jsonl(\.gz|\.zst)?$"
)
_RESULTS = re.compile(rf"results(?:_(?P<stamp>{_STAMP}))?\.json$")
# What a sample line holds beside its metrics.
_NO_METRICS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter",
    "metrics", "doc_hash", "prompt_hash", "target_hash",
}  # fmt: skip


def recognises(paths: list[Path]) -> bool:
    """Return whether the paths are such logs, or folders of them."""
    return bool(_find(paths, _SAMPLES) or _find(paths, _RESULTS))


def read(paths: list[Path], options: ReadOptions, log: AnswerLog) -> None:
    """Read all runs under the paths into the log.

    The item id is `<task>/<doc_id>`, the respondent the model name of the results file,
    or the name of the folder where there is no such file.
    """
    samples = _find(paths, _SAMPLES)
    if not samples:
        raise FileFormatError(
            f"{paths[0]}: results of lm-evaluation-harness without samples; run it "
            "with --log_samples"
        )
    runs: dict[tuple, dict] = {}
    chosen = [(path, match) for path, match in samples if options.wants(match["task"])]
    if not chosen:
        tasks = ", ".join(sorted({match["task"] for _, match in samples}))
        raise FileFormatError(f"{paths[0]}: no such task; there are {tasks}")
    for path, match in chosen:
        key = (path.parent, match["stamp"])
        if key not in runs:
            runs[key] = _results(path, match["stamp"])
        _read_samples(path, match["task"], runs[key], options, log)
    log.notes.append(
        f"read {len(chosen)} sample files of {len(runs)} runs of lm-evaluation-harness"
    )


def _find(paths, pattern):
    found = []
    for path in paths:
        if path.is_dir():
            files = find_files(path, pattern.match)
        else:
            files = [path]
        found += [(f, m) for f in files if (m := pattern.match(f.name))]
    return found


def _results(samples: Path, stamp: str | None) -> dict:
    """Return the results file of a run; of the folder's latest run without a stamp."""
    if stamp is not None:
        path = samples.with_name(f"results_{stamp}.json")
    else:
        path = max(samples.parent.glob("results*.json"), default=samples / "none")
    if not path.is_file():
        return {}
    document = json_document(path)
    return document if isinstance(document, dict) else {}


def _read_samples(path, task, results, options, log):
    model = results.get("model_name") or path.parent.name.replace("__", "/")
    run = log.start_run(
        path,
        str(model),
        task,
        harness="lm-evaluation-harness",
        harness_version=results.get("lm_eval_version"),
        task_version=_of(results.get("versions"), task),
        n_shot=_of(results.get("n-shot"), task),
    )
    metric, filters = None, set()
    wanted = options.of_task("filter", task)
    for line, sample in json_lines(path, options.progress):
        where = f"{path}, line {line}"
        name = sample.get("filter", "none")
        filters.add(name)
        if (wanted is not None and name != wanted) or len(filters) > 1 and not wanted:
            continue
        if metric is None:
            metric = options.choose("metric", task, metrics_of(sample), where)
            run["metric"], run["filter"] = metric, name
        _add_sample(sample, metric, run, where, line, log)
    if wanted is None or wanted not in filters:
        options.choose("filter", task, filters, path)


def _of(mapping, task):
    return mapping.get(task) if isinstance(mapping, dict) else None


def metrics_of(sample: dict) -> list[str]:
    """Return the names of the scores of a sample line."""
    named = sample.get("metrics")
    if not isinstance(named, list):
        named = [key for key in sample if key not in _NO_METRICS]
    return [name for name in named if is_score(sample.get(name))]


def _add_sample(sample, metric, run, where, line, log):
    doc = sample.get("doc_id")
    if not isinstance(doc, int | str) or isinstance(doc, bool):
        raise FileFormatError(f"{where}: the sample has no doc_id")
    item = f"{run['task']}/{doc}"
    if metric not in sample:
        raise FileFormatError(f"{where}: the sample has no {metric!r}")
    if sample[metric] is None:
        score = log.error_score(run, item, "there is no score", line)
    else:
        score = to_score(sample[metric], where)
    log.add(run, item, score, line=line, key=doc, digest=sample.get("doc_hash"))
