"""The commands `demo` and `audit`."""

import json
import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sklearn_mirt import __version__
from sklearn_mirt.audit.folder import refuse_overwriting, write_audit
from sklearn_mirt.audit.terminal import benchmark_table
from sklearn_mirt.cli import common, progress
from sklearn_mirt.cli.common import Layout
from sklearn_mirt.data.files.kept_results import is_kept_folder

Bootstrap = Annotated[
    int, typer.Option(min=0, help="Bootstrap replicates, for ranks with intervals.")
]
Null = Annotated[
    int, typer.Option(min=0, help="Repeats on permuted answers, as a control.")
]
HeldOut = Annotated[
    float,
    typer.Option(
        min=0, max=0.9, help="Share of answers held out and predicted; 0 for none."
    ),
]


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for report, tables, pictures.")
    ] = Path("demo-audit"),
    dims: common.Dims = 2,
    rotation: common.Rotation = "oblimin",
    seed: common.Seed = 0,
    jobs: common.Jobs = None,
    bootstrap: Bootstrap = 0,
    null: Null = 0,
    held_out: HeldOut = 0.1,
    force: common.Force = False,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Audit a SYNTHETIC suite of 16 benchmarks, and compare with the truth.

    Example: sklearn-mirt demo --out demo-audit
    """
    _check_out(out, force)
    with common.one_line_errors(debug):
        from sklearn_mirt import ResponseData
        from sklearn_mirt.datasets import make_benchmark_suite

        suite = make_benchmark_suite(random_state=seed)
        data = ResponseData.from_wide(suite.responses)
        items = suite.item_table.set_index("item_id")
        options = _options(dims, rotation, seed, jobs)
        extras = _extras(bootstrap, null, held_out)
        audit = _fit(data, items, options, extras)
        notes = ["the answers are synthetic: no real model answered any real prompt"]
        if dims == suite.abilities.shape[1]:
            notes.append(progress.compare_with_truth(audit.benchmarks, suite))
        about = {"command": "demo", "synthetic": True, **options, **extras}
        _report(audit, notes, about, out, as_json)


def audit(
    responses: common.Responses,
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    dims: common.Dims = 2,
    group_column: common.Group = "benchmark",
    subset_column: Annotated[
        str, typer.Option(help="Column of the item table that names the subset.")
    ] = "subset",
    rotation: common.Rotation = "oblimin",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report, tables, pictures (default NAME-audit)."),
    ] = None,
    force: common.Force = False,
    guard_formulas: common.GuardFormulas = False,
    seed: common.Seed = 0,
    jobs: common.Jobs = None,
    bootstrap: Bootstrap = 0,
    null: Null = 0,
    held_out: HeldOut = 0.1,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with an interrupted bootstrap."),
    ] = False,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Fit a matrix of scores and say what each benchmark measures.

    Finished replicates of --bootstrap are kept beside the folder until all are there;
    after an interruption --resume goes on from there.

    Example: sklearn-mirt audit scores.csv.gz --items items.csv --dims 2
    """
    source = common.Source(
        responses, items, layout, metric, filter, task, errors, aggregate, group_column
    )
    out = out or Path(f"{source.name}-audit")
    _check_out(out, force or resume)
    kept = out.with_name(f"{out.name}-unfinished")
    interrupted = f"interrupted; finished replicates are in {kept}, --resume goes on"
    with common.one_line_errors(debug, interrupted if bootstrap else "interrupted"):
        loaded, table = source.read()
        if table is not None:
            table = _name_groups(source, table, subset_column)
        options = _options(dims, rotation, seed, jobs)
        extras = _extras(bootstrap, null, held_out)
        keep = {}
        if bootstrap:
            _make_ready(kept, resume)
            keep["keep"] = kept
        result = _fit(loaded.data, table, options, {**extras, **keep})
        about = {
            "command": "audit",
            **source.about(),
            "layout": loaded.layout,
            "subset_column": subset_column,
            **options,
            **extras,
        }
        _report(result, list(loaded.notes), about, out, as_json, guard_formulas)
        if bootstrap and result.bootstrap.n_replicates == bootstrap:
            _make_ready(kept, resume=False)


# ---- steps


def _make_ready(kept: Path, resume: bool) -> None:
    """Remove replicates kept by an earlier run, unless this one goes on with them."""
    if kept.exists() and not is_kept_folder(kept):
        raise FileExistsError(f"{kept} is there, and is no folder of replicates")
    if kept.exists() and not resume:
        shutil.rmtree(kept)


def _check_out(out: Path, force: bool) -> None:
    """Refuse a folder in use before anything is computed."""
    try:
        refuse_overwriting(out, force)
    except FileExistsError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None


def _options(dims: int, rotation: str, seed: int, jobs: int | None) -> dict:
    return {
        "n_dims": dims,
        "rotation": common.rotation_of(rotation),
        "random_state": seed,
        "n_jobs": jobs,
    }


def _name_groups(source, table, subset: str):
    """Return the item table with its group columns under the names the audit knows."""
    groups = source.groups(table)
    if subset not in table and subset != "subset":
        raise ValueError(
            f"{source.items}: there is no column {subset!r} (--subset-column)"
        )
    named = {"benchmark": groups}
    if subset in table:
        named["subset"] = table[subset]
    return table.drop(columns=["benchmark", "subset"], errors="ignore").assign(**named)


def _extras(bootstrap: int, null: int, held_out: float) -> dict:
    wanted = {"n_bootstrap": bootstrap, "n_null": null, "held_out": held_out}
    return {name: number for name, number in wanted.items() if number}


def _fit(data, items, options, extras):
    """Audit with a progress bar on the terminal; none when redirected."""
    from sklearn_mirt import MIRTTransformer, audit_benchmarks

    estimator = MIRTTransformer(**options)
    size = f"{data.n_respondents:,} respondents x {data.n_items:,} items"
    with progress.progress_bar(f"fitting {size}") as passes:
        if hasattr(estimator, "set_callbacks"):  # scikit-learn 1.9
            estimator.set_callbacks(passes)
        if extras:
            extras = {**extras, "progress": passes.on_replicate}
        return audit_benchmarks(data, items=items, estimator=estimator, **extras)


def _report(
    audit,
    notes: list[str],
    about: dict,
    out: Path,
    as_json: bool,
    guard_formulas: bool = False,
) -> None:
    about = {"sklearn_mirt": __version__, **about, "notes": notes}
    written = write_audit(audit, out, about, guard_formulas=guard_formulas)
    if as_json:
        typer.echo(json.dumps(progress.as_json(audit, about), indent=2))
        return
    screen = Console()
    for note in notes:
        screen.print(escape(note), style="dim", highlight=False, soft_wrap=True)
    screen.print(benchmark_table(audit.benchmarks))
    for finding in audit.findings:
        screen.print(f"- {escape(finding)}", highlight=False, soft_wrap=True)
    typer.echo(f"wrote {', '.join(written)} to {out}")
    if "report.html" in written:
        typer.echo(f"open {out / 'report.html'} in a browser; it needs no network")
