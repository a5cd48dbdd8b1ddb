"""Lists of selected items, as evaluation programs and spreadsheets take them."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from sklearn_mirt import read_items, read_responses
from sklearn_mirt.selection.item_lists import inspect_filter, write_item_list

LM_EVAL = Path(__file__).parents[1] / "samples" / "lm_eval"


def test_a_list_of_items_can_be_written_for_a_spreadsheet(tmp_path):
    items = pd.DataFrame({"benchmark": "=b", "doc_id": 3}, index=["@x", "plain"])
    write_item_list(items, tmp_path / "plain.csv")
    write_item_list(items, tmp_path / "safe.csv", guard_formulas=True)
    assert (tmp_path / "plain.csv").read_text().splitlines()[1] == "@x,=b,3"
    assert (tmp_path / "safe.csv").read_text().splitlines()[1] == '"\'@x","\'=b","3"'


def test_chosen_items_in_the_words_of_lm_eval(tmp_path):
    loaded = read_responses(LM_EVAL, metric={"capitals_easy": "acc",
                                             "capitals_hard": "acc"},
                            filter={"echo": "whole"})  # fmt: skip
    chosen = loaded.items.loc[
        ["echo/1", "capitals_easy/5", "capitals_easy/0", "capitals_easy/3"]
    ]
    path = write_item_list(chosen, tmp_path / "chosen.json")
    assert json.loads(path.read_text()) == {"capitals_easy": [0, 3, 5], "echo": [1]}
    path = write_item_list(chosen, tmp_path / "chosen.csv")
    assert read_items(path)["doc_id"].tolist() == [1, 5, 0, 3]


@pytest.mark.slow
def test_lm_eval_itself_runs_the_chosen_items(tmp_path, monkeypatch):
    """The list that is written, given to the harness; its log holds these items."""
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    script = Path(__file__).parents[2] / "benchmarks" / "real_logs" / "make_lm_eval.py"
    spec = importlib.util.spec_from_file_location("make_lm_eval", script)
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    maker.write_documents(tmp_path)
    metrics = {"capitals_easy": "acc", "capitals_hard": "acc"}
    options = {"metric": metrics, "filter": {"echo": "whole"}}
    items = read_responses(LM_EVAL, **options).items
    wanted = ["capitals_hard/2", "capitals_hard/0", "capitals_easy/5", "echo/1"]
    path = write_item_list(items.loc[wanted], tmp_path / "chosen.json")
    chosen = json.loads(path.read_text())
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    results = lm_eval.simple_evaluate(
        model="dummy",
        tasks=list(chosen),
        samples=chosen,
        task_manager=TaskManager(include_path=str(tmp_path), include_defaults=False),
        log_samples=True,
        evaluation_tracker=tracker,
        bootstrap_iters=0,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for task in samples:
        tracker.save_results_samples(task_name=task, samples=samples[task])
    back = read_responses(tmp_path / "out", **options)
    assert set(back.data.items) == set(wanted)


def test_doc_ids_are_sorted_as_numbers(tmp_path):
    """lm-evaluation-harness logs the wrong document for an unsorted list."""
    items = pd.DataFrame(
        {"benchmark": "t", "doc_id": ["10", "9", "2"]}, index=list("abc")
    )
    path = write_item_list(items, tmp_path / "c.json")
    assert json.loads(path.read_text()) == {"t": [2, 9, 10]}
    items["doc_id"] = "q1"
    with pytest.raises(ValueError, match="item 'a' has the doc_id 'q1'"):
        write_item_list(items, tmp_path / "d.json")
    with pytest.raises(ValueError, match="no column 'doc_id'.*kind='csv'"):
        write_item_list(items.drop(columns="doc_id"), tmp_path / "d.json")
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]


def test_chosen_samples_as_a_filter_of_inspect(tmp_path):
    items = pd.DataFrame(
        {"benchmark": "capitals", "doc_id": ["fr", 3]},
        index=["capitals/fr", "capitals/3"],
    )
    path = write_item_list(items, tmp_path / "c.json", kind="inspect")
    keep = inspect_filter(path, "capitals")
    samples = [SimpleNamespace(id=key) for key in ("fr", "it", 3, "3")]
    assert [s.id for s in samples if keep(s)] == ["fr", 3]
    with pytest.raises(ValueError, match="no task 'x'; it has capitals"):
        inspect_filter(path, "x")


@pytest.mark.slow
def test_inspect_takes_the_filter(tmp_path):
    dataset = pytest.importorskip("inspect_ai.dataset")
    (tmp_path / "c.json").write_text('{"t": [1]}')
    samples = [dataset.Sample(id=k, input="x") for k in (1, 2)]
    kept = dataset.MemoryDataset(samples).filter(
        inspect_filter(tmp_path / "c.json", "t")
    )
    assert [sample.id for sample in kept] == [1]
