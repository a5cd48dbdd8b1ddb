"""Damaged and unusual files: read correctly, or refused with the place in one line."""

import gzip
import json
import os
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from damaged_files import attempt, damaged, good_files
from hypothesis import given
from hypothesis import strategies as st

from sklearn_mirt.data.files.read import FileFormatError, read_responses

WIDE = "model,q1,q2\na,1,0\nb,0,1\n"


SCORES = [[1, 0], [0, 1]]


LINE = '{"subject_id": "a", "responses": {"q1": 1, "q2": 0}}\n'


NAN = ["", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "None", "<NA>"]


READ = {
    "bom": ("b.csv", "\ufeff" + WIDE),
    "crlf": ("c.csv", WIDE.replace("\n", "\r\n")),
    "old mac": ("m.csv", WIDE.replace("\n", "\r")),
    "semicolons": ("s.csv", WIDE.replace(",", ";")),
    "bom, crlf and semicolons": (
        "x.csv",
        "\ufeff" + WIDE.replace(",", ";").replace("\n", "\r\n"),
    ),
    "tabs in a .csv": ("t.csv", WIDE.replace(",", "\t")),
    "no end of line": ("n.csv", WIDE.rstrip("\n")),
    "spaces": ("p.csv", WIDE.replace("1", " 1 ").replace("q 1 ", "q1")),
    "floats": ("f.csv", WIDE.replace("1,0", "1.0,0.0").replace("0,1", "0e0,1E0")),
    "gzip of two members": (
        "g.csv.gz",
        gzip.compress(WIDE[:9].encode()) + gzip.compress(WIDE[9:].encode()),
    ),
    "gzip without its name": ("g.csv", gzip.compress(WIDE.encode())),
    "zstandard": ("z.csv.zst", pa.compress(WIDE.encode(), "zstd", asbytes=True)),
}


@pytest.mark.parametrize("case", READ)
def test_read_rightly(tmp_path, case):
    name, content = READ[case]
    content = content.encode() if isinstance(content, str) else content
    (tmp_path / name).write_bytes(content)
    data = read_responses(tmp_path / name).data
    assert data.items.tolist() == ["q1", "q2"]
    assert data.respondents.tolist() == ["a", "b"]
    np.testing.assert_array_equal(data.to_wide(), SCORES)


@pytest.mark.parametrize("mark", NAN)
def test_every_spelling_of_nan_is_a_gap(tmp_path, mark):
    (tmp_path / "r.csv").write_text(WIDE.replace("1,0", f"1,{mark}"))
    data = read_responses(tmp_path / "r.csv").data
    np.testing.assert_array_equal(data.to_wide(), [[1, np.nan], [0, 1]])


@pytest.mark.parametrize("mark", ["#N/A", "-", ".", "?", "missing", "−1", "1_0", "٣x"])
def test_what_is_neither_number_nor_gap_is_named(tmp_path, mark):
    (tmp_path / "r.csv").write_text(WIDE.replace("1,0", f"1,{mark}"))
    with pytest.raises(FileFormatError, match="r.csv, line 2, column 'q2': "):
        read_responses(tmp_path / "r.csv")


PACKED = gzip.compress(WIDE.encode() * 99)


FRAME = pa.compress(WIDE.encode() * 99, "zstd", asbytes=True)


REFUSED = {
    "0 bytes": ("r.csv", b"", "the file is empty"),
    "0 bytes, lines": ("r.jsonl", b"", "the file is empty"),
    "only a bom": ("r.csv", b"\xef\xbb\xbf", "the file is empty"),
    "truncated gzip": ("r.csv.gz", PACKED[:60], "damaged or cut short"),
    "truncated gzip of lines": (
        "r.jsonl.gz",
        gzip.compress(LINE.encode())[:-9],
        "damaged or cut short|not JSON",
    ),
    "truncated zstandard": ("r.csv.zst", FRAME[:-4], "damaged|cut"),
    "broken zstandard": ("r.csv.zst", FRAME[:9] + b"\0" * 9, "damaged"),
    "invalid utf-8": ("r.csv", b"model,q\na,1\n\xe9,0\n", "line 3: not UTF-8"),
    "invalid utf-8 line": ("r.jsonl", LINE.encode() + b"\xe9", "line 2: not UTF-8"),
    "utf-16": ("r.csv", WIDE.encode("utf-16"), "not UTF-8"),
    "ragged": ("r.csv", b"model,q1,q2\na,1,0\nb,1\n", "line 3: 2 values"),
    "duplicate header": ("r.csv", b"model,q,q\na,1,0\n", "two columns .* 'q'"),
    "cut line": ("r.jsonl", LINE.encode() + LINE.encode()[:30], "line 2: not JSON"),
    "decimal comma": ("r.csv", b"model;q1;q2\na;0,5;1\n", "line 2, column 'q1': '0,5'"),
    "decimal comma, one column": ("r.csv", b"model;a,b\nx;0,1\n", "';'|','"),
    "huge integer": ("r.csv", b"model,q\na," + b"9" * 400 + b"\n", "line 2.*is inf"),
    "percent": ("r.csv", b"model,q\na,50%\n", "line 2, column 'q': '50%'"),
    "only quotes": ("r.csv", b'""\n', "the file is empty"),
    "a picture": ("r.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 1: not UTF-8"),
    "a zip": ("r.csv", b"PK\x03\x04\x14\0\0\0", "control character|not UTF-8"),
    "html": ("r.csv", b"<html>\n<body>\n</html>\n", "only one column"),
    "parquet that is text": ("r.parquet", WIDE.encode(), "not a Parquet file"),
    "feather that is text": ("r.feather", WIDE.encode(), "not a Feather file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_one_line_that_names_the_file(tmp_path, case):
    name, content, message = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_responses(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


NAMES = ["=cmd()", "<script>", 'say "x"', "a\nb", "'; DROP", "../../x", "a\tb", "é"]


def test_strange_names_are_kept_as_they_are(tmp_path):
    lines = [
        json.dumps({"subject_id": name, "responses": {n: 1 for n in NAMES}})
        for name in NAMES
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(lines))
    data = read_responses(tmp_path / "r.jsonl").data
    assert set(data.items) == set(data.respondents) == set(NAMES)


def test_an_error_about_a_strange_name_is_still_one_line(tmp_path):
    (tmp_path / "r.csv").write_text('model,q\n"a\nb",7\n')
    with pytest.raises(FileFormatError, match=r"respondent 'a\\nb'") as caught:
        read_responses(tmp_path / "r.csv")
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may")
def test_permission_denied(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(WIDE)
    path.chmod(0)
    with pytest.raises(FileFormatError, match="cannot be read .Permission denied"):
        read_responses(path)


def test_permission_denied_says_so_whoever_runs_the_tests(tmp_path, monkeypatch):
    """The superuser may read everything: the error of the system is made up here."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "r.csv").write_text(WIDE)
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileFormatError, match="cannot be read .Permission denied"):
        read_responses(tmp_path / "r.csv")


@pytest.mark.parametrize("kind", ["feather", "parquet"])
def test_every_damaged_byte_of_a_columnar_file_is_refused_or_harmless(tmp_path, kind):
    """An offset beyond its buffer once read from foreign memory."""
    frame = pd.DataFrame({"model": ["w", "x"], "a": [0.0, 1.0], "b": [1.0, 1.0]})
    path = tmp_path / f"r.{kind}"
    (frame.to_parquet if kind == "parquet" else frame.to_feather)(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(good), min(len(good), 250), replace=False):
        bad = bytearray(good)
        bad[place] ^= 0x41
        path.write_bytes(bytes(bad))
        try:
            data = read_responses(path, layout="wide").data
        except ValueError as error:
            assert "\n" not in str(error)
        else:
            assert data.n_respondents <= 2


GOOD_FILES = good_files()
EACH_FILE = pytest.mark.parametrize("file", GOOD_FILES, ids=lambda file: file[0])


@EACH_FILE
def test_good_files_are_read(tmp_path, file):
    assert attempt(tmp_path / "folder", *file) == "data"


@EACH_FILE
@given(seed=st.integers(0, 2**32 - 1))
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path_factory, file, seed):
    name, content, reader = file
    content = damaged(content, np.random.default_rng(seed))
    folder = tmp_path_factory.mktemp("damaged")
    result = attempt(folder / "folder", name, content, reader)
    shutil.rmtree(folder)
    assert result in {"data", "refused"}
