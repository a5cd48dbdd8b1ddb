"""The command line: what it prints, and the tables that it writes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import sklearn_mirt
from fingerprinted.blocks import block
from fingerprinted.sets import thinned

_ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(Path(sklearn_mirt.__file__).parents[1]),
    "COLUMNS": "100",
    "NO_COLOR": "1",
}


def _say(folder, line):
    """Run a command in a folder and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "sklearn_mirt", *line.split()],
        cwd=folder,
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{line}: status {done.returncode}, {done.stderr[-200:]}")
    return done.stdout


def _written(folder):
    """Yield the tables in a folder, and item banks without their version."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".csv", ".txt"):
            yield name, path.read_bytes()
        elif path.name == "bank.json":
            bank = json.loads(path.read_text(encoding="utf-8"))
            bank["training"].pop("sklearn_mirt")
            yield name, json.dumps(bank, sort_keys=True)


@block("command demo")
def _demo():
    with TemporaryDirectory() as scratch:
        yield "printed", _say(scratch, "demo --out demo --bootstrap 3 --null 1")
        yield from _written(Path(scratch) / "demo")


def _make_tables(folder):
    """Write answers of known and of new models, and the item table."""
    table, groups = thinned("bfcl_v1", None, 250)
    cut = len(table) - 3
    table.iloc[:cut].T.rename_axis("item_id").to_csv(folder / "known.csv")
    table.iloc[cut:].T.rename_axis("item_id").to_csv(folder / "new.csv")
    groups.rename("benchmark").rename_axis("item_id").to_csv(folder / "items.csv")
    return table.index[[3, 30]]


LINES = (
    "describe known.csv --items items.csv",
    "describe known.csv --items items.csv --json",
    "fit known.csv --items items.csv --dims 2 --out bank.json --abilities theta.csv",
    "describe bank.json",
    "fit known.csv --items items.csv --dims 1 --guessing 0.1 --out one.json --json",
    "convert bank.json --to r-mirt --out r-mirt.csv",
    "convert known.csv --items items.csv --to long --out long.csv",
    "select known.csv --items items.csv --n-items 30 --out chosen.csv",
    "select known.csv --items items.csv --n-items 30 --strategy anchors",
    "score new.csv --train known.csv --items items.csv --chosen chosen.csv --out s.csv",
    "crossval known.csv --items items.csv --dims 1 --dims 2 --folds 3 --out crossval",
    "dims known.csv --items items.csv --most 2 --out dims.csv",
    "audit known.csv --items items.csv --dims 2 --out audit --bootstrap 3",
)


@block("commands")
def _commands():
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        first, second = _make_tables(folder)
        compare = f"compare known.csv --items items.csv --first {first}"
        compare += f" --second {second} --bank bank.json --out pair.csv"
        for line in (*LINES, compare):
            yield f"{line.partition(' --first')[0]}, printed", _say(folder, line)
        yield from _written(folder)
