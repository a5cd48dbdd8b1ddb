"""Decompression, and its limit."""

import gzip

import pyarrow as pa
import pytest

from sklearn_mirt.data.files import streams
from sklearn_mirt.data.files.read import FileFormatError, read_responses

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
