"""HELM: `per_instance_stats.json` with `run_spec.json`, one folder per run.

The first holds, per instance, trial and perturbation, a list of statistics:

    [{"instance_id": "id7", "train_trial_index": 0,
      "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1,
                 "sum": 1, "mean": 1.0}]}]
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
    json_array,
    json_document,
)

LAYOUT = "helm"
_NAME = "per_instance_stats.json"
# what HELM notes of every run beside the scores: never the metric by itself
_BOOKKEEPING = re.compile(
    r"num_|inference_|training_|finish_reason_|batch_size$|prompt_truncated$|max_prob$|"
    r"logprob|bits_per_byte$|perplexity$"
)
_MODEL = re.compile(r"(?:^|(?<=[,:]))(model|model_deployment)=([^,]*),?")


def recognises(paths: list[Path]) -> bool:
    """Return whether the paths are such files, or folders of them."""
    return bool(_find(paths))


def _find(paths):
    found = []
    for path in paths:
        if path.is_dir():
            found += find_files(path, lambda name: name == _NAME)
        elif path.name == _NAME:
            found.append(path)
    return found


def read(paths: list[Path], options: ReadOptions, log: AnswerLog) -> None:
    """Read all runs under the paths.

    The task is the name of the run without its model, the item id `<task>/<instance
    id>`. Training trials are repeats: the score is their mean, with their number as
    weight. Perturbed instances are passed over, and their entries counted in the notes.
    Token counts, run times and the like are no choice unless they are named.
    """
    files = _find(paths)
    if not files:
        raise FileFormatError(f"{paths[0]}: there is no {_NAME}")
    tasks = set()
    n_perturbed = 0
    for path in files:
        model, task, facts = _run_spec(path)
        tasks.add(task)
        if options.wants(task):
            run = log.start_run(path, model, task, harness="HELM", **facts)
            n_perturbed += _read_stats(path, run, options, log)
    log.note_runs(paths[0], tasks, "runs of HELM")
    if n_perturbed:
        log.notes.append(f"passed over {n_perturbed} entries of perturbed instances")


def _run_spec(path: Path) -> tuple[str, str, dict]:
    """Return model, task and facts of a run, from its specification or its folder."""
    name, model, facts = path.parent.name, None, {}
    spec_path = path.with_name("run_spec.json")
    if spec_path.is_file():
        spec = json_document(spec_path)
        adapter = spec.get("adapter_spec") or {} if isinstance(spec, dict) else {}
        name = spec.get("name", name) if isinstance(spec, dict) else name
        model = adapter.get("model")
        facts = {"n_shot": adapter.get("max_train_instances")}
    named = {key: value for key, value in _MODEL.findall(name)}
    model = model or named.get("model") or named.get("model_deployment")
    if not model:
        raise FileFormatError(f"{path}: neither run_spec.json nor the folder names it")
    return str(model), _MODEL.sub("", name).rstrip(",:"), facts


def _read_stats(path, run, options, log) -> int:
    task, n_perturbed = run["task"], 0
    names: set[str] = set()
    wanted = options.of_task("metric", task)
    totals: dict[str, list] = {}
    for place, entry in json_array(path, options.progress):
        where = f"{path}, element {place}"
        if not isinstance(entry, dict) or not isinstance(entry.get("stats"), list):
            raise FileFormatError(f"{where}: an instance has an id and a list of stats")
        if entry.get("perturbation"):
            n_perturbed += 1
            continue
        # several entries of one instance: each metric may write its own
        total = totals.setdefault(str(entry.get("instance_id", "")), [0.0, 0])
        for stat in entry["stats"]:
            name = _scored(stat)
            if name is None:
                continue
            names.add(name)
            if name == wanted:
                total[0] += to_score(stat["mean"], where)
                total[1] += 1
    if wanted is None:
        # read again, now knowing its name
        scores = {name for name in names if not _BOOKKEEPING.match(name)}
        chosen = options.choose("metric", task, scores or names, path)
        only = ReadOptions(metric=chosen, tasks=options.tasks)
        return _read_stats(path, run, only, log)
    run["metric"] = options.choose("metric", task, names, path)
    for instance, (score, n) in totals.items():
        item = f"{task}/{instance}"
        score = score / n if n else log.error_score(run, item, f"no {wanted}")
        log.add(run, item, score, weight=max(n, 1), key=instance)
    return n_perturbed


def _scored(stat) -> str | None:
    """Return the name of a statistic that could be a score, else None."""
    name = stat.get("name") if isinstance(stat, dict) else None
    name = name.get("name") if isinstance(name, dict) else name
    counted = isinstance(stat, dict) and is_score(stat.get("mean"))
    return name if isinstance(name, str) and counted else None
