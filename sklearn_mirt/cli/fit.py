"""The commands `fit` and `dims`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import sklearn_mirt
from sklearn_mirt.cli.options import (
    Force,
    Jobs,
    Model,
    Seed,
    Table,
    Writing,
    check_out,
)
from sklearn_mirt.cli.printing import Answer, records, table_of
from sklearn_mirt.cli.progress import fit_bar, step_bar
from sklearn_mirt.cli.reading import Source
from sklearn_mirt.data.files.write import write_table
from sklearn_mirt.models.abilities import dimension_names

_PARQUET_FROM = 5000


def fit(
    source: Source,
    model: Model,
    writing: Writing,
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
) -> Answer:
    """Fit the model and save its items as a bank.

    Example: sklearn-mirt fit scores.csv.gz --items items.csv --dims 2 --out bank.json
    """
    check_out(out, writing.force)
    check_out(abilities, writing.force, "--abilities")
    loaded, table = source.read()
    if out is None:
        small = loaded.data.n_items < _PARQUET_FROM
        out = Path(f"{source.name}-bank.{'json' if small else 'parquet'}")
        check_out(out, writing.force)
    estimator = sklearn_mirt.MIRTTransformer(
        **model.parameters(),
        item_groups=source.groups(table),
        guessing=guessing or None,
    )
    with fit_bar(estimator, loaded.data):
        estimator.fit(loaded.data)
    training = {"source": source.about(), "notes": list(loaded.notes)}
    sklearn_mirt.save_item_bank(estimator, out, training=training, force=writing.force)
    if abilities is not None:
        frame = estimator.ability_posteriors_.to_frame()
        frame.index = frame.index.map(str)
        write_table(frame.reset_index(), abilities, **asdict(writing))
    answer = _summary(estimator, out)
    return Answer(answer, _sentences(answer), loaded.notes)


def _summary(estimator, out: Path) -> dict:
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


def _sentences(answer: dict) -> list[str]:
    state = "converged" if answer["converged"] else "NOT converged"
    fitted = (
        f"{answer['solver']} fit of {answer['n_respondents']:,} respondents x "
        f"{answer['n_items']:,} items in {answer['n_dims']} dimensions: {state} after "
        f"{answer['n_iter']} passes"
    )
    dims = dimension_names(answer["n_dims"])
    pairs = [
        f"{dims[i]} and {dims[j]} {correlation:+.2f}"
        for i, row in enumerate(answer["ability_correlation"])
        for j, correlation in enumerate(row[:i])
    ]
    correlations = [f"correlations of abilities: {', '.join(pairs)}"] if pairs else []
    return [fitted, *correlations, f"wrote {answer['bank']}"]


def dims(
    source: Source,
    most: Annotated[int, typer.Option(min=1, help="Largest number to try.")] = 6,
    out: Table = None,
    force: Force = False,
    seed: Seed = 0,
    jobs: Jobs = None,
) -> Answer:
    """Recommend a number of dimensions, with what speaks for each.

    Example: sklearn-mirt dims scores.csv.gz --items items.csv --most 4
    """
    check_out(out, force)
    loaded, table = source.read()
    with step_bar("trying numbers of dimensions", most) as report:
        choice = sklearn_mirt.choose_dimensions(
            loaded.data,
            n_dims=range(1, most + 1),
            item_groups=source.groups(table),
            random_state=seed,
            n_jobs=jobs,
            progress=lambda done, total: report(done, f"dimensions tried: {done}"),
        )
    if out is not None:
        write_table(choice.table.reset_index(), out, force=force)
    answer = {
        "recommended": choice.recommended,
        "held_out": choice.by,
        "rule": choice.rule,
        "table": records(choice.table),
    }
    found = f"{choice.recommended} dimensions: {choice.rule}"
    return Answer(answer, [table_of(choice.table), found], loaded.notes)
