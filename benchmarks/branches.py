"""Lines and branches that tests come past, by part of the package.

    make coverage

runs the tests and then this on the report of coverage.py. Branches that were not taken
are listed below the table.
"""

import argparse
import json
from fnmatch import fnmatch
from pathlib import Path

PARTS = {
    "data": ["data.py", "cells.py", "checking.py"],
    "items": ["items.py"],
    "metrics": ["metrics.py", "cellmetrics.py", "splitters.py"],
    "rotation": ["rotation.py", "gradient_projection.py"],
    "scoring": ["scoring.py"],
    "selection": ["selection/*.py"],
    "solvers": ["solvers/*.py"],
    "kernels": ["kernels/*.py"],
}
COUNTS = ("num_statements", "missing_lines", "num_branches", "missing_branches")


def row(name, files):
    """Return one row of the table for the files of a part."""
    lines, missed, branches, untaken = (
        sum(file["summary"][count] for file in files) for count in COUNTS
    )
    both = 1 - (missed + untaken) / (lines + branches)
    alone = 1 - untaken / branches if branches else 1.0
    return (
        f"| {name} | {lines:,} | {missed} | {branches} | {untaken} | {both:.1%} "
        f"| {alone:.1%} |"
    )


def main():
    """Print the table, and what is missing from each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="from coverage json")
    report = json.loads(parser.parse_args().report.read_text(encoding="utf-8"))
    files = {
        name.split("sklearn_mirt/", 1)[1]: file
        for name, file in report["files"].items()
    }
    print("| modules | lines | missed | branches | missed | both | branches alone |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    gaps = []
    for part, patterns in PARTS.items():
        here = {
            name: file
            for name, file in files.items()
            if any(fnmatch(name, pattern) for pattern in patterns)
        }
        print(row(part, here.values()))
        for name, file in here.items():
            if part == "kernels":
                print(row(f"`{name}`", [file]))
            untaken = [f"{a}->{b}" for a, b in file["missing_branches"]]
            gaps += [(name, file["missing_lines"], untaken)]
    for name, lines, untaken in gaps:
        if lines or untaken:
            print(f"{name}: lines {lines or 'none'}, branches {untaken or 'none'}")


if __name__ == "__main__":
    main()
