"""Formulas in text that a spreadsheet program may open."""

import csv
import io

import pandas as pd
import pytest

from sklearn_mirt import ResponseData
from sklearn_mirt.data.files.read import read_responses
from sklearn_mirt.data.files.write import csv_text, guarded, write_responses

FORMULAS = ["=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1"]


def test_formulas_become_text_and_numbers_stay():
    frame = pd.DataFrame(
        {"text": [*FORMULAS, "a=b"], "=n": [-1.5] * 7}, index=[*FORMULAS, "ok"]
    )
    safe = guarded(frame)
    assert safe["text"].tolist() == ["'" + text for text in FORMULAS] + ["a=b"]
    assert safe.index.tolist() == ["'" + text for text in FORMULAS] + ["ok"]
    assert safe.columns.tolist() == ["text", "'=n"]
    assert safe["'=n"].tolist() == [-1.5] * 7
    assert frame.index[0] == "=1+1"


def test_responses_can_be_written_for_a_spreadsheet(tmp_path):
    data = ResponseData.from_wide(
        [[1.0, 0.0]], respondents=["=cmd()"], items=["@x", "plain"]
    )
    plain = write_responses(data, tmp_path / "a.csv").read_text()
    safe = write_responses(data, tmp_path / "b.csv", guard_formulas=True).read_text()
    assert "\n=cmd()" in plain
    assert "=cmd()" in safe
    cells = [cell for line in safe.splitlines() for cell in line.split(",")]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("guard", [False, True])
def test_a_lone_carriage_return_begins_no_row(tmp_path, guard):
    frame = pd.DataFrame(
        {"id": ["x\r=1", "a,b", 'say "x"', "two\nlines"], "n": [1.0] * 4}
    )
    written = csv_text(frame, guard_formulas=guard)
    assert written.startswith('"id"' if guard else 'id,n\n"x\r=1",1\n"a,b",1\n')
    assert list(csv.reader(io.StringIO(written, newline=""))) == [
        ["id", "n"],
        *([text, "1"] for text in frame["id"]),
    ]
    data = ResponseData.from_wide([[1.0, 0.0]], items=["x\r=1", "y"])
    path = write_responses(data, tmp_path / "r.csv", guard_formulas=guard)
    assert read_responses(path).data.n_items == 2
