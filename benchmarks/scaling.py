"""Time of a pass against respondents, items, dimensions, share observed and threads.

Each line varies one thing; the exponent is the slope of log time on log size. Times are
CPU seconds of ten passes (wall seconds for threads). Writes a Markdown page.

    python benchmarks/scaling.py --out docs/speed.md         # some minutes
    python benchmarks/scaling.py --small                     # seconds, to try it
"""

import argparse
import multiprocessing
import os
import time
from pathlib import Path

for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{name}_NUM_THREADS"] = "1"  # threads that idle would be counted

import numpy as np
from limit import answers, exponential_time, limit, pass_time, product_rate

from sklearn_mirt.data.responses import ResponseData
from sklearn_mirt.models.item_design import ItemDesign
from sklearn_mirt.solvers.variational.solver import VariationalSolver

# respondents, items, dimensions of the problems that threads are tried on
THREADED = [(100, 30_000, 2), (90, 74_388, 8), (6_812, 1_480, 6), (5_000, 10_000, 2)]


def exponent(sizes, times):
    """Return the slope of log time on log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def sparse_answers(n, p, share, seed=0):
    """Return answers of which a share is observed."""
    rng = np.random.default_rng(seed)
    cells = np.flatnonzero(rng.random(n * p) < share)
    y = rng.integers(0, 2, len(cells)).astype(np.int8)
    return ResponseData.from_long(cells // p, cells % p, y)


def short_fit(data, n_dims, n_jobs):
    """Return the wall seconds of a short fit, its start included."""
    design = ItemDesign(
        np.zeros(data.n_items, dtype=int), np.array(["all"]), np.zeros(data.n_items)
    )
    start = time.perf_counter()
    VariationalSolver(16, -1.0, "float32", n_jobs=n_jobs).solve(data, n_dims, design)
    return time.perf_counter() - start


def _beside_another(data, n_dims, barrier, found):
    while barrier.wait() >= 0:
        found.put(short_fit(data, n_dims, 1))


def speedups(data, n_dims, repeats):
    """Return how much more two threads, and two processes, do than one.

    Processes share nothing, so theirs is what the machine gave at the time. The least
    times of all count, one, two threads and two processes having been run in turns.
    """
    context = multiprocessing.get_context("fork")
    barrier, found = context.Barrier(3), context.Queue()
    workers = [
        context.Process(
            target=_beside_another, args=(data, n_dims, barrier, found), daemon=True
        )
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    one, two, apart = [], [], []
    for _ in range(repeats):
        one.append(short_fit(data, n_dims, 1))
        two.append(short_fit(data, n_dims, 2))
        barrier.wait()
        apart.append(max(found.get(), found.get()))
    for worker in workers:
        worker.terminate()
    return min(one) / min(two), 2 * min(one) / min(apart)


def studies(small):
    """Yield title, names of the sizes, sizes, times."""
    unit = 20 if small else 1
    ends = [300, 1000, 3000, 10_000, 30_000]
    sizes = [max(n // unit, 20) for n in ends]
    times = [pass_time(answers(n, 1000 // unit, 2), 2) for n in sizes]
    yield "respondents (1,000 items, 2 dimensions)", sizes, times
    sizes = [10 * n for n in sizes]
    times = [pass_time(answers(100, n, 2), 2) for n in sizes]
    yield "items (100 respondents, 2 dimensions)", sizes, times
    dims = [1, 2, 4, 8]
    times = [pass_time(answers(100, 20_000 // unit, d), d) for d in dims]
    yield "dimensions (100 x 20,000)", dims, times
    shares = [0.001, 0.003, 0.01, 0.03, 0.1]
    n = 30_000 // unit
    data = [sparse_answers(n, 500, share) for share in shares]
    times = [pass_time(part, 2) for part in data]
    cells = [part.n_observed for part in data]
    yield "answers observed (30,000 x 500, 0.1% to 10%)", cells, times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rate, exponential = product_rate(), exponential_time()
    lines = ["# Speed", "", "Written by `benchmarks/scaling.py`.", ""]
    lines += [
        f"One core: {2e-9 * rate:.0f} Gflop/s in float32 products, "
        f"{1e9 * exponential:.2f} ns per exponential. A pass over the answers takes:",
        "",
        "| against | sizes | ms per pass | exponent |",
        "|---|---|---|---|",
    ]
    for title, sizes, times in studies(options.small):
        shown = ", ".join(f"{1e3 * t:.3g}" for t in times)
        named = ", ".join(f"{n:,}" for n in sizes)
        slope = exponent(sizes, times)
        lines.append(f"| {title} | {named} | {shown} | {slope:.2f} |")
        print(lines[-1], flush=True)
    n_items = 2000 if options.small else 60_000
    data = answers(100, n_items, 2)
    found = pass_time(data, 2) / (100 * n_items)
    least = limit(2, rate, exponential)
    lines += [
        "",
        f"At 100 x {n_items:,} with 2 dimensions a pass takes {1e9 * found:.1f} ns per "
        f"cell, {found / least:.1f} times the limit of this machine "
        f"({1e9 * least:.1f} ns: `benchmarks/limit.py`).",
        "",
        "Wall seconds of 16 passes and a start, the least of several; two processes "
        "share nothing, and do 2.0 times the work of one where nothing else uses "
        "the cores:",
        "",
        "| problem | two threads do | two processes do |",
        "|---|---|---|",
    ]
    print("\n".join(lines[-7:]))
    for shape in THREADED:
        n, p, d = (shape[0], shape[1] // 30, shape[2]) if options.small else shape
        ratios = speedups(answers(n, p, d), d, 2 if options.small else 5)
        lines.append(f"| {n:,} x {p:,}, {d} dimensions | %.2f | %.2f |" % ratios)
        print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
