"""Bias of slopes and coverage of 95% intervals of exact fits, by simulation.

    python benchmarks/exact_simulation.py --out docs/exact_simulation.md

Two designs: confirmatory simple structure with correlated abilities (parameters are
identified, so every estimate has a true value), D = 2; and one dimension.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from sklearn_mirt.solvers.quadrature.fit import fit_quadrature
from sklearn_mirt.solvers.quadrature.model import ExactModel, ExactSettings


def truth(n_items, n_dims, seed):
    """Return slopes, intercepts, q_matrix and correlation of a design."""
    rng = np.random.default_rng(seed)
    q = (np.arange(n_items)[:, None] % n_dims == np.arange(n_dims)) * 1
    slopes = q * rng.lognormal(0.0, 0.3, n_items)[:, None]
    return slopes, rng.normal(size=n_items), q, 0.3 * (n_dims > 1)


def draw(rng, n, slopes, intercepts, correlation):
    """Return simulated answers."""
    n_dims = slopes.shape[1]
    covariance = np.full((n_dims, n_dims), correlation)
    np.fill_diagonal(covariance, 1.0)
    theta = rng.multivariate_normal(np.zeros(n_dims), covariance, n)
    logit = theta @ slopes.T + intercepts
    return (rng.random(logit.shape) < 1.0 / (1.0 + np.exp(-logit))) * 1.0


def one_design(n, n_items, n_dims, replications, seed=1):
    """Return (bias of slopes in %, coverage of slopes, of intercepts, seconds)."""
    slopes, intercepts, q, correlation = truth(n_items, n_dims, seed)
    model = ExactModel(
        n_dims=n_dims,
        q_matrix=q if n_dims > 1 else None,
        correlated=n_dims > 1,
    )
    settings = ExactSettings(nodes="gauss-hermite", n_points=21 if n_dims > 1 else 31)
    estimates, covered = [], {"slope": [], "intercept": [], "correlation": []}
    start = time.process_time()
    for k in range(replications):
        rng = np.random.default_rng([seed, k])
        fit = fit_quadrature(
            draw(rng, n, slopes, intercepts, correlation),
            model=model,
            settings=settings,
        )
        table = fit.parameter_table()
        wanted = np.column_stack([slopes, intercepts]).ravel()
        if n_dims > 1:
            wanted = np.append(wanted, correlation)
        inside = (table["lower"] <= wanted) & (wanted <= table["upper"])
        for kind, found in covered.items():
            chosen = np.char.startswith(table["parameter"], kind) & table["free"]
            found.append(inside[chosen].mean() if chosen.any() else np.nan)
        estimates.append(fit.slopes[q > 0])
    seconds = (time.process_time() - start) / replications
    bias = np.mean(estimates, axis=0) / slopes[q > 0] - 1.0
    return bias, {k: np.mean(v) for k, v in covered.items()}, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=200)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| respondents x items, D | mean bias of slopes | coverage of slopes | of "
        "intercepts | of the correlation | CPU s a fit |",
        "|---|---|---|---|---|---|",
    ]
    for n, n_items, n_dims in ((2000, 40, 2), (500, 20, 1)):
        bias, covered, seconds = one_design(n, n_items, n_dims, args.replications)
        correlation = covered["correlation"]
        lines.append(
            f"| {n:,} x {n_items}, {n_dims} | {100 * bias.mean():+.2f}% | "
            f"{100 * covered['slope']:.1f}% | {100 * covered['intercept']:.1f}% | "
            f"{'' if np.isnan(correlation) else f'{100 * correlation:.1f}%'} | "
            f"{seconds:.2f} |"
        )
        print(lines[-1], flush=True)
    text = (
        "# Bias and coverage of exact fits\n\n"
        "Made by `benchmarks/exact_simulation.py` with "
        f"{args.replications} replications; intervals are 95% Wald intervals.\n\n"
        + "\n".join(lines)
        + "\n"
    )
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
