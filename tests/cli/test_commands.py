"""The commands beyond `audit`: from files to files, in the words of the shell."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import (
    MIRTTransformer,
    ResponseData,
    load_item_bank,
    read_responses,
    save_item_bank,
)
from sklearn_mirt.data.description import describe_responses
from sklearn_mirt.datasets import make_responses

pytest.importorskip("typer")
pytest.importorskip("rich")
from typer.testing import CliRunner  # noqa: E402 - after the check that it is there

from sklearn_mirt.cli.app import app  # noqa: E402

LM_EVAL = Path(__file__).parents[1] / "samples" / "lm_eval"
LOGS = [LM_EVAL, "--metric", "capitals_easy=acc", "--metric", "capitals_hard=acc",
        "--filter", "echo=whole"]  # fmt: skip
COMMANDS = [
    "audit", "demo", "describe", "convert", "fit", "dims", "crossval", "select",
    "score", "compare",
]  # fmt: skip
runner = CliRunner()


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def files(tmp_path):
    """Sixty models, forty items in two benchmarks; as files in the folder."""
    truth = make_responses(60, 40, random_state=0)
    frame = pd.DataFrame(
        truth.responses,
        index=pd.Index([f"m{k}" for k in range(60)], name="model"),
        columns=[f"q{k}" for k in range(40)],
    )
    frame.to_csv("scores.csv")
    items = pd.DataFrame({"item_id": frame.columns, "benchmark": ["a", "b"] * 20})
    items.to_csv("items.csv", index=False)
    return frame


DATA = ["scores.csv", "--items", "items.csv"]


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def answer(*arguments):
    """Run a command with --json; nothing else may be on the output."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"sklearn-mirt {command}" in result.output
    assert "Example" in result.output
    assert "--debug" in result.output


def test_completion_is_offered():
    assert "--install-completion" in run("--help").output


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"demo", "convert"}))
def test_a_missing_file_is_one_line_and_exit_code_1(command):
    more = {
        "select": ["--n-items", 5],
        "score": ["--train", "none.csv"],
        "compare": ["--first", "a", "--second", "b"],
    }
    result = run(command, "none.csv", *more.get(command, []))
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert "error: none.csv: there is no such file" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


# ---- describe


def test_describe_counts_what_is_there(tmp_path):
    (tmp_path / "r.csv").write_text(
        "model,all,none,x,copy,empty,alone\n"
        "a,1,0,1,1,,\nb,1,0,0,0,,\nb2,1,0,0,0,,\nsilent,,,,,,\nfar,,,,,,1\n"
    )
    found = answer("describe", "r.csv")
    assert (found["n_respondents"], found["n_items"], found["n_answers"]) == (5, 6, 13)
    assert found["share_missing"] == pytest.approx(17 / 30)
    assert found["kinds"] == "0/1"
    assert found["all_right_items"] == {"n": 2, "ids": ["all", "alone"]}
    assert found["all_wrong_items"] == {"n": 1, "ids": ["none"]}
    assert found["items_without_answers"] == {"n": 1, "ids": ["empty"]}
    assert found["respondents_without_answers"] == {"n": 1, "ids": ["silent"]}
    assert found["duplicate_items"] == {"n": 1, "ids": ["copy"]}
    assert found["duplicate_respondents"] == {"n": 1, "ids": ["b2"]}
    assert found["components"] == [
        {"n_respondents": 3, "n_items": 4},
        {"n_respondents": 1, "n_items": 1},
    ]
    text = run("describe", "r.csv").output
    assert "2 separate parts" in text
    assert "'silent'" in text


def test_scores_that_only_look_alike_are_no_copies():
    scores = [[0, np.nan, 1], [np.nan, 0, 1], [0, np.nan, 1], [0, 0, 1], [0.5, 0, 1]]
    found = describe_responses(ResponseData.from_wide(scores))
    assert found["duplicate_respondents"] == {"n": 1, "ids": ["2"]}
    assert found["duplicate_items"]["n"] == 0
    assert found["kinds"] == "between 0 and 1"


def test_describe_groups_and_logs(files):
    found = answer("describe", *DATA)
    assert [row["group"] for row in found["groups"]] == ["a", "b"]
    even = files.iloc[:, ::2].mean(axis=1)
    assert found["groups"][0]["mean_score"] == pytest.approx(even.mean())
    assert found["groups"][0]["high_respondent"] == pytest.approx(even.max())
    logs = answer("describe", *LOGS)
    assert logs["layout"] == "lm-eval"
    assert len(logs["runs"]) == 9
    assert {row["group"]: row["n_items"] for row in logs["groups"]} == {
        "capitals_easy": 6,
        "capitals_hard": 4,
        "echo": 3,
    }


def test_strange_names_are_no_markup(tmp_path):
    (tmp_path / "r.csv").write_text("model,[red]x[/red],q\n[bold]a,1,0\nb,1,1\n")
    result = run("describe", "r.csv")
    assert result.exit_code == 0
    assert "[red]x[/red]" in result.output


# ---- progress


def test_replicates_show_the_time_left_and_passes_the_time_so_far():
    from rich.progress import Progress

    from sklearn_mirt.cli.progress import _Passes, _Time

    now = [0.0]
    bar = Progress(disable=True, get_time=lambda: now[0])
    passes = _Passes(bar, bar.add_task("fitting"), "fitting")
    now[0] = 30.0  # of passes: no part of the speed of replicates
    assert str(_Time().render(bar.tasks[0])) == "0:00:30"
    for done in (1, 2, 3):
        passes.on_replicate(done, 10)
        now[0] += 2.0
    assert str(_Time().render(bar.tasks[0])) == "0:00:14"
    assert bar.tasks[0].description == "fitting, replicate 3 of 10"


# ---- convert


def test_convert_and_back(files):
    for name in ("r.parquet", "r.csv.gz", "r.feather"):
        assert run("convert", "scores.csv", "--out", name).exit_code == 0
        back = read_responses(name).data
        order = [list(back.items).index(item) for item in files.columns]
        rows = [list(back.respondents).index(name) for name in files.index]
        np.testing.assert_array_equal(back.to_wide()[rows][:, order], files.to_numpy())
    result = run("convert", "scores.csv", "--out", "r.csv.gz")
    assert result.exit_code == 2
    assert "--force" in result.output
    assert run("convert", "scores.csv", "--out", "r.csv.gz", "--force").exit_code == 0


def test_convert_says_as_json_what_it_wrote():
    found = answer("convert", *LOGS, "--out", "s.csv", "--items-out", "i.csv")
    assert found["out"] == ["s.csv", "i.csv"]
    assert found["notes"] == ["read 9 sample files of 3 runs of lm-evaluation-harness"]


def test_convert_without_an_item_table_writes_nothing(files):
    result = run("convert", "scores.csv", "--out", "s.csv", "--items-out", "i.csv")
    assert result.exit_code == 1
    assert "no item table" in result.output
    assert not Path("s.csv").exists()


def test_convert_logs_with_their_item_table():
    result = run("convert", *LOGS, "--out", "s.csv", "--items-out", "i.csv")
    assert result.exit_code == 0, result.output
    found = answer("describe", "s.csv", "--items", "i.csv")
    assert found["n_answers"] == 39
    assert len(found["groups"]) == 3


# ---- fit


def test_fit_saves_a_bank_that_scores_as_the_fit(files):
    found = answer("fit", *DATA, "--dims", 1, "--abilities", "abilities.csv")
    assert found["bank"] == "scores-bank.json"
    assert found["converged"]
    bank = load_item_bank("scores-bank.json")
    assert bank.training["source"]["responses"] == ["scores.csv"]
    assert bank.group_labels.tolist() == ["a", "b"]
    abilities = pd.read_csv("abilities.csv", index_col="respondent")
    mirt = MIRTTransformer.from_item_bank("scores-bank.json")
    np.testing.assert_allclose(
        mirt.transform(files)[:, 0], abilities["dim1"], atol=0.01
    )
    assert run("fit", *DATA).exit_code == 2  # the bank is there
    described = answer("describe", "scores-bank.json")
    assert described["groups"] == {"a": 20, "b": 20}
    for to, name in (("r-mirt", "m.csv"), ("py-irt", "p.json"), ("bank", "b.parquet")):
        result = run("convert", "scores-bank.json", "--to", to, "--out", name)
        assert result.exit_code == 0, result.output


def test_a_damaged_bank_is_not_taken_for_responses(files):
    run("fit", *DATA, "--dims", 1)
    bank = json.loads(Path("scores-bank.json").read_text())
    Path("bad.json").write_text(json.dumps({**bank, "version": 99}))
    result = run("describe", "bad.json")
    assert result.exit_code == 1
    assert "item bank of version 99" in result.stderr


def test_dims_recommends(files):
    found = answer("dims", *DATA, "--most", 2)
    assert found["recommended"] in (1, 2)
    assert [row["n_dims"] for row in found["table"]][0] == 1


# ---- crossval

CROSSVAL = ["crossval", *DATA, "--folds", 3, "--dims", 1]
CHEAP = [*CROSSVAL, "--baselines", "cheap"]


def test_crossval_compares_with_the_baselines(files):
    found = answer(*CROSSVAL)
    names = [row["estimator"] for row in found["micro"]]
    assert names[:3] == ["respondent mean", "respondent x group mean", "additive"]
    assert names[3:] == ["1-d, one per group", "MIRT, 1 dimension"]
    assert found["micro"][4]["log_loss"] < found["micro"][0]["log_loss"]
    by_fold = pd.read_csv("scores-crossval/by_fold.csv")
    cells = by_fold[(by_fold["group"] == "micro") & (by_fold["estimator"] == names[0])]
    assert len(cells) == 3
    again = run(*CROSSVAL)
    assert again.exit_code == 2
    assert "--resume" in again.output


def test_baselines_by_category_have_their_own_groups(files):
    table = pd.read_csv("items.csv").assign(category=["x"] * 10 + ["y"] * 30)
    table.to_csv("items.csv", index=False)
    found = answer(*CROSSVAL)
    scores = {row["estimator"]: row["log_loss"] for row in found["micro"]}
    assert {"respondent x category mean", "1-d, one per category"} <= set(scores)
    assert scores["respondent x category mean"] != scores["respondent x group mean"]
    assert scores["1-d, one per category"] < scores["respondent mean"]


def test_crossval_resumed_gives_the_same_table_as_uninterrupted(files, monkeypatch):
    from sklearn_mirt.metrics.cross_validation import CellCrossValidation

    whole = answer(*CHEAP, "--out", "whole")
    part = CellCrossValidation._part
    calls = []

    def stopped(self, name, train, test):
        calls.append(name)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return part(self, name, train, test)

    monkeypatch.setattr(CellCrossValidation, "_part", stopped)
    result = run(*CHEAP, "--out", "cut")
    assert result.exit_code == 130
    assert "interrupted; what is finished is in cut, --resume goes on" in result.stderr
    assert not Path("cut/table.csv").exists()
    resumed = answer(*CHEAP, "--out", "cut", "--resume")
    assert len(calls) == 7 + 6  # 12 parts, the seventh began twice
    assert resumed == whole
    for name in ("table.csv", "by_fold.csv"):
        assert Path("cut", name).read_bytes() == Path("whole", name).read_bytes()


@pytest.mark.slow
def test_a_signal_in_the_middle_loses_nothing(files):
    """The same with a process of its own and the key that a user presses."""
    command = [sys.executable, "-m", "sklearn_mirt", *map(str, CHEAP)]
    folder = Path("signalled")
    process = subprocess.Popen(
        [*command, "--out", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # it is ignored where tests run in the background of a shell
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not list(folder.glob("fold_*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("the run was over before the signal")
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    assert not [n for n in os.listdir(folder) if n.startswith(".")]
    resumed = answer(*CHEAP, "--out", folder, "--resume")
    assert resumed == answer(*CHEAP, "--out", "whole")


def test_resume_refuses_other_data_or_settings(files):
    answer(*CHEAP, "--out", "cv")
    result = run(
        "crossval", *DATA, "--folds", 3, "--dims", 2, "--out", "cv", "--resume"
    )
    assert result.exit_code == 1
    assert "other data or settings (different estimators)" in result.stderr
    files.iloc[0, 0] = 1 - files.iloc[0, 0]
    files.to_csv("scores.csv")
    result = run(*CHEAP, "--out", "cv", "--resume")
    assert "other data or settings (different data)" in result.stderr


# ---- select, score, compare


@pytest.mark.slow
def test_select_then_score_a_new_model(files):
    new = files.iloc[:2]
    files.iloc[2:].to_csv("train.csv")
    found = answer(
        *("select", "train.csv", "--items", "items.csv"),
        *("--n-items", 12, "--dims", 1, "--out", "chosen.csv"),
    )
    assert len(found["items"]) == 12
    assert pd.read_csv("chosen.csv")["item_id"].tolist() == found["items"]
    assert found["expected"][0]["score"] == "overall"
    assert sum(row["chosen"] for row in found["expected"][1:]) == 12
    new.to_csv("new.csv")
    scored = answer(
        *("score", "new.csv", "--train", "train.csv", "--items", "items.csv"),
        *("--chosen", "chosen.csv", "--dims", 1),
    )["scores"]
    assert [row["score"] for row in scored[:3]] == ["overall", "a", "b"]
    for k, name in enumerate(("m0", "m1")):
        row = scored[3 * k]
        assert row["respondent"] == name
        assert row["n_answers"] == 12
        assert row["low"] < row["estimate"] < row["high"]
        error = abs(row["estimate"] - new.iloc[k].mean())
        assert error < 4 * row["standard_error"]


def test_select_for_a_harness():
    result = run("select", *LOGS, "--n-items", 4, "--dims", 1, "--out", "c.json")
    assert result.exit_code == 0, result.output
    chosen = json.loads(Path("c.json").read_text())
    assert sum(map(len, chosen.values())) == 4
    assert all(keys == sorted(keys) for keys in chosen.values())


def test_score_refuses_answers_to_other_items(files):
    Path("new.csv").write_text("model,zz1,zz2\nn,1,0\n")
    result = run("score", "new.csv", "--train", "scores.csv")
    assert result.exit_code == 1
    assert "none of its items ('zz1', 'zz2', ...) is among" in result.stderr


def test_compare_two_models(files):
    run("fit", *DATA, "--dims", 1)
    found = answer(
        *("compare", *DATA, "--bank", "scores-bank.json"),
        *("--first", "m0", "--second", "m1"),
    )
    row = next(r for r in found["table"] if r["items"] == "all")
    gap = files.loc["m1"].mean() - files.loc["m0"].mean()
    assert row["difference"] == pytest.approx(gap)
    result = run("compare", *DATA, "--dims", 1, "--first", "m0", "--second", "nobody")
    assert result.exit_code == 1
    assert "There is no respondent 'nobody'" in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        "audit scores.csv --items items.csv --dims 1 --out made",
        "convert scores.csv --out long.csv",
        "convert bank.json --to r-mirt --out r.csv",
        "fit scores.csv --dims 1 --out b.json --abilities abilities.csv",
        "crossval scores.csv --items items.csv --dims 1 --folds 2 --baselines cheap "
        "--out made --resume",
        "select scores.csv --n-items 4 --dims 1 --strategy random --out chosen.csv",
        "score scores.csv --train scores.csv --dims 1 --out scored.csv",
    ],
)
def test_no_formula_reaches_a_spreadsheet_when_asked(command, tmp_path):
    truth = make_responses(30, 8, n_dims=1, random_state=0)
    frame = pd.DataFrame(
        truth.responses,
        index=pd.Index(["=a", "=b", *(f"@m{k}" for k in range(28))], name="model"),
        columns=[f"+q{k}" for k in range(8)],
    )
    inputs = {"scores.csv", "items.csv"}
    frame.to_csv("scores.csv")
    items = pd.DataFrame({"item_id": frame.columns, "benchmark": ["=b", "-c"] * 4})
    items.to_csv("items.csv", index=False)
    save_item_bank(MIRTTransformer(1).fit(frame), "bank.json")

    plain, safe = (written(command, inputs, *g) for g in ((), ("--guard-formulas",)))
    assert plain.keys() == safe.keys()
    assert [cell for cells in plain.values() for cell in cells]
    assert not [cell for cells in safe.values() for cell in cells]


def written(command, inputs, *more):
    """Run a command; return the cells that a spreadsheet computes, by file."""
    force = [] if command.startswith("crossval") else ["--force"]
    result = run(*command.split(), *force, *more)
    assert result.exit_code == 0, result.output
    return {
        path.name: [
            cell
            for row in csv.reader(path.open(newline="", encoding="utf-8"))
            for cell in row
            if cell.startswith(("=", "+", "-", "@")) and not is_number(cell)
        ]
        for path in Path().rglob("*.csv")
        if str(path) not in inputs
    }


def is_number(text):
    try:
        return bool(float(text) or True)
    except ValueError:
        return False
