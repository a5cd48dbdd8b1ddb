"""The command `crossval`."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

import sklearn_mirt
from sklearn_mirt.cli.options import GuardFormulas, Jobs
from sklearn_mirt.cli.printing import Answer, Part, if_interrupted, records, table_of
from sklearn_mirt.cli.progress import step_bar
from sklearn_mirt.cli.reading import Source
from sklearn_mirt.data.files.write import write_table

_ONE, _EACH = "1-d, one for all", "1-d, one per group"
_CATEGORY, _EACH_CATEGORY = "respondent x category mean", "1-d, one per category"
_COSTLY = (_ONE, _EACH, _EACH_CATEGORY)


def crossval(
    source: Source,
    dims: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Number of dimensions; repeat it to compare several."),
    ] = None,
    baselines: Annotated[
        Literal["all", "cheap"],
        typer.Option(help="BenchMIRT's, or those that need no model of their own."),
    ] = "all",
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 10,
    item_filter: Annotated[
        bool, typer.Option(help="Leave out items outside (0.05, 0.95) in training.")
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for finished folds (default NAME-crossval)."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the folds in the folder.")
    ] = False,
    guard_formulas: GuardFormulas = False,
    jobs: Jobs = None,
) -> Answer:
    """Predict held-out cells: BenchMIRT's ten folds and its baselines.

    Every finished fit is kept; after an interruption --resume goes on from there and
    ends with the same table.

    Example: sklearn-mirt crossval scores.csv.gz --items items.csv --dims 1 --dims 2
    """
    out = out or Path(f"{source.name}-crossval")
    _check_folder(out, resume)
    with if_interrupted(f"interrupted; what is finished is in {out}, --resume goes on"):
        loaded, table = source.read()
        validation = _validated(
            loaded.data,
            groups=source.groups(table),
            **_estimators(dims or [2], table, source.group_column, jobs, baselines),
            n_folds=folds,
            item_filter=item_filter,
            folder=out,
        )
    by_fold, micro = validation.by_fold(), validation.table()
    for name, frame in {"by_fold": by_fold, "table": micro.reset_index()}.items():
        path = out / f"{name}.csv"
        write_table(frame, path, force=True, guard_formulas=guard_formulas)
    macro = validation.table("macro mean")
    answer = {"folds": folds, "notes": list(loaded.notes)}
    answer |= {"micro": records(micro), "macro": records(macro)}
    parts: list[Part] = [Text(f"all cells, mean of {folds} folds"), table_of(micro)]
    if table is not None:
        parts += ["", Text(f"mean over {source.group_column}s"), table_of(macro)]
    parts += [f"wrote table.csv, by_fold.csv to {out}"]
    return Answer(answer, parts, loaded.notes)


def _check_folder(out: Path, resume: bool) -> None:
    """Refuse a folder in use before anything is computed."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not resume:
        raise typer.BadParameter(
            f"{out} is there already; --resume goes on with it", param_hint="--out"
        )


def _validated(data, estimators, **options):
    """Return the finished cross-validation, run with a progress bar."""
    from sklearn_mirt.metrics.cross_validation import CellCrossValidation

    validation = CellCrossValidation(data, estimators, **options)
    with step_bar("cross-validating", len(validation)) as report:
        validation.run(report)
    return validation


def _estimators(dims, table, group_column, jobs, baselines) -> dict:
    """Return estimators by name, and the groups of those with groups of their own.

    BenchMIRT's baselines: mean scores by model, by model and category, by model and
    benchmark; one-dimensional models, one for all and one per category.
    """
    from sklearn_mirt.metrics.cross_validation import GroupwiseClassifier

    found = {
        "respondent mean": sklearn_mirt.MeanScoreClassifier(),
        "respondent x group mean": sklearn_mirt.GroupMeanScoreClassifier(),
        "additive": sklearn_mirt.AdditiveClassifier(),
    }
    others = {}
    one = sklearn_mirt.MIRTClassifier(1, n_jobs=jobs)
    if table is not None and "category" in table and group_column != "category":
        category = table["category"].fillna("none")
        found[_CATEGORY] = sklearn_mirt.GroupMeanScoreClassifier()
        found[_EACH_CATEGORY] = GroupwiseClassifier(one)
        others = dict.fromkeys((_CATEGORY, _EACH_CATEGORY), category)
    elif table is not None:
        found[_EACH] = GroupwiseClassifier(one)
    if 1 not in dims:
        found[_ONE] = one
    for d in dict.fromkeys(dims):
        name = f"MIRT, {d} dimension{'s' if d > 1 else ''}"
        found[name] = sklearn_mirt.MIRTClassifier(d, n_jobs=jobs)
    if baselines == "cheap":
        found = {n: e for n, e in found.items() if n not in _COSTLY}
    others = {n: groups for n, groups in others.items() if n in found}
    return {"estimators": found, "other_groups": others}
