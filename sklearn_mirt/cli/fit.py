"""The commands `fit` and `dims`."""

from pathlib import Path
from typing import Annotated

import typer

from sklearn_mirt.cli import common, progress
from sklearn_mirt.cli.common import Layout

_PARQUET_FROM = 5000


def fit(
    responses: common.Responses,
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    group_column: common.Group = "benchmark",
    dims: common.Dims = 2,
    rotation: common.Rotation = "oblimin",
    guessing: Annotated[
        float, typer.Option(min=0, max=0.99, help="Known floor of all items.")
    ] = 0.0,
    out: Annotated[
        Path | None,
        typer.Option(help="Item bank, .json or .parquet (default NAME-bank)."),
    ] = None,
    abilities: Annotated[
        Path | None, typer.Option(help="Also write a table of abilities here.")
    ] = None,
    force: common.Force = False,
    guard_formulas: common.GuardFormulas = False,
    jobs: common.Jobs = None,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Fit the model and save its items as a bank.

    Example: sklearn-mirt fit scores.csv.gz --items items.csv --dims 2 --out bank.json
    """
    source = common.Source(
        responses, items, layout, metric, filter, task, errors, aggregate, group_column
    )
    if out is not None:
        common.check_out(out, force)
    if abilities is not None:
        common.check_out(abilities, force, "--abilities")
    with common.one_line_errors(debug):
        from sklearn_mirt import MIRTTransformer, save_item_bank
        from sklearn_mirt.data.files.write import write_table

        loaded, table = source.read()
        if out is None:
            small = loaded.data.n_items < _PARQUET_FROM
            out = Path(f"{source.name}-bank.{'json' if small else 'parquet'}")
            common.check_out(out, force)
        estimator = MIRTTransformer(
            dims,
            rotation=common.rotation_of(rotation),
            item_groups=source.groups(table),
            guessing=guessing or None,
            n_jobs=jobs,
        )
        common.fit_with_bar(estimator, loaded.data)
        training = {"source": source.about(), "notes": list(loaded.notes)}
        save_item_bank(estimator, out, training=training, force=force)
        if abilities is not None:
            table = ability_table(estimator)
            write_table(table, abilities, force=force, guard_formulas=guard_formulas)
        answer = _summary(estimator, out)
        if as_json:
            common.print_json(answer)
            return
        common.print_notes(loaded.notes)
        _show(answer, estimator)


def ability_table(estimator):
    """Return abilities and their standard errors by respondent, as a DataFrame."""
    import pandas as pd

    posterior = estimator.ability_posteriors_
    columns = {"respondent": [str(name) for name in posterior.ids]}
    for k in range(posterior.mean.shape[1]):
        columns[f"dim{k + 1}"] = posterior.mean[:, k]
        columns[f"se_dim{k + 1}"] = posterior.standard_errors[:, k]
    return pd.DataFrame(columns)


def _summary(estimator, out) -> dict:
    return {
        "bank": str(out),
        "n_respondents": len(estimator.respondents_),
        "n_items": len(estimator.items_),
        "n_dims": estimator.slopes_.shape[1],
        "solver": estimator.solver_,
        "n_iter": int(estimator.n_iter_),
        "converged": bool(estimator.converged_),
        "ability_correlation": estimator.ability_correlation_.tolist(),
    }


def _show(answer: dict, estimator) -> None:
    state = "converged" if answer["converged"] else "NOT converged"
    typer.echo(
        f"{answer['solver']} fit of {answer['n_respondents']:,} respondents x "
        f"{answer['n_items']:,} items in {answer['n_dims']} dimensions: {state} after "
        f"{answer['n_iter']} passes"
    )
    correlation = estimator.ability_correlation_
    if len(correlation) > 1:
        pairs = [
            f"dim{i + 1} and dim{j + 1} {correlation[i, j]:+.2f}"
            for i in range(len(correlation))
            for j in range(i)
        ]
        typer.echo(f"correlations of abilities: {', '.join(pairs)}")
    typer.echo(f"wrote {answer['bank']}")


def dims(
    responses: common.Responses,
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    group_column: common.Group = "benchmark",
    most: Annotated[int, typer.Option(min=1, help="Largest number to try.")] = 6,
    out: Annotated[Path | None, typer.Option(help="Also write the table here.")] = None,
    force: common.Force = False,
    seed: common.Seed = 0,
    jobs: common.Jobs = None,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Recommend a number of dimensions, with what speaks for each.

    Example: sklearn-mirt dims scores.csv.gz --items items.csv --most 4
    """
    source = common.Source(
        responses, items, layout, metric, filter, task, errors, aggregate, group_column
    )
    if out is not None:
        common.check_out(out, force)
    with common.one_line_errors(debug):
        from sklearn_mirt import choose_dimensions
        from sklearn_mirt.data.files.write import write_table

        loaded, table = source.read()
        with progress.step_bar("trying numbers of dimensions", most) as report:
            choice = choose_dimensions(
                loaded.data,
                n_dims=range(1, most + 1),
                item_groups=source.groups(table),
                random_state=seed,
                n_jobs=jobs,
                progress=lambda done, total: report(done, f"dimensions tried: {done}"),
            )
        if out is not None:
            write_table(choice.table.reset_index(), out, force=force)
        if as_json:
            common.print_json(
                {
                    "recommended": choice.recommended,
                    "held_out": choice.by,
                    "rule": choice.rule,
                    "table": common.records(choice.table),
                }
            )
            return
        common.print_notes(loaded.notes)
        common.print_frame(choice.table)
        typer.echo(f"{choice.recommended} dimensions: {choice.rule}")
