"""The commands `describe` and `convert`."""

from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sklearn_mirt.cli import common
from sklearn_mirt.cli.common import Layout

_SETS = {
    "respondents_without_answers": "respondents without answers",
    "items_without_answers": "items without answers",
    "all_right_items": "items that all got right",
    "all_wrong_items": "items that all got wrong",
    "near_constant_items": "other items with a mean outside (0.05, 0.95)",
    "duplicate_respondents": "respondents that answer like an earlier one",
    "duplicate_items": "items answered like an earlier one",
}
_SHORT = {
    "n_items": "items",
    "share_missing": "missing",
    "mean_score": "mean",
    "low_respondent": "lowest",
    "high_respondent": "highest",
    "constant_items": "constant",
}


class Target(str, Enum):  # noqa: UP042 - typer shows the members of a str enumeration
    """What a file can be converted to."""

    long = "long"
    wide = "wide"
    items_as_rows = "items-as-rows"
    py_irt = "py-irt"
    bank = "bank"
    r_mirt = "r-mirt"


def describe(
    responses: common.Responses,
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    group_column: common.Group = "benchmark",
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Say what is in a file: counts, gaps, constant items, copies, separate parts.

    Item banks are described too.

    Example: sklearn-mirt describe scores.csv.gz --items items.csv
    """
    source = common.Source(
        responses, items, layout, metric, filter, task, errors, aggregate, group_column
    )
    with common.one_line_errors(debug):
        bank = load_bank(responses)
        if bank is not None:
            _show_bank(bank, as_json)
            return
        from sklearn_mirt.data.description import describe_groups, describe_responses

        loaded, table = source.read()
        summary = describe_responses(loaded.data)
        has_groups = table is not None and group_column in table
        groups = source.groups(table) if has_groups else None
        by_group = None if groups is None else describe_groups(loaded.data, groups)
        runs = [] if loaded.provenance is None else loaded.provenance.to_dict("records")
        if as_json:
            answer = {"layout": loaded.layout, "notes": list(loaded.notes), **summary}
            answer["groups"] = [] if by_group is None else common.records(by_group)
            common.print_json({**answer, "runs": runs, "n_errors": loaded.n_errors})
            return
        common.print_notes(loaded.notes)
        _show(summary)
        if by_group is not None:
            typer.echo("")
            shown = by_group.rename(columns=_SHORT).rename_axis(group_column)
            common.print_frame(shown, digits=3)


def load_bank(paths: list[Path]):
    """Return the item bank at the only path, None if there is something else."""
    from sklearn_mirt.models.item_bank_file import is_item_bank, load_item_bank

    if len(paths) != 1 or not is_item_bank(paths[0]):
        return None
    return load_item_bank(paths[0])


def _show(summary: dict) -> None:
    typer.echo(
        f"{summary['n_respondents']:,} respondents x {summary['n_items']:,} items, "
        f"{summary['n_answers']:,} answers ({summary['share_missing']:.2%} missing)"
    )
    repeats = ", means of repeats" if summary["weighted"] else ""
    typer.echo(f"scores {summary['kinds']}{repeats}, mean {summary['mean_score']:.4f}")
    for name in ("respondent_means", "item_means"):
        if summary[name]:
            five = "  ".join(f"{value:.3f}" for value in summary[name])
            typer.echo(f"{name.replace('_', ' ')} (least, quartiles, most): {five}")
    for name, words in _SETS.items():
        found = summary[name]
        if found["n"]:
            dots = ", ..." if found["n"] > len(found["ids"]) else ""
            shown = ", ".join(map(repr, found["ids"]))
            typer.echo(f"{found['n']:,} {words}: {shown}{dots}")
    parts = summary["components"]
    if len(parts) > 1:
        sizes = ", ".join(f"{p['n_respondents']} x {p['n_items']}" for p in parts[:5])
        typer.echo(
            f"{len(parts)} separate parts, which share neither respondents nor items "
            f"and cannot be put on one scale: {sizes}"
        )


def _show_bank(bank, as_json: bool) -> None:
    about = {
        "item_bank": True,
        "n_items": bank.items.n_items,
        "n_dims": bank.items.n_dims,
        "rotation": bank.rotation,
        "groups": {
            str(label): int((bank.groups == k).sum())
            for k, label in enumerate(bank.group_labels)
        },
        "ability_correlation": bank.ability_correlation.tolist(),
        "training": bank.training,
    }
    if as_json:
        common.print_json(about)
        return
    typer.echo(
        f"item bank: {about['n_items']:,} items in {about['n_dims']} dimensions, "
        f"rotation {about['rotation']}"
    )
    for label, size in about["groups"].items():
        typer.echo(f"  {label}: {size:,} items")
    for key, value in bank.training.items():
        typer.echo(f"{key}: {value}")


def convert(
    responses: common.Responses,
    out: Annotated[Path, typer.Option(help="File to write; its ending says how.")],
    to: Annotated[
        Target | None, typer.Option(help="Layout; default long, for a bank: bank.")
    ] = None,
    items_out: Annotated[
        Path | None, typer.Option(help="Logs: also write the item table here.")
    ] = None,
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    force: common.Force = False,
    guard_formulas: common.GuardFormulas = False,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Write responses, or an item bank, in another form.

    Example: sklearn-mirt convert logs/ --metric acc --out scores.csv.gz
    """
    common.check_out(out, force)
    if items_out is not None:
        common.check_out(items_out, force, "--items-out")
    source = common.Source(
        responses, items, layout, metric, filter, task, errors, aggregate
    )
    with common.one_line_errors(debug):
        bank = load_bank(responses)
        if bank is not None:
            _convert_bank(bank, to or Target.bank, out, force, guard_formulas)
            _say_written([out], (), as_json)
            return
        from sklearn_mirt.data.files.write import write_responses, write_table

        layout_out = to or Target.long
        if layout_out in {Target.bank, Target.r_mirt}:
            raise ValueError(f"{responses[0]}: these are responses, no item bank")
        loaded, table = source.read()
        if items_out is not None and table is None:
            raise ValueError("there is no item table to write (--items-out)")
        written = [out]
        guard = {"force": force, "guard_formulas": guard_formulas}
        write_responses(loaded.data, out, layout=layout_out.value, **guard)
        if items_out is not None:
            write_table(table.reset_index(), items_out, **guard)
            written.append(items_out)
        _say_written(written, loaded.notes, as_json)


def _say_written(paths, notes, as_json: bool) -> None:
    if as_json:
        common.print_json({"out": [str(path) for path in paths], "notes": list(notes)})
        return
    common.print_notes(notes)
    for path in paths:
        typer.echo(f"wrote {path}")


def _convert_bank(bank, to: Target, out: Path, force: bool, guard: bool) -> None:
    from sklearn_mirt.banks.interchange import write_mirt_table, write_pyirt
    from sklearn_mirt.models.item_bank_file import save_item_bank

    writers: dict[Target, Callable] = {
        Target.bank: save_item_bank,
        Target.py_irt: write_pyirt,
        Target.r_mirt: partial(write_mirt_table, guard_formulas=guard),
    }
    if to not in writers:
        raise ValueError(f"an item bank cannot be written as {to.value}")
    writers[to](bank, out, force=force)
