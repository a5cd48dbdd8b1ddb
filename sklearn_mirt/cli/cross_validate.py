"""The command `crossval`."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sklearn_mirt.cli import common, progress
from sklearn_mirt.cli.common import Layout


class Baselines(str, Enum):  # noqa: UP042 - typer shows the members of a str enumeration
    """Which baselines stand beside the model."""

    all = "all"
    cheap = "cheap"


def crossval(
    responses: common.Responses,
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    group_column: common.Group = "benchmark",
    dims: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Number of dimensions; repeat it to compare several."),
    ] = None,
    baselines: Annotated[
        Baselines,
        typer.Option(help="BenchMIRT's, or those that need no model of their own."),
    ] = Baselines.all,
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
    guard_formulas: common.GuardFormulas = False,
    jobs: common.Jobs = None,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Predict held-out cells: BenchMIRT's ten folds and its baselines.

    Every finished fit is kept; after an interruption --resume goes on from there and
    ends with the same table.

    Example: sklearn-mirt crossval scores.csv.gz --items items.csv --dims 1 --dims 2
    """
    source = common.Source(
        responses, items, layout, metric, filter, task, errors, aggregate, group_column
    )
    out = out or Path(f"{source.name}-crossval")
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not resume:
        raise typer.BadParameter(
            f"{out} is there already; --resume goes on with it", param_hint="--out"
        )
    interrupted = f"interrupted; what is finished is in {out}, --resume goes on"
    with common.one_line_errors(debug, interrupted):
        from sklearn_mirt.data.files.write import write_table
        from sklearn_mirt.metrics.cross_validation import CellCrossValidation

        loaded, table = source.read()
        groups = source.groups(table)
        estimators, others = _estimators(dims or [2], table, group_column, jobs)
        if baselines is Baselines.cheap:
            estimators = {n: e for n, e in estimators.items() if n not in _COSTLY}
        validation = CellCrossValidation(
            loaded.data,
            estimators,
            groups=groups,
            other_groups={n: g for n, g in others.items() if n in estimators},
            n_folds=folds,
            item_filter=item_filter,
            folder=out,
        )
        with progress.step_bar("cross-validating", len(validation)) as report:
            validation.run(report)
        micro = validation.table()
        tables = {"by_fold": validation.by_fold(), "table": micro.reset_index()}
        for name, frame in tables.items():
            path = out / f"{name}.csv"
            write_table(frame, path, force=True, guard_formulas=guard_formulas)
        macro = validation.table("macro mean")
        if as_json:
            answer = {"folds": folds, "notes": list(loaded.notes)}
            answer["micro"], answer["macro"] = (
                common.records(micro),
                common.records(macro),
            )
            common.print_json(answer)
            return
        common.print_notes(loaded.notes)
        common.print_frame(micro, title=f"all cells, mean of {folds} folds")
        if items is not None or loaded.items is not None:
            typer.echo("")
            common.print_frame(macro, title=f"mean over {group_column}s")
        typer.echo(f"wrote table.csv, by_fold.csv to {out}")


_ONE, _EACH = "1-d, one for all", "1-d, one per group"
_CATEGORY, _EACH_CATEGORY = "respondent x category mean", "1-d, one per category"
_COSTLY = (_ONE, _EACH, _EACH_CATEGORY)


def _estimators(dims: list[int], table, group_column: str, jobs):
    """Return estimators by name, and the groups of those with groups of their own.

    BenchMIRT's baselines: mean scores by model, by model and category, by model and
    benchmark; one-dimensional models, one for all and one per category.
    """
    from sklearn_mirt import (
        AdditiveClassifier,
        GroupMeanScoreClassifier,
        MeanScoreClassifier,
        MIRTClassifier,
    )
    from sklearn_mirt.metrics.cross_validation import GroupwiseClassifier

    found = {
        "respondent mean": MeanScoreClassifier(),
        "respondent x group mean": GroupMeanScoreClassifier(),
        "additive": AdditiveClassifier(),
    }
    others = {}
    one = MIRTClassifier(1, n_jobs=jobs)
    if table is not None and "category" in table and group_column != "category":
        category = table["category"].fillna("none")
        found[_CATEGORY] = GroupMeanScoreClassifier()
        found[_EACH_CATEGORY] = GroupwiseClassifier(one)
        others = dict.fromkeys((_CATEGORY, _EACH_CATEGORY), category)
    elif table is not None:
        found[_EACH] = GroupwiseClassifier(one)
    if 1 not in dims:
        found[_ONE] = one
    for d in dict.fromkeys(dims):
        words = f"MIRT, {d} dimension{'s' if d > 1 else ''}"
        found[words] = MIRTClassifier(d, n_jobs=jobs)
    return found, others
