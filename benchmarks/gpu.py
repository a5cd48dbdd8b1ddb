"""Fits on a CUDA device beside the CPU: time, agreement, memory. A few minutes.

python benchmarks/gpu.py [--small]
"""

import argparse
import time

import numpy as np
from limit import answers

from sklearn_mirt import MIRTTransformer

SIZES = [(100, 30_000, 2), (90, 74_000, 8), (6800, 1300, 6), (5000, 30_000, 4)]


def timed(data, n_dims, device):
    """Return the second of two fits and its wall seconds."""
    model = MIRTTransformer(n_dims, device=device, dtype="float32", n_jobs=-1)
    model.set_params(rotation=None)
    for _ in range(2):
        start = time.perf_counter()
        model.fit(data)
        seconds = time.perf_counter() - start
    return model, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    import cupy

    pool = cupy.get_default_memory_pool()
    print(f"{cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}")
    print(
        "| respondents x items, dimensions | CPU s | GPU s | ratio | GPU passes ",
        end="",
    )
    print("| bound per answer, difference | probability, largest difference | MiB |")
    print("|" + "---|" * 8)
    for n, p, d in SIZES[:1] if options.small else SIZES:
        data = answers(n, p // 10 if options.small else p, d)
        (host, cpu_s), (there, gpu_s) = (timed(data, d, x) for x in ("cpu", "cuda"))
        gap = (there.lower_bounds_[-1] - host.lower_bounds_[-1]) / data.n_observed
        one, two = (
            m.item_parameters_.take(slice(0, 2000)).probability(m.abilities_)
            for m in (host, there)
        )
        print(
            f"| {n:,} x {data.n_items:,}, {d} | {cpu_s:.2f} | {gpu_s:.2f} "
            f"| {cpu_s / gpu_s:.1f} | {there.n_iter_} | {gap:.1e} "
            f"| {np.abs(one - two).max():.1e} | {pool.total_bytes() / 2**20:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
