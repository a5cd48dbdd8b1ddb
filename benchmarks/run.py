"""Time packages on problems: one process each, threads pinned, quality beside time.

    python benchmarks/run.py --problems S3 S4 --libraries sklearn_mirt factor_analysis
    python benchmarks/run.py                       # everything that is installed

A package in an environment of its own is run with ``--python PATH``. Each row is a
fresh process: first fit (imports and compilation in it) apart from the repeats, CPU
and wall seconds of the fit alone, peak resident memory up to its end, accuracy and
log loss on held-out cells. On a busy machine trust CPU seconds. Rows go to a JSON
file; compare.py sets two such files side by side.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
THREADS = [
    f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
]


def measure(problem_name, library, repeats):
    """Return one row; run in a process of its own."""
    import numpy as np
    from libraries import get_fit
    from problems import make_problem

    problem, fit = make_problem(problem_name), get_fit(library)
    wall, cpu, first = [], [], None
    for _ in range(repeats + 1):
        start = time.perf_counter(), time.process_time()
        found = fit(problem.X, problem.n_dims, problem.groups)
        spent = time.perf_counter() - start[0], time.process_time() - start[1]
        if first is None:
            first = spent
        else:
            wall.append(spent[0])
            cpu.append(spent[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    p = np.clip(found.probability()[problem.test], 1e-6, 1 - 1e-6)
    loss = -np.log(np.where(problem.y == 1, p, 1 - p)).mean()
    return {
        "problem": problem_name,
        "library": library,
        "first_cpu": first[1],
        "wall": sorted(wall or [first[0]]),
        "cpu": sorted(cpu or [first[1]]),
        "full_seconds": found.full_seconds,
        "peak_mib": peak / 1024,
        "log_loss": float(loss),
        "accuracy": float(np.mean((p > 0.5) == (problem.y == 1))),
        "note": found.note,
    }


def in_process(problem, library, options):
    """Return the row of a fresh process; one with the reason where there is none."""
    command = [options.python, __file__, "--one", problem, library]
    command += ["--repeats", str(options.repeats)]
    paths = [str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    pinned = dict.fromkeys(THREADS, "1")
    environment = {**os.environ, **pinned, "PYTHONPATH": os.pathsep.join(paths)}
    environment["SKLEARN_MIRT_JOBS"] = str(options.n_jobs)
    row = {"problem": problem, "library": library}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=options.timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**row, "skipped": f"over {options.timeout} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {**row, "skipped": lines[-1][:120]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def table(rows):
    """Return the rows as a Markdown table."""
    lines = [
        "| problem | package | CPU s: min / median / max | first fit, CPU s "
        "| wall s, min | peak MiB | held-out log loss | accuracy | note |",
        "|" + "---|" * 9,
    ]
    for row in rows:
        name = f"| {row['problem']} | {row['library']} "
        if "skipped" in row:
            lines.append(name + f"| | | | | | | skipped: {row['skipped']} |")
            continue
        cpu, note = row["cpu"], row["note"]
        if row["full_seconds"]:
            note += f"; published recipe {row['full_seconds']:,.0f} s (extrapolated)"
        cells = [
            " / ".join(f"{v:.3g}" for v in (cpu[0], cpu[len(cpu) // 2], cpu[-1])),
            f"{row['first_cpu']:.3g}",
            f"{row['wall'][0]:.3g}",
            f"{row['peak_mib']:,.0f}",
            f"{row['log_loss']:.4f}",
            f"{row['accuracy']:.4f}",
            note,
        ]
        lines.append(name + "| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", default=["S1", "S2", "S3", "S4"])
    parser.add_argument("--libraries", nargs="*")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--n-jobs", type=int, default=1, help="threads of sklearn_mirt")
    parser.add_argument("--timeout", type=float, default=600, help="seconds per row")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "results.json")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse()
    if options.one:
        print(json.dumps(measure(*options.one, options.repeats)))
        return
    sys.path.insert(0, str(HERE))
    from libraries import LIBRARIES

    rows = []
    for problem in options.problems:
        for library in options.libraries or LIBRARIES:
            rows.append(in_process(problem, library, options))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    temporary = options.out.with_suffix(".part")
    temporary.write_text(json.dumps(rows, indent=1))
    os.replace(temporary, options.out)
    print("\n" + table(rows))


if __name__ == "__main__":
    main()
