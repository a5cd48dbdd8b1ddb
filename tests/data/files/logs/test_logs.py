"""Logs of evaluation programs: every cell right, choices listed, repeats weighted.

The logs in data were made by lm_eval 0.4.13, inspect_ai 0.3.285, crfm-helm 0.5.16 and
opencompass 0.5.4, with the scripts in benchmarks/real_logs; each folder's expected.csv
was written without reading a log. Further files are written here, in their form.
"""

import csv
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt.data.files.read import FileFormatError, read_responses
from sklearn_mirt.exceptions import ResponseDataWarning

DATA = Path(__file__).parents[3] / "samples"
LM_EVAL = DATA / "lm_eval"
INSPECT = DATA / "inspect"
HELM = DATA / "helm"
OPENCOMPASS = DATA / "opencompass"


def cells(data):
    """Score and weight by (respondent, item)."""
    item, respondent, scores, weights = data.cells()
    weights = np.ones(len(scores)) if weights is None else weights
    return {
        (data.respondents[r], data.items[j]): (float(s), float(w))
        for j, r, s, w in zip(item, respondent, scores, weights, strict=True)
    }


def expected(folder):
    with (folder / "expected.csv").open() as file:
        return list(csv.DictReader(file))


# ---- lm-evaluation-harness


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
@pytest.mark.parametrize("name", ["whole", "first-letter"])
def test_every_cell_of_real_lm_eval_logs(metric, name):
    metrics = {"capitals_easy": metric, "capitals_hard": metric}
    loaded = read_responses(LM_EVAL, metric=metrics, filter={"echo": name})
    want = {
        (row["model"], f"{row['task']}/{row['doc_id']}"): (float(row["score"]), 1.0)
        for row in expected(LM_EVAL)
        if (row["metric"], row["filter"]) in {(metric, "none"), ("exact_match", name)}
    }
    assert len(want) == 3 * (6 + 4 + 3)
    assert cells(loaded.data) == want
    assert loaded.layout == "lm-eval"
    assert loaded.data.respondents.tolist() == ["lab/model-a", "lab/model-b", "model-c"]
    assert loaded.items.loc["capitals_hard/3"].tolist() == ["capitals_hard", 3]
    assert loaded.items.index.tolist() == loaded.data.items.tolist()
    assert set(loaded.provenance["harness_version"]) == {"0.4.13"}
    hard = loaded.provenance[loaded.provenance["task"] == "capitals_hard"]
    assert hard["task_version"].tolist() == [2.0] * 3
    assert hard["n_answers"].tolist() == [4] * 3


def test_the_choices_are_listed_where_there_are_several():
    with pytest.raises(FileFormatError, match=r"line 1: .*several: acc, acc_norm; say"):
        read_responses(LM_EVAL)
    with pytest.raises(
        FileFormatError, match=r"several: first-letter, whole; .*filter"
    ):
        read_responses(LM_EVAL, tasks=["echo"])
    with pytest.raises(FileFormatError, match="no metric 'f1'; it has acc, acc_norm"):
        read_responses(LM_EVAL, metric="f1")
    with pytest.raises(FileFormatError, match="no filter 'x'; it has first-letter, wh"):
        read_responses(LM_EVAL, tasks=["echo"], filter="x")
    with pytest.raises(
        FileFormatError, match="no such task; there are capitals_easy, "
    ):
        read_responses(LM_EVAL, tasks=["mmlu"])


def test_tasks_and_single_runs_can_be_chosen():
    loaded = read_responses(LM_EVAL / "model-c", tasks=["capitals_easy"], metric="acc")
    assert loaded.data.respondents.tolist() == ["model-c"]
    assert loaded.data.n_items == 6
    file = next((LM_EVAL / "model-c").glob("samples_capitals_easy*"))
    assert cells(read_responses(file, metric="acc").data) == cells(loaded.data)


@pytest.fixture
def one_run(tmp_path):
    """A copy of one real run, to be changed."""
    shutil.copytree(LM_EVAL / "model-c", tmp_path / "runs" / "model-c")
    return tmp_path / "runs"


ECHO = {"tasks": ["echo"], "filter": "whole"}


def test_a_run_that_was_stopped_has_no_results_file(one_run):
    for path in one_run.rglob("results*"):
        path.unlink()
    (one_run / "model-c").rename(one_run / "lab__model-c")
    loaded = read_responses(one_run, **ECHO)
    assert loaded.data.respondents.tolist() == ["lab/model-c"]


def test_results_without_samples_are_refused(one_run):
    for path in one_run.rglob("samples*"):
        path.unlink()
    with pytest.raises(FileFormatError, match="without samples; .*--log_samples"):
        read_responses(one_run)


def test_two_runs_of_one_model_are_repeats_only_if_said(one_run):
    source = next(one_run.rglob("samples_echo*"))
    again = source.with_name("samples_echo_2027-01-01T00-00-00.000000.jsonl")
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    for line in lines:
        line["exact_match"] = 1.0
    again.write_text("".join(json.dumps(line) + "\n" for line in lines))
    shutil.copy(
        next(one_run.rglob("results*")),
        source.with_name("results_2027-01-01T00-00-00.000000.json"),
    )
    with pytest.raises(FileFormatError) as caught:
        read_responses(one_run, **ECHO)
    assert f"{again}, line 1: respondent 'model-c' has another" in str(caught.value)
    assert f"{source}, line 1 (3 repeated cells" in str(caught.value)
    counted = cells(read_responses(one_run, **ECHO, aggregate="count").data)
    assert counted["model-c", "echo/0"] == (1.0, 2.0)
    assert counted["model-c", "echo/1"] == (0.5, 2.0)
    first = cells(read_responses(one_run, **ECHO, aggregate="first").data)
    assert first["model-c", "echo/1"] == (0.0, 1.0)


def test_mixed_versions_and_changed_items_are_warned_about(one_run):
    shutil.copytree(one_run / "model-c", one_run / "model-d")
    path = next((one_run / "model-d").glob("results*"))
    results = json.loads(path.read_text())
    results |= {"model_name": "d", "versions": {"echo": 3.0}, "lm_eval_version": "0.3"}
    path.write_text(json.dumps(results))
    path = next((one_run / "model-d").glob("samples_echo*"))
    path.write_text(path.read_text().replace('"doc_hash": "993a', '"doc_hash": "000a'))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = read_responses(one_run, **ECHO)
    text = " | ".join(str(w.message) for w in caught)
    assert all(issubclass(w.category, ResponseDataWarning) for w in caught)
    assert "'echo' mixes harness versions: 0.3, 0.4.13" in text
    assert "'echo' mixes task versions: 1.0, 3.0" in text
    assert "content of 1 item(s) differs between runs under the same id: 'echo/0'" in (
        text
    )
    assert any("mixes task versions" in note for note in loaded.notes)


def test_compressed_samples_are_read(one_run):
    import gzip

    import pyarrow as pa

    want = cells(read_responses(one_run, **ECHO).data)
    path = next(one_run.rglob("samples_echo*"))
    content = path.read_bytes()
    path.unlink()
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(content))
    assert cells(read_responses(one_run, **ECHO).data) == want
    path.with_name(path.name + ".gz").unlink()
    packed = pa.compress(content, "zstd", asbytes=True)
    path.with_name(path.name + ".zst").write_bytes(packed)
    assert cells(read_responses(one_run, **ECHO).data) == want


def test_old_logs_without_filter_and_metrics_keys(tmp_path):
    line = {"doc_id": 0, "doc": {}, "target": "x", "resps": [], "filtered_resps": []}
    lines = [{**line, "acc": 1.0}, {**line, "doc_id": 1, "acc": 0.0}]
    path = tmp_path / "m" / "samples_arc.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join(map(json.dumps, lines)))
    assert cells(read_responses(tmp_path).data) == {
        ("m", "arc/0"): (1.0, 1.0),
        ("m", "arc/1"): (0.0, 1.0),
    }


BAD_LINES = {
    "cut": ('{"doc_id": 1, "acc": 1', "line 2: not JSON, or cut short"),
    "no object": ("[1]", "line 2: a JSON object was expected, this is a list"),
    "no id": ('{"acc": 1}', "line 2: the sample has no doc_id"),
    "list id": ('{"doc_id": [1], "acc": 1}', "line 2: the sample has no doc_id"),
    "no metric": ('{"doc_id": 1}', "line 2: the sample has no 'acc'"),
    "text": ('{"doc_id": 1, "acc": "C"}', "line 2: the score is 'C', .* no number"),
    "large": ('{"doc_id": 1, "acc": 17}', "line 2: the score .* is 17, outside"),
    "huge": ('{"doc_id": 1, "acc": 1' + "0" * 400 + "}", "line 2: the score .* is inf"),
    "longer": ('{"doc_id": 1, "acc": 1' + "0" * 5000 + "}", "line 2: not JSON"),
    "null": ('{"doc_id": 1, "acc": null}', "line 2: there is no score .*errors='miss"),
    "nan": ('{"doc_id": 1, "acc": -NaN}', "line 2: not JSON"),
    "utf-8": (b'{"doc_id": 1, "acc": 1, "x": "\xff"}', "line 2: not UTF-8 text"),
    "deep": ("[" * 100_000, "line 2: not JSON"),
    "half a character": ('{"doc_id": "\\ud800", "acc": 1}', "is no text .half of a"),
    "twice": ('{"doc_id": 0, "acc": 1}', "line 2: .*another answer .*line 1"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_is_named(tmp_path, case):
    content, message = BAD_LINES[case]
    content = content if isinstance(content, bytes) else content.encode()
    path = tmp_path / "samples_arc.jsonl"
    path.write_bytes(b'{"doc_id": 0, "acc": 0.5}\n' + content + b"\n")
    with pytest.raises(FileFormatError, match=message) as caught:
        read_responses(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_errors_are_missing_or_wrong_as_the_caller_says(tmp_path):
    path = tmp_path / "samples_arc.jsonl"
    path.write_text('{"doc_id": 0, "acc": 1}\n{"doc_id": 1, "acc": null}\n')
    missing = read_responses(path, errors="missing")
    assert missing.data.respondent_means().tolist() == [1.0]
    wrong = read_responses(path, errors="wrong")
    assert wrong.data.respondent_means().tolist() == [0.5]
    assert missing.n_errors == wrong.n_errors == 1
    assert wrong.provenance["n_errors"].tolist() == [1]
    with pytest.raises(ValueError, match="errors must be None or one of"):
        read_responses(path, errors="ignore")


def test_progress_counts_all_bytes():
    calls = []
    read_responses(LM_EVAL, **ECHO, progress=lambda *call: calls.append(call))
    size = sum(p.stat().st_size for p in LM_EVAL.rglob("samples_echo*"))
    assert calls[-1][0] == size
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


# ---- Inspect


@pytest.mark.slow
@pytest.mark.parametrize("scorer", ["match", "includes"])
@pytest.mark.parametrize("errors", ["missing", "wrong"])
def test_every_cell_of_real_inspect_logs(scorer, errors):
    pytest.importorskip("inspect_ai")
    loaded = read_responses(INSPECT, metric=scorer, errors=errors)
    rows = pd.DataFrame(expected(INSPECT))
    assert (rows[scorer] == "error").sum() == 2
    rows["score"] = rows[scorer].replace(
        "error", np.nan if errors == "missing" else 0.0
    )
    rows["score"] = rows["score"].astype(float)
    want = {
        key: (pytest.approx(group.mean()), float(group.count()))
        for key, group in rows.groupby(["model", "item"])["score"]
    }
    assert cells(loaded.data) == want
    weight = 2.0 if errors == "missing" else 3.0
    assert cells(loaded.data)["mockllm/alpha", "capitals/3"][1] == weight
    assert loaded.n_errors == 2
    assert loaded.layout == "inspect"
    assert loaded.provenance["n_epochs"].tolist() == [3, 3]
    assert loaded.items.loc["capitals/3", "doc_id"] == 3
    assert loaded.items.loc["capitals/fr", "doc_id"] == "fr"


def test_inspect_errors_and_scorers_must_be_decided():
    pytest.importorskip("inspect_ai")
    with pytest.raises(
        FileFormatError, match="has several: includes, match; say which"
    ):
        read_responses(INSPECT, errors="wrong")
    with pytest.raises(
        FileFormatError, match="ended in an error for item 'capitals/3'"
    ):
        read_responses(INSPECT, metric="match")
    with pytest.raises(FileFormatError, match="no such task; there are capitals"):
        read_responses(INSPECT, metric="match", tasks=["x"])


def test_damaged_inspect_logs_are_refused(tmp_path):
    pytest.importorskip("inspect_ai")
    source = next(INSPECT.glob("*.eval")).read_bytes()
    for name, content in {
        "cut.eval": source[: len(source) // 2],
        "empty.eval": b"",
        "other.eval": b"hello",
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileFormatError, match="not a log of Inspect") as caught:
            read_responses(tmp_path / name, metric="match", errors="wrong")
        assert "\n" not in str(caught.value)
    log = next(INSPECT.glob("*.json")).read_text()
    (tmp_path / "cut.json").write_text(log[: len(log) // 2])
    with pytest.raises(FileFormatError, match="not a log of Inspect"):
        read_responses(tmp_path / "cut.json", metric="match", errors="wrong")


def test_inspect_logs_without_inspect_say_what_is_needed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai", None)
    with pytest.raises(FileFormatError, match=r"sklearn-mirt\[inspect\]"):
        read_responses(INSPECT)


# ---- py-irt


def test_pyirt_lines(tmp_path):
    path = tmp_path / "answers.jsonlines"
    path.write_text(
        '{"subject_id": "a", "responses": {"q1": 1, "q2": 0.5}}\n\n'
        '{"subject_id": "b", "responses": {"q2": null, "q1": false}}\n'
    )
    loaded = read_responses(path)
    assert loaded.layout == "py-irt"
    assert cells(loaded.data) == {
        ("a", "q1"): (1.0, 1.0),
        ("a", "q2"): (0.5, 1.0),
        ("b", "q1"): (0.0, 1.0),
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"subject_id": "b", "responses": {"q": 1, "q": 0}}',
            "line 2: 'q' is there tw",
        ),
        ('{"subject_id": "b"}', "line 2: a line has a subject_id and responses"),
        ('{"subject_id": "a", "responses": {"q": 1}}', "line 2: .* another answer"),
        ('{"subject_id": "b", "responses": {"q": "1"}}', "line 2, item 'q': the score"),
    ],
)
def test_bad_pyirt_lines_are_named(tmp_path, line, message):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"subject_id": "a", "responses": {"q": 1}}\n' + line)
    with pytest.raises(FileFormatError, match=message):
        read_responses(path)


# ---- HELM


@pytest.mark.parametrize("metric", ["exact_match", "quasi_exact_match"])
def test_every_cell_of_real_helm_logs(metric):
    """Two trials each are repeats; the copies in lower case are passed over."""
    loaded = read_responses(HELM, metric=metric)
    task = "capitals:continent=all,data_augmentation=lower"
    table = pd.DataFrame(expected(HELM)).astype({metric: float})
    want = {
        (model, f"{task}/{instance}"): (group.mean(), 2.0)
        for (model, instance), group in table.groupby(["model", "instance"])[metric]
    }
    assert len(want) == 10
    assert cells(loaded.data) == want
    assert loaded.layout == "helm"
    assert "passed over 20 entries of perturbed instances" in loaded.notes
    assert loaded.provenance["n_shot"].tolist() == [1, 1]
    with pytest.raises(
        FileFormatError, match="several: exact_match, quasi_exact_match; say which"
    ):
        read_responses(HELM)


def stat(name, mean):
    return {"name": {"name": name, "split": "test"}, "count": 1, "sum": mean} | (
        {} if mean is None else {"mean": mean}
    )


def write_helm(folder, model, rows, name="mmlu:subject=law"):
    """One run as helm-run writes it; rows are (instance, trial, score, perturbed)."""
    run = folder / f"{name},model={model.replace('/', '_')}"
    run.mkdir(parents=True)
    spec = {
        "name": run.name,
        "adapter_spec": {"model": model, "max_train_instances": 5},
    }
    (run / "run_spec.json").write_text(json.dumps(spec))
    entries = []
    for instance, trial, score, perturbed in rows:
        entry = {"instance_id": instance, "train_trial_index": trial}
        if perturbed:
            entry["perturbation"] = {"name": "typos"}
        # each metric writes its own entry
        entries.append({**entry, "stats": [stat("num_tokens", 0.9)]})
        entries.append({**entry, "stats": [stat("exact_match", score)]})
    (run / "per_instance_stats.json").write_text(json.dumps(entries, indent=2))
    return run


def test_helm_runs(tmp_path):
    write_helm(
        tmp_path,
        "org/a",
        [("id1", 0, 1, False), ("id1", 1, 0, False), ("id2", 0, 1, False)],
    )
    write_helm(tmp_path, "b", [("id1", 0, 0, False), ("id1", 0, 1, True)])
    loaded = read_responses(tmp_path, metric="exact_match")
    assert loaded.layout == "helm"
    assert cells(loaded.data) == {
        ("org/a", "mmlu:subject=law/id1"): (0.5, 2.0),
        ("org/a", "mmlu:subject=law/id2"): (1.0, 1.0),
        ("b", "mmlu:subject=law/id1"): (0.0, 1.0),
    }
    assert "passed over 2 entries of perturbed instances" in loaded.notes[-1]
    assert loaded.provenance["n_shot"].tolist() == [5, 5]
    with pytest.raises(FileFormatError, match="no metric 'f1'; it has exact_match"):
        read_responses(tmp_path, metric="f1")


def test_a_helm_instance_without_the_metric_is_no_silent_gap(tmp_path):
    run = write_helm(tmp_path, "a", [("id1", 0, 1, False), ("id2", 0, None, False)])
    with pytest.raises(FileFormatError, match="no exact_match for item '.*/id2'"):
        read_responses(run, metric="exact_match")
    loaded = read_responses(run, metric="exact_match", errors="wrong")
    assert sorted(score for score, _ in cells(loaded.data).values()) == [0, 1]
    assert loaded.n_errors == 1


def test_helm_runs_of_one_metric_need_no_choice(tmp_path):
    run = write_helm(tmp_path, "a", [("id1", 0, 1, False)])  # and a count of tokens
    (run / "run_spec.json").unlink()  # then the folder names the model
    assert cells(read_responses(run).data) == {("a", "mmlu:subject=law/id1"): (1, 1)}


def test_helm_arrays_longer_than_the_buffer_and_cut_ones(tmp_path, monkeypatch):
    from sklearn_mirt.data.files import streams

    run = write_helm(tmp_path, "a", [(f"id{k}", 0, k % 2, False) for k in range(50)])
    want = cells(read_responses(run, metric="exact_match").data)
    assert len(want) == 50
    for size in (1, 7, 100):
        monkeypatch.setattr(streams, "_CHUNK", size)
        assert cells(read_responses(run, metric="exact_match").data) == want
    path = run / "per_instance_stats.json"
    content = path.read_text()
    for cut in (1, 40, len(content) // 2, len(content) - 1):
        path.write_text(content[:cut])
        with pytest.raises(FileFormatError, match="not JSON, or cut short"):
            read_responses(run, metric="exact_match")


# ---- OpenCompass


def test_every_cell_of_real_opencompass_results():
    """Each verdict is in a list, with one entry for each answer to the question."""
    loaded = read_responses(OPENCOMPASS)
    table = pd.DataFrame(expected(OPENCOMPASS)).astype({"correct": float})
    want = {
        key: (group.mean(), float(len(group)))
        for key, group in table.groupby(["model", "item"])["correct"]
    }
    assert len(want) == 2 * (4 + 4)
    assert cells(loaded.data) == want
    assert loaded.layout == "opencompass"
    assert want["model-a", "capitals_twice/3"] == (0.5, 2.0)


def test_opencompass_results(tmp_path):
    folder = tmp_path / "20260101_000000" / "results"
    details = {
        "gsm8k": {
            "type": "GEN",
            "0": {"correct": True},
            "1": {"correct": [True, False]},
        },
        "arc": [{"pred": "A", "answer": "A", "correct": False}],
    }
    for task, entries in details.items():
        for model in ("m1", "m2"):
            (folder / model).mkdir(parents=True, exist_ok=True)
            text = json.dumps({"accuracy": 50.0, "details": entries})
            (folder / model / f"{task}.json").write_text(text)
    loaded = read_responses(tmp_path)
    assert loaded.layout == "opencompass"
    assert {k[1]: v for k, v in cells(loaded.data).items() if k[0] == "m2"} == {
        "gsm8k/0": (1.0, 1.0),
        "gsm8k/1": (0.5, 2.0),
        "arc/0": (0.0, 1.0),
    }


def test_opencompass_results_as_a_list_with_other_verdicts(tmp_path):
    """Some evaluators call the verdict `is_correct` or `cascade_correct`."""
    path = tmp_path / "results" / "m" / "math.json"
    path.parent.mkdir(parents=True)
    details = [
        {"example_abbr": "math_0", "pred": ["1", "1"], "is_correct": [True, False]},
        {"example_abbr": "math_1", "pred": ["2", "2"], "is_correct": [True, True]},
    ]
    path.write_text(json.dumps({"accuracy": 75.0, "details": details}))
    assert cells(read_responses(tmp_path).data) == {
        ("m", "math/0"): (0.5, 2.0),
        ("m", "math/1"): (1.0, 2.0),
    }


def test_another_verdict_of_a_question_does_not_stand_in(tmp_path):
    path = tmp_path / "results" / "m" / "t.json"
    path.parent.mkdir(parents=True)
    details = {"0": {"correct": False}, "1": {"is_long": True}}
    path.write_text(json.dumps({"details": details}))
    with pytest.raises(FileFormatError, match="no verdict for item 't/1'"):
        read_responses(tmp_path)
    assert read_responses(tmp_path, errors="missing").data.n_observed == 1
    path.write_text('{"details": {"0": {"a\\ud800": true}}}')
    with pytest.raises(FileFormatError, match="half of a surrogate pair"):
        read_responses(tmp_path)


def test_opencompass_without_verdicts_is_refused(tmp_path):
    path = tmp_path / "predictions" / "m" / "gsm8k.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"0": {"prediction": "4", "gold": "4"}}')
    with pytest.raises(FileFormatError, match="--dump-eval-details"):
        read_responses(tmp_path)
    path = tmp_path / "results" / "m" / "gsm8k.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"accuracy": 50.0}')
    with pytest.raises(FileFormatError, match="gsm8k.json: results without details"):
        read_responses(tmp_path)


# ---- what is what


def test_unknown_json_and_folders_are_refused(tmp_path):
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(FileFormatError, match="JSON of an unknown kind; .*lm-eval"):
        read_responses(tmp_path / "x.json")
    with pytest.raises(FileFormatError, match="folder without logs of a known kind"):
        read_responses(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "samples_a.jsonl").write_text('{"doc_id": 0, "acc": 1}')
    (tmp_path / "per_instance_stats.json").write_text("[]")
    with pytest.raises(FileFormatError, match=r"several kinds \(lm-eval, helm\)"):
        read_responses(tmp_path)
    assert read_responses(tmp_path, layout="lm-eval").data.n_items == 1


def test_a_loop_of_links_ends(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "samples_a.jsonl").write_text('{"doc_id": 0, "acc": 1}')
    (tmp_path / "m" / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert read_responses(tmp_path).data.n_items == 1
    (tmp_path / "self.csv").symlink_to(tmp_path / "self.csv")
    with pytest.raises(FileFormatError, match="self.csv"):
        read_responses(tmp_path / "self.csv")


def test_a_folder_of_many_answers_takes_little_memory(tmp_path):
    """Prompts are long; what is kept is 40 bytes an answer."""
    import tracemalloc

    doc = {"text": "x" * 20_000}
    with (tmp_path / "samples_a.jsonl").open("w") as file:
        for k in range(1000):
            file.write(json.dumps({"doc_id": k, "doc": doc, "acc": k % 2}) + "\n")
    tracemalloc.start()
    loaded = read_responses(tmp_path / "samples_a.jsonl")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loaded.data.n_items == 1000
    assert peak < 6e6 < (tmp_path / "samples_a.jsonl").stat().st_size
