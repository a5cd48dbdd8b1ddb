"""The command `demo`: an audit of simulated answers, compared with the truth."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import sklearn_mirt
from sklearn_mirt.cli.audit import AuditOptions, check_folder, fitted_audit, reported
from sklearn_mirt.cli.options import Force
from sklearn_mirt.cli.printing import Answer


def demo(
    options: AuditOptions,
    out: Annotated[
        Path, typer.Option(help="Folder for report, tables, pictures.")
    ] = Path("demo-audit"),
    force: Force = False,
) -> Answer:
    """Audit a SYNTHETIC suite of 16 benchmarks, and compare with the truth.

    Example: sklearn-mirt demo --out demo-audit
    """
    check_folder(out, force)
    suite = sklearn_mirt.datasets.make_benchmark_suite(random_state=options.seed)
    data = sklearn_mirt.ResponseData.from_wide(suite.responses)
    audit = fitted_audit(data, suite.item_table.set_index("item_id"), options)
    notes = ["the answers are synthetic: no real model answered any real prompt"]
    if options.dims == suite.abilities.shape[1]:
        notes.append(compare_with_truth(audit.benchmarks, suite))
    about = {"command": "demo", "synthetic": True, **options.about()}
    return reported(audit, out, about, notes)


def compare_with_truth(benchmarks, suite) -> str:
    """Say how near the fitted correlations are to those of a simulated suite.

    The order of dimensions is arbitrary: each true one is matched with the fitted one
    that is nearest to it over all benchmarks.
    """
    from scipy.optimize import linear_sum_assignment

    truth = suite.correlations
    fitted = benchmarks.loc[
        truth.index, [c for c in benchmarks.columns if c.startswith("r_")]
    ].to_numpy(dtype=float)
    true = truth.to_numpy(dtype=float)
    distance = np.abs(true[:, :, None] - fitted[:, None, :]).sum(axis=0)
    fitted = fitted[:, linear_sum_assignment(distance)[1]]
    decided = np.array([suite.dominant_dimension[b] is not None for b in truth.index])
    right = np.argmax(np.abs(fitted), axis=1) == np.argmax(np.abs(true), axis=1)
    n_right = (right & decided).sum()
    return (
        f"against the known truth: dominant dimension right for {n_right} of "
        f"{decided.sum()} benchmarks that have one, correlations off by "
        f"{np.abs(fitted - true).max():.3f} at most"
    )
