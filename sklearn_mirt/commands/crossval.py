"""The command `crossval`."""

from pathlib import Path
from typing import Annotated

import typer

from sklearn_mirt import console
from sklearn_mirt.commands import common
from sklearn_mirt.commands.common import Layout


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
        from sklearn_mirt.crossvalidation import CellCrossValidation
        from sklearn_mirt.writers import write_table

        loaded, table = source.read()
        validation = CellCrossValidation(
            loaded.data,
            _estimators(dims or [2], jobs),
            groups=source.groups(table),
            n_folds=folds,
            item_filter=item_filter,
            folder=out,
        )
        with console.step_bar("cross-validating", len(validation)) as report:
            validation.run(report)
        micro = validation.table()
        write_table(validation.by_fold(), out / "by_fold.csv", force=True)
        write_table(micro.reset_index(), out / "table.csv", force=True)
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


def _estimators(dims: list[int], jobs) -> dict:
    from sklearn_mirt import (
        AdditiveClassifier,
        GroupMeanScoreClassifier,
        MeanScoreClassifier,
        MIRTClassifier,
    )

    return {
        "respondent mean": MeanScoreClassifier(),
        "respondent x group mean": GroupMeanScoreClassifier(),
        "additive": AdditiveClassifier(),
        **{
            f"MIRT, {d} dimension{'s' if d > 1 else ''}": MIRTClassifier(d, n_jobs=jobs)
            for d in dict.fromkeys(dims)
        },
    }
