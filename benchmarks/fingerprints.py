"""Fingerprints of results: proof that a refactoring changes no bit of them.

Fits, exact fits, audits, selections, scores, metrics and commands are run on real
response sets. Each result is hashed to its last bit. Equal files mean equal results.
Only public names are used, so that one script serves both sides of a move.

Two commits, on one machine and in one environment (other versions of the libraries
round otherwise)::

    git worktree add ../before COMMIT
    PYTHONPATH=../before python benchmarks/fingerprints.py --out before.json
    PYTHONPATH=. python benchmarks/fingerprints.py --compare before.json

Both lines run this checkout's script. The second ends with status 1 where a result
differs or is missing on one side. ``--only audit`` runs the blocks whose names begin
with "audit"; ``--list`` names all. ``SKLEARN_MIRT_DATA`` names the folder of the
response sets. It takes some four minutes of one core.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

from fingerprinted import BLOCKS, run_block

import sklearn_mirt


def run(names):
    """Return the fingerprints of some blocks; says how long each took."""
    found = {}
    for name in names:
        start = time.perf_counter()
        part = run_block(name)
        seconds = time.perf_counter() - start
        print(f"{name}: {len(part)} results, {seconds:.1f} s", flush=True)
        for key in part:
            if ": ERROR " in key:
                print(f"  {key}", flush=True)
        found |= part
    return found


def differences(ours, theirs):
    """Return one line for each key of theirs that differs or is missing here."""
    lines = []
    for key in sorted(theirs):
        if key not in ours:
            lines.append(f"missing: {key}")
        elif ours[key] != theirs[key]:
            lines.append(f"differs: {key}\n  there {theirs[key]}\n  here  {ours[key]}")
    return lines


def compare(found, path, names):
    """Print how the fingerprints differ from those of a file; return the status.

    Results that only this side has, such as a new attribute, are counted alone.
    """
    theirs = json.loads(path.read_text(encoding="utf-8"))
    chosen = tuple(f"{name}: " for name in names)
    theirs = {key: text for key, text in theirs.items() if key.startswith(chosen)}
    lines = differences(found, theirs)
    print("\n".join(lines))
    print(
        f"{len(theirs) - len(lines)} of {len(theirs)} results are equal to those of "
        f"{path}, {len(lines)} are not; {len(found.keys() - theirs.keys())} are new"
    )
    return 1 if lines else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the fingerprints to this file")
    parser.add_argument("--compare", type=Path, help="compare with those of this file")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="blocks to run")
    parser.add_argument("--list", action="store_true", help="list the blocks")
    args = parser.parse_args()
    names = [n for n in BLOCKS if not args.only or n.startswith(tuple(args.only))]
    if args.list or not names:
        print("\n".join(names or BLOCKS))
        return 0 if args.list else 2
    print(f"package: {Path(sklearn_mirt.__file__).parent}")
    start = time.perf_counter()
    found = run(names)
    print(f"{len(found)} results in {time.perf_counter() - start:.0f} s")
    if args.out:
        text = json.dumps(found, indent=1, sort_keys=True)
        args.out.write_text(text + "\n", encoding="utf-8")
    return compare(found, args.compare, names) if args.compare else 0


if __name__ == "__main__":
    sys.exit(main())
