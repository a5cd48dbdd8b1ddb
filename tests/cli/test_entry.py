"""The command line: what it prints, writes and refuses, with and without a real fit."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import sklearn_mirt

pytest.importorskip("typer")
pytest.importorskip("rich")
from typer.testing import CliRunner  # noqa: E402 - after the check that it is there

from sklearn_mirt.cli.app import app  # noqa: E402

runner = CliRunner()


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


JINJA2_REPORT = ["report.html"] if find_spec("jinja2") else []


class FakeAudit:
    """Tables as `audit_benchmarks` gives them, without a fit."""

    def __init__(self, data, items, estimator):
        self.options = estimator.get_params()
        self.given_items = items
        labels = (
            pd.Series("all items", index=data.items)
            if items is None
            else items["benchmark"]
        )
        names = sorted(set(labels))
        self.benchmarks = pd.DataFrame(
            {
                "n_items": [int((labels == name).sum()) for name in names],
                "mean_score": 0.5,
                "r_dim1": -0.91,
                "p_dim1": 0.0001,
                "r_dim2": np.nan,
                "p_dim2": np.nan,
                "verdict": "reversed",
            },
            index=pd.Index(names, name="benchmark"),
        )
        self.items = pd.DataFrame(
            {"benchmark": labels.to_numpy(), "slope_dim1": 1.0, "slope_dim2": 0.5},
            index=data.items,
        )
        self.findings = [f"{name} falls as dim1 rises [sic]" for name in names]

    def to_csv(self, folder, *, guard_formulas):
        self.benchmarks.to_csv(folder / "benchmarks.csv")
        self.items.to_csv(folder / "items.csv")

    def to_html(self, path):
        path.write_text("<!DOCTYPE html>", encoding="utf-8")


@pytest.fixture
def fitted(monkeypatch):
    """Replace the fit; returns the list of audits that were asked for."""
    made = []

    def fake(data, items=None, estimator=None, **options):
        made.append(FakeAudit(data, items, estimator))
        return made[-1]

    monkeypatch.setitem(sklearn_mirt.__dict__, "audit_benchmarks", fake)
    return made


@pytest.fixture
def files(tmp_path):
    """A response file of six models and four items, with its item table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.integers(0, 2, (6, 4)),
        index=pd.Index([f"m{k}" for k in range(6)], name="model"),
        columns=["q1", "q2", "q3", "q4"],
    )
    frame.to_csv(tmp_path / "scores.csv")
    (tmp_path / "items.csv").write_text(
        "item_id,benchmark,topic,subset\nq1,a,x,1\nq2,a,y,2\nq3,b,x,\nq4,b,y,\n"
    )
    return SimpleNamespace(responses="scores.csv", items="items.csv")


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


# ---- what works


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.strip() == f"sklearn-mirt {sklearn_mirt.__version__}"


@pytest.mark.parametrize("command", [[], ["audit"], ["demo"]])
def test_help_names_every_option(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    if command == ["audit"]:
        for (
            option
        ) in "items layout dims group-column subset-column rotation out".split():
            assert f"--{option}" in result.output


def test_audit_prints_the_table_and_writes_the_folder(fitted, files):
    result = run("audit", files.responses, "--items", files.items)
    assert result.exit_code == 0, result.output
    assert "read as wide" in result.output
    assert "\N{MINUS SIGN}" not in result.output  # the terminal may not show it
    assert re.search(r"a +2 +0\.50 +-0\.91\*\*\* +n/a +reversed", result.output)
    assert "a falls as dim1 rises [sic]" in result.output
    assert sorted(os.listdir("scores-audit")) == [
        "about.json",
        "benchmarks.csv",
        "benchmarks.png",
        "discrimination.png",
        "findings.txt",
        "items.csv",
        *JINJA2_REPORT,
    ]
    for picture in ("benchmarks.png", "discrimination.png"):
        with open(f"scores-audit/{picture}", "rb") as file:
            assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    leftovers = [name for name in os.listdir() if name.startswith(".")]
    assert leftovers == []


def test_options_reach_the_fit(fitted, files):
    result = run(
        *("audit", files.responses, "--items", files.items, "--group-column", "topic"),
        *("--dims", 3, "--rotation", "none", "--seed", 7, "--jobs", 2),
    )
    assert result.exit_code == 0, result.output
    expected = {"n_dims": 3, "rotation": None, "random_state": 7, "n_jobs": 2}
    assert expected.items() <= fitted[0].options.items()
    assert fitted[0].given_items["benchmark"].tolist() == ["x", "y", "x", "y"]
    assert fitted[0].given_items["subset"].iloc[:2].tolist() == ["1", "2"]


def test_items_are_joined_by_id_not_by_position(fitted, files, tmp_path):
    (tmp_path / "items.csv").write_text(
        "item_id,benchmark\nq4,b\nunused,c\nq3,b\nq2,a\nq1,a\n"
    )
    result = run("audit", files.responses, "--items", files.items)
    assert result.exit_code == 0, result.output
    assert fitted[0].given_items.index.tolist() == ["q1", "q2", "q3", "q4"]
    assert fitted[0].given_items["benchmark"].tolist() == ["a", "a", "b", "b"]
    assert "1 items of the item table" in result.output


def test_json_is_the_only_output_and_has_no_nan(fitted, files):
    result = run("audit", files.responses, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout, parse_constant=pytest.fail)
    assert answer["benchmarks"][0]["benchmark"] == "all items"
    assert answer["benchmarks"][0]["r_dim2"] is None
    assert answer["about"]["layout"] == "wide"
    with open("scores-audit/about.json") as file:
        assert json.load(file) == answer["about"]


def test_the_same_run_writes_the_same_bytes(fitted, files):
    for out in ("one", "two"):
        assert run("audit", files.responses, "--out", out).exit_code == 0
    for name in os.listdir("one"):
        with open(f"one/{name}", "rb") as one, open(f"two/{name}", "rb") as two:
            assert one.read() == two.read(), name


# ---- what is refused


def test_a_folder_in_use_is_refused_before_the_fit(fitted, files, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep me")
    result = run("audit", files.responses, "--out", "out")
    assert result.exit_code == 2
    assert "not empty" in result.output and "--force" in result.output
    assert fitted == []
    forced = run("audit", files.responses, "--out", "out", "--force")
    assert forced.exit_code == 0, forced.output
    assert (tmp_path / "out" / "mine.txt").read_text() == "keep me"
    assert (tmp_path / "out" / "benchmarks.csv").exists()


def test_an_output_path_that_is_a_file_is_refused(fitted, files):
    result = run("audit", files.responses, "--out", files.items)
    assert result.exit_code == 2


def test_a_failure_while_writing_leaves_nothing_behind(fitted, files, monkeypatch):
    def fail(self, folder, *, guard_formulas):
        (folder / "half.csv").write_text("half")
        raise OSError("the disk is full")

    monkeypatch.setattr(FakeAudit, "to_csv", fail)
    before = sorted(os.listdir())
    result = run("audit", files.responses, "--out", "out")
    assert result.exit_code == 1
    assert "error: the disk is full" in result.stderr
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit"],
        ["audit", "scores.csv", "--dims", "0"],
        ["audit", "scores.csv", "--layout", "tall"],
        ["audit", "scores.csv", "--no-such-option"],
        ["no-such-command"],
    ],
)
def test_wrong_usage_exits_with_2(files, fitted, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def _one_line(result):
    assert result.exit_code == 1, result.output
    lines = result.stderr.strip().split("\n")
    assert len(lines) == 1 and lines[0].startswith("error: "), result.stderr
    assert result.stdout == ""
    return lines[0]


def test_bad_data_exit_with_1_and_one_line(fitted, files, tmp_path):
    assert "no such file" in _one_line(run("audit", "none.csv"))
    (tmp_path / "bad.csv").write_text("model,q1\na,1\nb,maybe\n")
    line = _one_line(run("audit", "bad.csv"))
    assert "bad.csv, line 3, column 'q1': 'maybe' is not a number" in line
    (tmp_path / "empty.csv").write_text("")
    assert "empty" in _one_line(run("audit", "empty.csv"))
    line = _one_line(
        run("audit", files.responses, "--items", files.items, "--group-column", "nope")
    )
    assert "no column 'nope'" in line and "topic" in line
    (tmp_path / "gap.csv").write_text("item_id,benchmark\nq1,a\nq2,\nq3,b\nq4,b\n")
    line = _one_line(run("audit", files.responses, "--items", "gap.csv"))
    assert "item 'q2' has no benchmark" in line
    (tmp_path / "few.csv").write_text("item_id,benchmark\nq1,a\n")
    line = _one_line(run("audit", files.responses, "--items", "few.csv"))
    assert "3 of 4 items are not in the item table" in line
    assert fitted == []


def test_debug_shows_where_an_error_arose(files):
    result = run("audit", "none.csv", "--debug")
    assert result.exit_code == 1
    assert "no such file" in str(result.exception)


def test_a_defect_is_named_as_one(files, monkeypatch):
    def broken(data, items=None, estimator=None):
        raise KeyError("oops")

    monkeypatch.setitem(sklearn_mirt.__dict__, "audit_benchmarks", broken)
    assert "defect of sklearn-mirt" in _one_line(run("audit", files.responses))


def test_a_missing_extra_is_named(tmp_path):
    code = (
        "import sys; sys.modules['typer'] = None; from sklearn_mirt.cli import main; "
        "main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "pip install 'sklearn-mirt[cli,plot]'" in result.stderr


# ---- with the real fit


@pytest.fixture
def audit_is_there():
    pytest.importorskip("sklearn_mirt.audit.audit")


@pytest.mark.slow
def test_demo_recovers_the_truth_of_the_suite(audit_is_there):
    result = run("demo", "--out", "out")
    assert result.exit_code == 0, result.output
    assert "synthetic" in result.output
    found = re.search(
        r"right for (\d+) of (\d+) .* off by (\d\.\d+)",
        result.output.replace("\n", " "),
    )
    assert found[1] == found[2]
    assert float(found[3]) < 0.05
    table = pd.read_csv("out/benchmarks.csv", index_col=0)
    assert len(table) == 16


@pytest.mark.slow
def test_audit_of_a_small_file_end_to_end(audit_is_there, tmp_path):
    data = sklearn_mirt.datasets.make_benchmark_suite(scale=0.02)
    data.responses.rename_axis(index="model").to_csv("scores.csv")
    data.item_table.to_csv("items.csv", index=False)
    result = run("audit", "scores.csv", "--items", "items.csv", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert len(answer["benchmarks"]) == 16
    assert (tmp_path / "scores-audit" / "benchmarks.png").exists()
