"""The command `compare`."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.text import Text

import sklearn_mirt
from sklearn_mirt.cli.options import Force, Model, Table, check_out
from sklearn_mirt.cli.printing import Answer, records, table_of
from sklearn_mirt.cli.progress import fit_bar
from sklearn_mirt.cli.reading import Source
from sklearn_mirt.data.files.write import write_table

_SHORT = {
    "n_items": "n",
    "mean_first": "first",
    "mean_second": "second",
    "difference": "diff",
}


def compare(
    source: Source,
    model: Model,
    first: Annotated[str, typer.Option(help="The respondent to compare with (base).")],
    second: Annotated[str, typer.Option(help="The respondent compared (variant).")],
    bank: Annotated[
        Path | None, typer.Option(help="Item bank of `fit`; default: fit here.")
    ] = None,
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")
    ] = 0.95,
    out: Table = None,
    force: Force = False,
) -> Answer:
    """Compare two models on the same items: paired differences with intervals.

    Example: sklearn-mirt compare scores.csv.gz --first base --second tuned
    """
    check_out(out, force)
    loaded, table = source.read()
    groups, data = source.groups(table), loaded.data
    if bank is not None:
        estimator = sklearn_mirt.MIRTTransformer.from_item_bank(bank)
        data = _in_order_of(estimator.items_, data, bank)
    else:
        estimator = sklearn_mirt.MIRTTransformer(
            **model.parameters(), item_groups=groups
        )
        with fit_bar(estimator, data):
            estimator.fit(data)
    result = sklearn_mirt.compare_respondents(
        estimator, data, first, second, item_groups=groups, level=level
    )
    if out is not None:
        write_table(result.reset_index(), out, force=force)
    answer = {"first": first, "second": second, "level": level}
    title = f"{second} (second) less {first} (first), {level:.0%} intervals"
    shown = result.rename(columns=_SHORT).rename_axis(["", "items"])
    shown = shown[[*_SHORT.values(), "low", "high", "q"]]
    return Answer(
        {**answer, "table": records(result)},
        [Text(title), table_of(shown)],
        loaded.notes,
    )


def _in_order_of(items, data, bank):
    """Return the data of the items of a bank, in their order."""
    place = {str(name): k for k, name in enumerate(data.items)}
    missing = [name for name in items if str(name) not in place]
    if missing:
        raise ValueError(
            f"{bank}: {len(missing)} items of the bank are not in the responses, the "
            f"first is {missing[0]!r}"
        )
    return data.take(items=np.array([place[str(name)] for name in items]))
