"""How near a pass is to what this machine could do at best.

The limit is the matrix products of a pass at the measured rate of a large float32
product, plus one vectorised exponential of every cell in each half pass. With D
dimensions, K = D + 1 and L = K (K + 1) / 2, a half pass multiplies and adds 2 L + K
times per cell.

    python benchmarks/limit.py [--respondents 100 --items 30000 --dims 2]

CPU seconds throughout, the best of several.
"""

import argparse
import os
import time

for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{name}_NUM_THREADS"] = "1"

import numba
import numpy as np

from sklearn_mirt.data.responses import ResponseData
from sklearn_mirt.models.item_design import ItemDesign
from sklearn_mirt.solvers.kernels import elementwise
from sklearn_mirt.solvers.variational.solver import VariationalSolver


def best(function, repeats=7):
    """Return the least CPU time of a call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def product_rate(n=1024):
    """Return multiply-adds per second of a square float32 product."""
    a = np.ones((n, n), dtype=np.float32)
    out = np.empty_like(a)
    return n**3 / best(lambda: np.matmul(a, a, out=out))


def exponential_time(n=2**20):
    """Return seconds per cell of the vectorised 1 - exp(-c)."""
    taylor, numbers, integer = elementwise.CONSTANTS[np.dtype(np.float32)]
    c = np.linspace(0, 20, 1024, dtype=np.float32)
    out, powers = np.empty_like(c), np.empty_like(c)
    given = c, out, powers, powers.view(integer), taylor, numbers
    _exponentials(1, *given)
    return best(lambda: _exponentials(n // len(c), *given)) / n


@numba.njit  # what it calls cannot be called from Python
def _exponentials(repeats, c, out, powers, bits, taylor, numbers):
    for _ in range(repeats):
        elementwise._one_minus_exp(c, out, powers, bits, taylor, numbers)


def answers(n, p, d, seed=0):
    """Return simulated answers as ResponseData."""
    rng = np.random.default_rng(seed)
    theta, a = rng.standard_normal((n, d)), 0.6 * rng.standard_normal((p, d))
    chance = 1 / (1 + np.exp(-(theta @ a.T + rng.standard_normal(p))))
    return ResponseData.from_wide((rng.random((n, p)) < chance).astype(np.int8))


def pass_time(data, n_dims, few=3, many=13, repeats=3):
    """Return CPU seconds of one pass: a long fit less a short one."""
    design = ItemDesign(
        np.zeros(data.n_items, dtype=int), np.array(["all"]), np.zeros(data.n_items)
    )

    def fit(n):
        solver = VariationalSolver(n, -1.0, "float32", accelerate=False)
        return best(lambda: solver.solve(data, n_dims, design), repeats)

    fit(2)
    return (fit(many) - fit(few)) / (many - few)


def limit(n_dims, rate, exponential):
    """Return the least seconds per cell of a pass."""
    k = n_dims + 1
    return 2 * ((k * (k + 1) + k) / rate + exponential)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--respondents", type=int, default=100)
    parser.add_argument("--items", type=int, default=30_000)
    parser.add_argument("--dims", type=int, default=2)
    options = parser.parse_args()
    rate, exponential = product_rate(), exponential_time()
    data = answers(options.respondents, options.items, options.dims)
    cells = options.respondents * options.items
    found = pass_time(data, options.dims) / cells
    least = limit(options.dims, rate, exponential)
    print(f"float32 product     {2e-9 * rate:6.1f} Gflop/s")
    print(f"exponential         {1e9 * exponential:6.2f} ns per cell")
    print(f"limit of a pass     {1e9 * least:6.2f} ns per cell")
    print(f"measured            {1e9 * found:6.2f} ns per cell")
    print(f"ratio               {found / least:6.2f}")


if __name__ == "__main__":
    main()
