"""The commands `demo` and `audit`: arguments in, calls of the public API, words out."""

import json
import warnings
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sklearn_mirt import __version__, console
from sklearn_mirt.output import refuse_overwriting, write_audit

app = typer.Typer(
    name="sklearn-mirt",
    help="What does each benchmark measure? Audits with item response theory.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Layout(str, Enum):  # noqa: UP042 - typer shows the members of a str enumeration
    """Layouts of a response file."""

    auto = "auto"
    wide = "wide"
    long = "long"
    items_as_rows = "items-as-rows"


Dims = Annotated[int, typer.Option(min=1, help="Number of ability dimensions.")]
Rotation = Annotated[
    str, typer.Option(help="oblimin, varimax, promax, ... or none for no rotation.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace files in an existing folder.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; all if -1.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error arose.")]
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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sklearn-mirt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Version."),
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for report, tables, pictures.")
    ] = Path("demo-audit"),
    dims: Dims = 2,
    rotation: Rotation = "oblimin",
    seed: Seed = 0,
    jobs: Jobs = None,
    bootstrap: Bootstrap = 0,
    null: Null = 0,
    held_out: HeldOut = 0.1,
    force: Force = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Audit a SYNTHETIC suite of 16 benchmarks, and compare with the truth."""
    _check_out(out, force)
    with _one_line_errors(debug):
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
            notes.append(console.compare_with_truth(audit.benchmarks, suite))
        about = {"command": "demo", "synthetic": True, **options, **extras}
        _report(audit, notes, about, out, as_json)


@app.command()
def audit(
    responses: Annotated[
        Path, typer.Argument(help="Scores: CSV, CSV.GZ, TSV or Parquet.")
    ],
    items: Annotated[
        Path | None, typer.Option(help="Item table: item id, benchmark, subset.")
    ] = None,
    layout: Annotated[
        Layout, typer.Option(help="Layout of the responses.")
    ] = Layout.auto,
    dims: Dims = 2,
    group_column: Annotated[
        str, typer.Option(help="Column of the item table that names the benchmark.")
    ] = "benchmark",
    subset_column: Annotated[
        str, typer.Option(help="Column of the item table that names the subset.")
    ] = "subset",
    rotation: Rotation = "oblimin",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for tables and pictures (default NAME-audit)."),
    ] = None,
    force: Force = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    bootstrap: Bootstrap = 0,
    null: Null = 0,
    held_out: HeldOut = 0.1,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Fit a matrix of scores and say what each benchmark measures."""
    if out is None:
        out = Path(f"{responses.name.partition('.')[0]}-audit")
    _check_out(out, force)
    with _one_line_errors(debug):
        from sklearn_mirt.files import read_items, read_responses

        table = None
        if items is not None:
            labels = ("benchmark", "subset", "category", "stated_dimension", "text")
            labels = (*labels, group_column, subset_column)
            table = read_items(items, labels=labels)
        loaded = read_responses(responses, layout=layout.value, items=table)
        if items is not None and table is not None:
            table = table.loc[loaded.data.items]
            table = _name_groups(items, table, group_column, subset_column)
        options = _options(dims, rotation, seed, jobs)
        extras = _extras(bootstrap, null, held_out)
        result = _fit(loaded.data, table, options, extras)
        about = {
            "command": "audit",
            "responses": str(responses),
            "items": None if items is None else str(items),
            "layout": loaded.layout,
            "group_column": group_column,
            "subset_column": subset_column,
            **options,
            **extras,
        }
        _report(result, list(loaded.notes), about, out, as_json)


# ---- steps


def _check_out(out: Path, force: bool) -> None:
    """Refuse a folder in use before anything is computed."""
    try:
        refuse_overwriting(out, force)
    except FileExistsError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None


def _options(dims: int, rotation: str, seed: int, jobs: int | None) -> dict:
    return {
        "n_dims": dims,
        "rotation": None if rotation == "none" else rotation,
        "random_state": seed,
        "n_jobs": jobs,
    }


def _name_groups(path: Path, table, group: str, subset: str):
    """Return the item table with its group columns under the names the audit knows."""
    if group not in table:
        raise ValueError(
            f"{path}: there is no column {group!r} to group items by; name one with "
            f"--group-column ({', '.join(map(str, table.columns))})"
        )
    unlabelled = table.index[table[group].isna()]
    if len(unlabelled):
        raise ValueError(
            f"{path}: item {unlabelled[0]!r} has no {group} ({len(unlabelled)} such "
            "items in all)"
        )
    if subset not in table and subset != "subset":
        raise ValueError(f"{path}: there is no column {subset!r} (--subset-column)")
    named = {"benchmark": table[group]}
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
    with console.progress_bar(f"fitting {size}") as passes:
        if hasattr(estimator, "set_callbacks"):  # scikit-learn 1.9
            estimator.set_callbacks(passes)
        if extras:
            extras = {**extras, "progress": passes.on_replicate}
        return audit_benchmarks(data, items=items, estimator=estimator, **extras)


def _report(audit, notes: list[str], about: dict, out: Path, as_json: bool) -> None:
    about = {"sklearn_mirt": __version__, **about, "notes": notes}
    written = write_audit(audit, out, about)
    if as_json:
        typer.echo(json.dumps(console.as_json(audit, about), indent=2))
        return
    screen = Console()
    for note in notes:
        screen.print(escape(note), style="dim", highlight=False, soft_wrap=True)
    screen.print(console.benchmark_table(audit.benchmarks))
    for finding in audit.findings:
        screen.print(f"- {escape(finding)}", highlight=False, soft_wrap=True)
    typer.echo(f"wrote {', '.join(written)} to {out}")


@contextmanager
def _one_line_errors(debug: bool):
    """Turn warnings and errors into one line each; exit with 1 after an error."""
    screen = Console(stderr=True, highlight=False, soft_wrap=True)

    def show(message, category, filename, lineno, file=None, line=None):
        screen.print(f"warning: {escape(' '.join(str(message).split()))}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        except (ValueError, OSError, MemoryError, ImportError) as error:
            if debug:
                raise
            text = " ".join(str(error).split()) or type(error).__name__
            screen.print(f"error: {escape(text)}")
            raise typer.Exit(1) from None
        except Exception as error:
            if debug or isinstance(error, typer.Exit):
                raise
            screen.print(
                f"error: {escape(f'{type(error).__name__}: {error}')} (this is a "
                "defect of sklearn-mirt; --debug shows where)"
            )
            raise typer.Exit(1) from None
