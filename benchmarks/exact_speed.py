"""Time exact fits against Python mirt 1.2 on the same data, nodes and machine.

    python benchmarks/exact_speed.py --peer PYTHON [--out FILE] [--shapes S1-1 S2-3]

PYTHON is the interpreter of an environment with ``mirt==1.2.0``; without it only our
side is timed. Both sides run in processes of their own with one thread; CPU seconds of
the fit alone, compilation of ours excluded (a fit of a small table warms it up and the
cache keeps it). Log-likelihoods of both are evaluated by us on one fine grid.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SHAPES = {
    "S1-1": (2_000, 40, 1, 20_270),
    "S1-2": (2_000, 40, 2, 20_271),
    "S2-3": (20_000, 100, 3, 20_272),
}
ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
        "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS",
    )
}  # fmt: skip

PEER = """
import sys, time, json
import numpy as np, mirt
X = np.load(sys.argv[1])["X"].astype(int)
n_dims, n_points, accelerate = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
start = time.process_time()
fit = mirt.fit_mirt(X, model="2PL", n_factors=n_dims, n_quadpts=n_points,
                    accelerate=accelerate, compute_standard_errors=False,
                    tol=float(sys.argv[6]), max_iter=int(sys.argv[7]))
seconds = time.process_time() - start
m = fit.model
a = np.asarray(m.discrimination if hasattr(m, "discrimination")
               else m.parameters["slopes"]).reshape(X.shape[1], -1)
p = np.asarray(m.probability(np.zeros((1, n_dims)))).reshape(-1).clip(1e-12, 1 - 1e-12)
np.savez(sys.argv[5], a=a, d=np.log(p) - np.log1p(-p))
print(json.dumps({"seconds": seconds, "iterations": int(fit.n_iterations),
                  "converged": bool(fit.converged)}))
"""

OURS = """
import sys, time, json
import numpy as np
from sklearn_mirt.solvers.quadrature.model import ExactModel, ExactSettings
from sklearn_mirt.solvers.quadrature import ExactSettings, fit_quadrature
X = np.load(sys.argv[1])["X"].astype(float)
n_dims, n_points, nodes = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
model = ExactModel(n_dims=n_dims)
settings = ExactSettings(nodes=nodes, n_points=n_points or None,
                         standard_errors=False)
fit_quadrature(X[:300, :8], model=ExactModel(), settings=settings)
start = time.process_time()
fit = fit_quadrature(X, model=model, settings=settings)
seconds = time.process_time() - start
np.savez(sys.argv[5], a=fit.slopes, d=fit.intercepts)
print(json.dumps({"seconds": seconds, "iterations": fit.n_iter,
                  "converged": fit.converged}))
"""


def simulate(n, n_items, n_dims, seed):
    """Return 0/1 answers; one main slope per item, a third of the items cross-load."""
    rng = np.random.default_rng(seed)
    a = np.zeros((n_items, n_dims))
    main = rng.permutation(np.arange(n_items) % n_dims)
    a[np.arange(n_items), main] = rng.lognormal(0.0, 0.3, n_items)
    if n_dims > 1:
        crossed = np.flatnonzero(rng.random(n_items) < 0.3)
        other = (main[crossed] + rng.integers(1, n_dims, len(crossed))) % n_dims
        a[crossed, other] = 0.4 * rng.lognormal(0.0, 0.3, len(crossed))
    logit = rng.normal(size=(n, n_dims)) @ a.T + rng.normal(size=n_items)
    return (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(np.int8)


def run(python, code, arguments, limit):
    """Run one side; None where it takes longer than the limit."""
    environment = {**os.environ, **ONE_THREAD}
    try:
        done = subprocess.run(
            [python, "-c", code, *map(str, arguments)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.strip().splitlines()[-1])


def common_log_likelihood(X, path):
    """Return the log-likelihood of stored parameters on a fine grid."""
    from sklearn_mirt.solvers.quadrature.fit import fit_quadrature
    from sklearn_mirt.solvers.quadrature.model import ExactModel, ExactSettings

    stored = np.load(path)
    n_dims = stored["a"].shape[1]
    known = {"slopes": stored["a"], "intercepts": stored["d"]}
    # with three dimensions adaptive nodes are the finer rule
    settings = ExactSettings(nodes="adaptive" if n_dims == 3 else "grid")
    fit = fit_quadrature(
        X, model=ExactModel(n_dims=n_dims, fixed=known), settings=settings
    )
    return fit.log_likelihood


def compare(shape, peer, limit):
    """Return table rows of one data shape."""
    n, n_items, n_dims, seed = SHAPES[shape]
    X = simulate(n, n_items, n_dims, seed)
    label = f"{n:,} x {n_items}, D = {n_dims}"
    n_points = {1: 21, 2: 21, 3: 9}[n_dims]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "data.npz", Path(folder) / "out.npz"
        np.savez(data, X=X)
        sides = []
        if peer:
            for accelerate in ("none", "squarem"):
                extra = [n_dims, n_points, accelerate, out, 1e-4, 2000]
                what = f"Python mirt 1.2, EM, {accelerate}, {n_points} GH points"
                sides.append((what, peer, PEER, extra))
        nodes = [("gauss-hermite", n_points), ("grid", 0)]
        nodes += [("adaptive", 0)] if n_dims > 1 else []
        for rule, points in nodes:
            what = f"ours, {rule}" + (f", {points} points" if points else ", default")
            extra = [n_dims, points, rule, out]
            sides.append((what, sys.executable, OURS, extra))
        for what, python, code, extra in sides:
            found = run(python, code, [data, *extra], limit)
            if found is None:
                rows.append(f"| {label} | {what} | over {limit} | | | |")
                continue
            value = common_log_likelihood(X.astype(float), out)
            rows.append(
                f"| {label} | {what} | {found['seconds']:.2f} | "
                f"{found['iterations']} | {found['converged']} | {value:,.2f} |"
            )
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="interpreter with mirt==1.2.0")
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--limit", type=float, default=480.0, help="wall seconds a fit")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    head = (
        "| data | fit | CPU s | iterations | converged | log-likelihood |\n"
        "|---|---|---|---|---|---|"
    )
    rows = [row for s in args.shapes for row in compare(s, args.peer, args.limit)]
    text = "\n".join([head, *rows]) + "\n"
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
