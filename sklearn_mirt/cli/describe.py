"""The commands `describe` and `convert`."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

import sklearn_mirt
from sklearn_mirt.cli.options import Writing, check_out
from sklearn_mirt.cli.printing import Answer, records, table_of
from sklearn_mirt.cli.reading import Responses, Source
from sklearn_mirt.data.description import describe_groups, describe_responses
from sklearn_mirt.data.files.write import write_table
from sklearn_mirt.models.item_bank_file import is_item_bank

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


Target = Literal["long", "wide", "items-as-rows", "py-irt", "bank", "r-mirt"]


def describe(source: Source) -> Answer:
    """Say what is in a file: counts, gaps, constant items, copies, separate parts.

    Item banks are described too.

    Example: sklearn-mirt describe scores.csv.gz --items items.csv
    """
    bank = _bank(source.responses)
    if bank is not None:
        return _description_of_bank(bank)
    loaded, table = source.read()
    summary = describe_responses(loaded.data)
    parts, groups = _sentences(summary), []
    if table is not None and source.group_column in table:
        by_group = describe_groups(loaded.data, source.groups(table))
        groups = records(by_group)
        shown = by_group.rename(columns=_SHORT).rename_axis(source.group_column)
        parts += ["", table_of(shown, digits=3)]
    runs = [] if loaded.provenance is None else loaded.provenance.to_dict("records")
    answer = {"layout": loaded.layout, "notes": list(loaded.notes), **summary}
    answer |= {"groups": groups, "runs": runs, "n_errors": loaded.n_errors}
    return Answer(answer, parts, loaded.notes)


def _bank(paths: list[Path]):
    """Return the item bank at the only path, None if there is something else."""
    if len(paths) != 1 or not is_item_bank(paths[0]):
        return None
    return sklearn_mirt.load_item_bank(paths[0])


def _sentences(summary: dict) -> list:
    repeats = ", means of repeats" if summary["weighted"] else ""
    lines = [
        f"{summary['n_respondents']:,} respondents x {summary['n_items']:,} items, "
        f"{summary['n_answers']:,} answers ({summary['share_missing']:.2%} missing)",
        f"scores {summary['kinds']}{repeats}, mean {summary['mean_score']:.4f}",
    ]
    for name in ("respondent_means", "item_means"):
        if summary[name]:
            five = "  ".join(f"{value:.3f}" for value in summary[name])
            lines += [f"{name.replace('_', ' ')} (least, quartiles, most): {five}"]
    for name, words in _SETS.items():
        found = summary[name]
        if found["n"]:
            dots = ", ..." if found["n"] > len(found["ids"]) else ""
            shown = ", ".join(map(repr, found["ids"]))
            lines += [f"{found['n']:,} {words}: {shown}{dots}"]
    parts = summary["components"]
    if len(parts) > 1:
        sizes = ", ".join(f"{p['n_respondents']} x {p['n_items']}" for p in parts[:5])
        lines += [
            f"{len(parts)} separate parts, which share neither respondents nor items "
            f"and cannot be put on one scale: {sizes}"
        ]
    return lines


def _description_of_bank(bank) -> Answer:
    sizes = np.bincount(bank.groups, minlength=len(bank.group_labels)).tolist()
    groups = dict(zip(map(str, bank.group_labels), sizes, strict=True))
    about = {
        "item_bank": True,
        "n_items": bank.items.n_items,
        "n_dims": bank.items.n_dims,
        "rotation": bank.rotation,
        "groups": groups,
        "ability_correlation": bank.ability_correlation.tolist(),
        "training": bank.training,
    }
    return Answer(
        about,
        [
            f"item bank: {about['n_items']:,} items in {about['n_dims']} dimensions, "
            f"rotation {about['rotation']}",
            *(f"  {label}: {size:,} items" for label, size in groups.items()),
            *(f"{key}: {value}" for key, value in bank.training.items()),
        ],
    )


def convert(
    source: Responses,
    out: Annotated[Path, typer.Option(help="File to write; its ending says how.")],
    writing: Writing,
    to: Annotated[
        Target | None, typer.Option(help="Layout; default long, for a bank: bank.")
    ] = None,
    items_out: Annotated[
        Path | None, typer.Option(help="Logs: also write the item table here.")
    ] = None,
) -> Answer:
    """Write responses, or an item bank, in another form.

    Example: sklearn-mirt convert logs/ --metric acc --out scores.csv.gz
    """
    check_out(out, writing.force)
    check_out(items_out, writing.force, "--items-out")
    bank = _bank(source.responses)
    if bank is not None:
        _convert_bank(bank, to or "bank", out, writing)
        return _written([out])
    layout = to or "long"
    if layout in {"bank", "r-mirt"}:
        raise ValueError(f"{source.responses[0]}: these are responses, no item bank")
    loaded, table = source.read()
    if items_out is not None and table is None:
        raise ValueError("there is no item table to write (--items-out)")
    how = asdict(writing)
    sklearn_mirt.write_responses(loaded.data, out, layout=layout, **how)
    if items_out is None:
        return _written([out], loaded.notes)
    write_table(table.reset_index(), items_out, **how)
    return _written([out, items_out], loaded.notes)


def _written(paths: list[Path], notes=()) -> Answer:
    answer = {"out": [str(path) for path in paths], "notes": list(notes)}
    return Answer(answer, [f"wrote {path}" for path in paths], notes)


def _convert_bank(bank, to: Target, out: Path, writing: Writing) -> None:
    guard = writing.guard_formulas
    writers: dict[str, Callable] = {
        "bank": sklearn_mirt.save_item_bank,
        "py-irt": sklearn_mirt.write_pyirt,
        "r-mirt": partial(sklearn_mirt.write_mirt_table, guard_formulas=guard),
    }
    if to not in writers:
        raise ValueError(f"an item bank cannot be written as {to}")
    writers[to](bank, out, force=writing.force)
