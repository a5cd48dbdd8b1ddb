"""How a function becomes a command; the functions without their command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
import pytest

from sklearn_mirt import load_item_bank
from sklearn_mirt.datasets import make_responses

typer = pytest.importorskip("typer")
pytest.importorskip("rich")
from rich.text import Text  # noqa: E402 - after the check that they are there
from typer.testing import CliRunner  # noqa: E402

from sklearn_mirt.cli.compare import compare  # noqa: E402
from sklearn_mirt.cli.fit import fit  # noqa: E402
from sklearn_mirt.cli.options import (  # noqa: E402
    Model,
    Writing,
    as_command,
    check_out,
)
from sklearn_mirt.cli.printing import Answer, if_interrupted  # noqa: E402
from sklearn_mirt.cli.reading import Responses, Source  # noqa: E402


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def source():
    """Thirty models and twelve items in two benchmarks."""
    scores = make_responses(30, 12, n_dims=1, random_state=0).responses
    frame = pd.DataFrame(
        scores,
        index=pd.Index([f"m{k}" for k in range(30)], name="model"),
        columns=[f"q{k}" for k in range(12)],
    )
    frame.to_csv("scores.csv")
    items = pd.DataFrame({"item_id": frame.columns, "topic": ["a", "b"] * 6})
    items.to_csv("items.csv", index=False)
    return Source([Path("scores.csv")], Path("items.csv"), group_column="topic")


# ---- commands


@dataclass(frozen=True)
class Shape:
    """A group of options."""

    width: Annotated[int, typer.Option(min=1, help="Its width.")] = 2
    height: int = 3


def area(shape: Shape, unit: Annotated[str, typer.Option()], twice: bool = False):
    """Say how large it is."""
    number = shape.width * shape.height * (1 + twice)
    return Answer({"area": number}, [f"{number} {unit}", Text("[b]")], ["a note"])


def run(body, *arguments):
    app = typer.Typer()
    app.command()(as_command(body))
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_fields_of_a_group_are_options():
    result = run(area, "--unit", "cm2", "--height", 5, "--twice")
    assert result.stdout.splitlines() == ["a note", "20 cm2", "[b]"]
    assert '"area": 6' in run(area, "--unit", "x", "--json").stdout
    assert run(area, "--unit", "x", "--width", 0).exit_code == 2
    assert run(area).exit_code == 2  # no unit


def test_the_help_of_a_command_lists_the_options_of_its_groups():
    text = run(area, "--help").output
    assert "Say how large it is." in text
    for option in ("--width", "--height", "--unit", "--twice", "--json", "--debug"):
        assert option in text


def test_an_interruption_says_what_is_left():
    def stopped(left: str = ""):
        with if_interrupted(left):
            raise KeyboardInterrupt

    result = run(stopped, "--left", "two of [three] parts")
    assert result.exit_code == 130
    assert result.stderr.strip() == "two of [three] parts"


def test_an_existing_file_is_refused_with_the_option_that_replaces_it():
    check_out(None, force=False)
    check_out(Path("new.csv"), force=False)
    Path("old.csv").write_text("mine")
    check_out(Path("old.csv"), force=True)
    with pytest.raises(typer.BadParameter, match="; --force replaces it"):
        check_out(Path("old.csv"), force=False)


# ---- their bodies


def test_a_fit_needs_no_command_line(source):
    answer = fit(source, Model(dims=1), Writing(), abilities=Path("theta.csv"))
    assert answer.json["bank"] == "scores-bank.json"
    assert answer.parts[-1] == "wrote scores-bank.json"
    bank = load_item_bank("scores-bank.json")
    assert bank.training["source"] == {
        "responses": ["scores.csv"],
        "items": "items.csv",
        "layout": "auto",
        "group_column": "topic",
    }
    table = pd.read_csv("theta.csv")
    assert table.columns.tolist() == ["respondent", "dim1", "se_dim1"]
    with pytest.raises(typer.BadParameter):
        fit(source, Model(dims=1), Writing())
    fit(source, Model(dims=1), Writing(force=True))


def test_two_models_are_compared_without_a_command_line(source):
    found = compare(source, Model(dims=1), first="m0", second="m1").json
    row = next(row for row in found["table"] if row["items"] == "all")
    scores = pd.read_csv("scores.csv", index_col="model").mean(axis=1)
    assert row["difference"] == pytest.approx(scores["m1"] - scores["m0"])


def test_the_source_of_a_run_names_only_options_that_were_given():
    source = Source([Path("logs")], metric=["acc"], errors="wrong")
    assert source.about() == {
        "responses": ["logs"],
        "items": None,
        "layout": "auto",
        "group_column": "benchmark",
        "metric": ["acc"],
        "errors": "wrong",
    }
    assert source.name == "logs"


def test_metrics_are_one_name_or_one_for_each_task(source):
    for metrics in (["acc", "f1"], ["=acc"]):
        with pytest.raises(ValueError, match="TASK=NAME"):
            Responses(source.responses, metric=metrics).read()
