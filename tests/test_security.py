"""Files from outside: no code is run, no memory is filled, no formula passes."""

import ast
import csv
import gzip
import io
import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sklearn_mirt
from sklearn_mirt import ItemBank, ItemParameters, ResponseData, audit_benchmarks
from sklearn_mirt.banks.interchange import read_mirt_table, write_mirt_table
from sklearn_mirt.data.files import streams
from sklearn_mirt.data.files.atomic import replacing
from sklearn_mirt.data.files.read import FileFormatError, read_responses
from sklearn_mirt.data.files.spreadsheets import csv_text, guarded
from sklearn_mirt.data.files.write import write_item_list, write_responses
from sklearn_mirt.datasets.fetching import fetch_file

PACKAGE = Path(sklearn_mirt.__file__).parent
FORMULAS = ["=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1"]


# --------------------------------------------------------------- what is never called

# no archive is unpacked into files either, so that no member can be named ../x
FORBIDDEN_MODULES = {
    *("pickle", "cPickle", "dill", "shelve", "marshal", "yaml", "subprocess"),
    *("zipfile", "tarfile", "shlex", "xml"),
}
# one published file, of known checksum, by an unpickler that builds arrays only
ALLOWED = {"tiny_benchmarks.py": {"pickle"}}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_no_pickle_no_eval_no_shell_no_archive(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {node.module.split(".")[0]}
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            of = getattr(getattr(node.func, "value", None), "id", "")
            assert (of, called) != ("joblib", "load")
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle":
                    assert keyword.value.value is False
            harmless = (of, called) in {("re", "compile"), ("platform", "system")}
            assert harmless or called not in FORBIDDEN_CALLS, (node.lineno, called)
            continue
        else:
            continue
        allowed = ALLOWED.get(path.name, set())
        assert not names & FORBIDDEN_MODULES - allowed, f"line {node.lineno}: {names}"


# --------------------------------------------------------------------- decompression

BOMB = b"0" * 300_000


@pytest.mark.parametrize("name", ["b.csv.gz", "b.jsonl.gz", "b.csv.zst"])
def test_a_file_that_unpacks_to_a_thousand_times_its_size(tmp_path, monkeypatch, name):
    monkeypatch.setattr(streams, "_UNPACKED_FREE", 100_000)
    path, lines = tmp_path / name, b"[" + BOMB + b"]"
    if name.endswith("zst"):
        path.write_bytes(pa.compress(lines, "zstd", asbytes=True))
    else:
        path.write_bytes(gzip.compress(lines))
    assert path.stat().st_size < 1000
    with pytest.raises(FileFormatError, match="unpacks to more than 100,000 bytes"):
        read_responses(path)


def test_nested_members_count_together(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_UNPACKED_FREE", 100_000)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(BOMB[:60_000]) * 4)
    with pytest.raises(FileFormatError, match="unpacks to more than 100,000"):
        read_responses(tmp_path / "b.csv.gz")


def test_the_limit_can_be_set(tmp_path, monkeypatch):
    text = "model,q\n" + "".join(f"m{k},1\n" for k in range(100))
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv("SKLEARN_MIRT_MAX_UNPACKED", "100")
    with pytest.raises(FileFormatError, match="more than 100 bytes.*SKLEARN_MIRT_MAX"):
        read_responses(tmp_path / "r.csv.gz")
    monkeypatch.setenv("SKLEARN_MIRT_MAX_UNPACKED", str(len(text)))
    assert read_responses(tmp_path / "r.csv.gz").data.n_respondents == 100


def test_the_limit_grows_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_UNPACKED_FREE", 10)
    text = "model,q\n" + "".join(f"m{k},1\n" for k in range(500))
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_responses(tmp_path / "r.csv.gz").data.n_respondents == 500


# -------------------------------------------------------------------- spreadsheets


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


def test_a_list_of_items_can_be_written_for_a_spreadsheet(tmp_path):
    items = pd.DataFrame({"benchmark": "=b", "doc_id": 3}, index=["@x", "plain"])
    write_item_list(items, tmp_path / "plain.csv")
    write_item_list(items, tmp_path / "safe.csv", guard_formulas=True)
    assert (tmp_path / "plain.csv").read_text().splitlines()[1] == "@x,=b,3"
    assert (tmp_path / "safe.csv").read_text().splitlines()[1] == '"\'@x","\'=b","3"'


def test_items_for_r_can_be_written_for_a_spreadsheet(tmp_path):
    ids = np.array(["=q", "-1", "plain"], dtype=object)
    items = ItemParameters(
        np.full((3, 1), 0.1),
        np.array([-0.5, 0.0, 1.0]),
        np.zeros(3),
        np.zeros((3, 2, 2)),
        ids,
    )
    path = tmp_path / "items.csv"
    write_mirt_table(ItemBank.from_items(items), path, guard_formulas=True)
    assert path.read_text().splitlines()[1] == '"\'=q","0.1","-0.5","0","1"'
    back = read_mirt_table(path).items
    assert back.ids.tolist() == ["'=q", "'-1", "plain"]
    assert back.intercepts.tolist() == [-0.5, 0.0, 1.0]


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


@pytest.mark.filterwarnings("ignore")
def test_an_audit_can_be_written_for_a_spreadsheet(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (12, 6)).astype(float))
    frame.index = [*FORMULAS, *"abcdef"]
    frame.columns = [f"=q{k}" for k in range(5)] + ["a\rb"]
    items = pd.DataFrame(
        {"benchmark": ["=b", "+c"] * 3, "subset": ["-s", "@t", "u"] * 2},
        index=frame.columns,
    )
    audit = audit_benchmarks(frame, items=items, n_dims=1, n_halves=0)
    audit.to_csv(tmp_path, guard_formulas=True)
    written = list(tmp_path.glob("*.csv"))
    assert len(written) == 6
    for path in written:
        table = pd.read_csv(path, dtype=object, keep_default_na=False)
        numbers = table.apply(pd.to_numeric, errors="coerce").notna()
        text = table.where(~numbers, "").to_numpy().ravel()
        bad = [t for t in text if t.startswith(("=", "+", "-", "@", "\t", "\r"))]
        assert not bad, (path.name, bad)
        assert ',"=' not in path.read_text()
    audit.to_csv(tmp_path)
    assert pd.read_csv(tmp_path / "items.csv")["item"].tolist() == [*frame.columns]


# ---------------------------------------------------------------------------- paths


def test_a_fetched_file_cannot_lead_out_of_the_cache(tmp_path):
    for name in ("../x", "a/../../x", str(tmp_path.parent / "x")):
        with pytest.raises(ValueError, match="leads out of the folder"):
            fetch_file("http://localhost:9/x", name, folder=tmp_path / "cache")
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_files_have_the_permissions_of_the_umask_whatever_other_threads_write(tmp_path):
    """Asking for the umask once meant clearing it for all threads for a moment."""
    before = os.umask(0o027)
    try:
        threads = [
            threading.Thread(target=_write_some, args=(tmp_path, k)) for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {0o640}
    assert len(list(tmp_path.iterdir())) == 100


def _write_some(folder, k):
    for n in range(25):
        with replacing(folder / f"{k}-{n}.txt", force=False) as scratch:
            scratch.write_text("x")
