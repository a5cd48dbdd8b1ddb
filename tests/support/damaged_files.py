"""Good files of every kind, damaged at random, and what a reader may make of them.

Bytes are flipped, removed, repeated, moved and cut; lines swapped; marks put in.
Allowed outcomes: data; a FileFormatError or other ValueError whose message is one line
and names the file. What is read from CSV is compared, cell by cell, with what Python's
csv module finds in the same file; from JSON lines with what json finds.
"""

import csv
import gzip
import io
import json
import math
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from sklearn_mirt import ItemBank, ItemParameters, load_item_bank, save_item_bank
from sklearn_mirt.banks.interchange import read_mirt_table, read_pyirt
from sklearn_mirt.data.files.read import read_items, read_responses
from sklearn_mirt.models.item_bank_file import ItemBankError

LOGS = Path(__file__).parents[1] / "samples"
# Put in, and replaced by one another.
MARKS = [
    *(b",", b";", b'"', b"\n", b"\r", b"\t", b" ", b"\0", b"\x1f", b"\xff"),
    *(b"{", b"}", b"[", b"]", b":", b"NaN", b"1e999", b"-0", b"0,5", b"true", b"null"),
    *(b"1_0", b"9" * 30, b"\\ud800", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xd9\xa3"),
]


def good_files():
    """Return name, content and reader of files of every kind."""
    return [*_text_tables(), *_columnar_tables(), *_logs(), *_item_files()]


def _text_tables():
    scores = np.random.default_rng(0).choice(["1", "0", "0.5", "", "NaN"], (6, 5))
    names = ["q1", "q 2", "é", "=x()", "007"]
    rows = [["model", *names], *([f"m{k}", *row] for k, row in enumerate(scores))]
    plain = "\n".join(",".join(row) for row in rows) + "\n"
    quoted = io.StringIO()
    csv.writer(quoted, quoting=csv.QUOTE_ALL).writerows(rows)
    long = "respondent,item_id,score\n" + "".join(
        f"m{k},q{j},{scores[k, j]}\n" for k in range(6) for j in range(5)
    )
    lines = "".join(
        json.dumps({"subject_id": f"m{k}", "responses": {n: 1 for n in names}}) + "\n"
        for k in range(4)
    )
    return [
        ("r.csv", plain.encode(), read_responses),
        ("r.csv", plain.replace(",", ";").encode(), read_responses),
        ("r.csv", quoted.getvalue().encode(), read_responses),
        ("r.tsv", plain.replace(",", "\t").encode(), read_responses),
        ("r.csv.gz", gzip.compress(plain.encode()), read_responses),
        ("r.csv.zst", zstd(plain.encode()), read_responses),
        ("long.csv", long.encode(), read_responses),
        ("items.csv", b"item_id,benchmark,x\nq1,a,1\nq2,b,\n", read_items),
        ("r.jsonl", lines.encode(), read_responses),
    ]


def _columnar_tables():
    scores = np.random.default_rng(0).integers(0, 2, (4, 3)).astype(float)
    frame = pd.DataFrame(scores, columns=list("abc"))
    frame.insert(0, "model", list("wxyz"))
    parquet, feather = io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    frame.to_feather(feather)
    return [
        ("r.parquet", parquet.getvalue(), read_responses),
        ("r.feather", feather.getvalue(), read_responses),
    ]


def _logs():
    samples = next((LOGS / "lm_eval" / "model-c").glob("samples_echo*"))
    helm = [{"instance_id": f"i{k}", "train_trial_index": 0,
             "stats": [{"name": {"name": "em"}, "count": 1, "mean": k % 2}]}
            for k in range(5)]  # fmt: skip
    compass = {"details": {str(k): {"correct": k % 2 == 0} for k in range(5)}}
    return [
        (samples.name, samples.read_bytes(), read_lm_eval),
        ("t,model=m/per_instance_stats.json", json.dumps(helm).encode(), read_helm),
        ("results/m/d.json", json.dumps(compass).encode(), read_opencompass),
    ]


def _item_files():
    pyirt = {"diff": [0.5, 1.0], "disc": [1.0, 2.0], "irt_model": "2pl",
             "item_ids": {"0": "a", "1": "b"}, "ability": [0.1, 0.4]}  # fmt: skip
    return [
        ("bank.json", bank("b.json"), load_item_bank),
        ("bank.parquet", bank("b.parquet"), load_item_bank),
        ("p.json", json.dumps(pyirt).encode(), read_pyirt),
        ("m.csv", b'"","a1","d","g","u"\n"x",1.5,-0.5,0,1\n', read_mirt_table),
    ]


def zstd(content):
    import pyarrow as pa

    return pa.compress(content, "zstd", asbytes=True)


def read_lm_eval(path):
    return read_responses(path, filter="whole", errors="missing")


def read_helm(path):
    return read_responses(path, layout="helm")


def read_opencompass(path):
    return read_responses(path.parent.parent.parent, errors="wrong")


def bank(name):
    items = ItemParameters(
        np.ones((3, 2)), np.zeros(3), np.zeros(3), np.zeros((3, 3, 3)),
        np.array(list("abc"), dtype=object),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = save_item_bank(ItemBank.from_items(items), Path(folder) / name)
        return path.read_bytes()


def damaged(content: bytes, rng) -> bytes:
    """Return the content with one to four random damages."""
    out = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        kind, n = rng.integers(9), max(len(out), 1)
        at, to = sorted(rng.integers(0, n + 1, 2))
        if kind == 0:
            del out[at : at + rng.integers(1, 9)]
        elif kind == 1 and out:
            out[at % n] ^= 1 << rng.integers(8)
        elif kind == 2:
            out[at:at] = MARKS[rng.integers(len(MARKS))]
        elif kind == 3:
            out[at:at] = out[at:to]
        elif kind == 4:
            del out[at:]
        elif kind == 5:
            out[at:at] = bytes(rng.integers(0, 256, rng.integers(1, 5), dtype=np.uint8))
        elif kind == 6:
            lines = out.split(b"\n")
            i, j = rng.integers(0, len(lines), 2)
            lines[i], lines[j] = lines[j], lines[i]
            out = bytearray(b"\n").join(lines)
        elif kind == 7:
            lines = out.split(b"\n")
            i = rng.integers(len(lines))
            lines[i:i] = [lines[rng.integers(len(lines))]]
            out = bytearray(b"\n").join(lines)
        else:
            out = out.replace(
                MARKS[rng.integers(len(MARKS))], MARKS[rng.integers(len(MARKS))], 1
            )
    return bytes(out)


def cells_of(data):
    """Return {(respondent, item): score}."""
    item, respondent, scores, _ = data.cells()
    return {
        (str(data.respondents[r]), str(data.items[j])): float(np.float32(s))
        for j, r, s in zip(item, respondent, scores, strict=True)
    }


def number(text):
    text = text.strip()
    if text.lower() in {"true", "false"}:
        return float(text.lower() == "true")
    try:
        return float(text)
    except ValueError:
        return math.nan


def expected_cells(name, content, loaded):
    """Return the cells by an independent way, None where there is none."""
    if name.endswith(".jsonl") and loaded.layout == "py-irt":
        rows = [
            json.loads(x) for x in content.decode("utf-8-sig").split("\n") if x.strip()
        ]
        return {
            (str(row["subject_id"]), item): float(np.float32(value))
            for row in rows
            for item, value in row["responses"].items()
            if value is not None and value == value
        }
    if not name.endswith(".csv") or loaded.layout not in {"wide", "items-as-rows"}:
        return None
    text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    for mark in ",;\t":
        rows = [r for r in csv.reader(io.StringIO(text, newline=""), delimiter=mark)]
        rows = [r for r in rows if r and (len(r) > 1 or r[0].strip(" "))]
        if rows and len(rows[0]) == len(loaded_names(loaded)) + 1:
            break
    else:
        return None
    found = {}
    for row in rows[1:]:
        for column, value in zip(rows[0][1:], row[1:], strict=True):
            score = number(value)
            key = (row[0], column) if loaded.layout == "wide" else (column, row[0])
            if score == score:
                found[key] = float(np.float32(score))
    return found


def loaded_names(loaded):
    data = loaded.data
    return data.items if loaded.layout == "wide" else data.respondents


def attempt(folder, name, content, reader):
    """Return what happened: "data", "refused", or a description of the fault."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = reader(path)
    except (ValueError, ItemBankError) as error:
        message = str(error)
        if "\n" in message:
            return f"a message of several lines: {message!r}"
        if str(folder) not in message:
            return f"a message without the file: {message!r}"
        return "refused"
    except Exception:
        return traceback.format_exc()
    if hasattr(loaded, "layout"):
        wanted = expected_cells(name, content, loaded)
        if wanted is not None and wanted != cells_of(loaded.data):
            return f"wrong cells: {cells_of(loaded.data)} where {wanted}"
    return "data"
