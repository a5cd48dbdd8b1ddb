"""Set two result files of run.py side by side; exit 1 where the second is slower.

python benchmarks/compare.py results/base.json results/head.json --slower 1.3
"""

import argparse
import json
import sys
from pathlib import Path


def read(path):
    """Return rows by (problem, package), those that were skipped left out."""
    rows = json.loads(Path(path).read_text())
    return {(r["problem"], r["library"]): r for r in rows if "skipped" not in r}


def compare(base, head, slower):
    """Return the lines of a Markdown table, and whether all is well."""
    lines = [
        "| problem | package | CPU s, before | after | ratio | log loss, change |",
        "|" + "---|" * 6,
    ]
    well = True
    for key in sorted(base.keys() & head.keys()):
        one, two = base[key], head[key]
        ratio = two["cpu"][0] / max(one["cpu"][0], 1e-9)
        change = two["log_loss"] - one["log_loss"]
        well &= ratio <= slower and change < 5e-4
        lines.append(
            f"| {key[0]} | {key[1]} | {one['cpu'][0]:.3g} | {two['cpu'][0]:.3g} "
            f"| {ratio:.2f} | {change:+.4f} |"
        )
    return lines, well


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base")
    parser.add_argument("head")
    parser.add_argument("--slower", type=float, default=1.3)
    options = parser.parse_args()
    lines, well = compare(read(options.base), read(options.head), options.slower)
    print("\n".join(lines))
    sys.exit(not well)


if __name__ == "__main__":
    main()
