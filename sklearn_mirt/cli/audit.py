"""The command `audit`."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

import sklearn_mirt
from sklearn_mirt.audit.folder import write_audit
from sklearn_mirt.cli.options import Model, Seed, Writing
from sklearn_mirt.cli.printing import Answer, if_interrupted, records
from sklearn_mirt.cli.progress import fit_bar
from sklearn_mirt.cli.reading import Source
from sklearn_mirt.data.files.kept_results import is_kept_folder


@dataclass(frozen=True)
class AuditOptions(Model):
    """The model of an audit, and its fits beyond the first."""

    seed: Seed = 0
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Bootstrap replicates, for ranks with intervals.")
    ] = 0
    null: Annotated[
        int, typer.Option(min=0, help="Repeats on permuted answers, as a control.")
    ] = 0
    held_out: Annotated[
        float,
        typer.Option(
            min=0, max=0.9, help="Share of answers held out and predicted; 0 for none."
        ),
    ] = 0.1

    def parameters(self) -> dict:
        """Return the parameters of the estimator."""
        parameters = super().parameters()
        n_jobs = parameters.pop("n_jobs")
        return {**parameters, "random_state": self.seed, "n_jobs": n_jobs}

    def extras(self) -> dict:
        """Return the sizes of the other fits that are wanted."""
        extras = {
            "n_bootstrap": self.bootstrap,
            "n_null": self.null,
            "held_out": self.held_out,
        }
        return {name: size for name, size in extras.items() if size}

    def about(self) -> dict:
        """Return the settings, for the record of a run."""
        return {**self.parameters(), **self.extras()}


def audit(
    source: Source,
    options: AuditOptions,
    writing: Writing,
    subset_column: Annotated[
        str, typer.Option(help="Column of the item table that names the subset.")
    ] = "subset",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report, tables, pictures (default NAME-audit)."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with an interrupted bootstrap."),
    ] = False,
) -> Answer:
    """Fit a matrix of scores and say what each benchmark measures.

    Finished replicates of --bootstrap are kept beside the folder until all are there;
    after an interruption --resume goes on from there.

    Example: sklearn-mirt audit scores.csv.gz --items items.csv --dims 2
    """
    out = out or Path(f"{source.name}-audit")
    check_folder(out, writing.force or resume)
    loaded, table = source.read()
    if table is not None:
        table = _with_known_names(table, source, subset_column)
    kept = None
    if options.bootstrap:
        kept = out.with_name(f"{out.name}-unfinished")
        _make_ready(kept, resume)
    found = fitted_audit(loaded.data, table, options, kept)
    about = {
        "command": "audit",
        **source.about(),
        "layout": loaded.layout,
        "subset_column": subset_column,
        **options.about(),
    }
    guard = writing.guard_formulas
    answer = reported(found, out, about, list(loaded.notes), guard)
    if kept and found.bootstrap.n_replicates == options.bootstrap:
        _make_ready(kept, resume=False)
    return answer


def check_folder(out: Path, force: bool) -> None:
    """Refuse a folder in use before anything is computed."""
    reason = None
    if out.exists() and not out.is_dir():
        reason = f"{out} is a file, not a folder"
    elif out.is_dir() and any(out.iterdir()) and not force:
        reason = f"the folder {out} is not empty; --force replaces the files in it"
    if reason is not None:
        raise typer.BadParameter(reason, param_hint="--out")


def _make_ready(kept: Path, resume: bool) -> None:
    """Remove replicates kept by an earlier run, unless this one resumes it."""
    if kept.exists() and not is_kept_folder(kept):
        raise FileExistsError(f"{kept} is there, and is no folder of replicates")
    if kept.exists() and not resume:
        shutil.rmtree(kept)


def _with_known_names(table, source: Source, subset: str):
    """Return the item table with its group columns under the names the audit knows."""
    named = {"benchmark": source.groups(table)}
    if subset in table:
        named["subset"] = table[subset]
    elif subset != "subset":
        raise ValueError(
            f"{source.items}: there is no column {subset!r} (--subset-column)"
        )
    return table.drop(columns=["benchmark", "subset"], errors="ignore").assign(**named)


def fitted_audit(data, items, options: AuditOptions, kept: Path | None = None):
    """Return the audit, made with a progress bar; replicates are kept in a folder."""
    estimator = sklearn_mirt.MIRTTransformer(**options.parameters())
    more, left = options.extras(), "interrupted"
    if kept is not None:
        more["keep"] = kept
        left = f"interrupted; finished replicates are in {kept}, --resume goes on"
    with if_interrupted(left), fit_bar(estimator, data) as on_replicate:
        if more:
            more["progress"] = on_replicate
        return sklearn_mirt.audit_benchmarks(
            data, items=items, estimator=estimator, **more
        )


def reported(
    audit, out: Path, about: dict, notes: list[str], guard_formulas: bool = False
) -> Answer:
    """Write an audit into its folder and return what the command prints."""
    from sklearn_mirt.audit.terminal import benchmark_table

    about = {"sklearn_mirt": sklearn_mirt.__version__, **about, "notes": notes}
    written = write_audit(audit, out, about, guard_formulas=guard_formulas)
    end = [f"wrote {', '.join(written)} to {out}"]
    if "report.html" in written:
        end += [f"open {out / 'report.html'} in a browser; it needs no network"]
    findings = [Text(f"- {finding}") for finding in audit.findings]
    answer = {
        "about": about,
        "benchmarks": records(audit.benchmarks.rename_axis(index="benchmark")),
        "findings": list(audit.findings),
    }
    return Answer(answer, [benchmark_table(audit.benchmarks), *findings, *end], notes)
