"""The command `compare`."""

from pathlib import Path
from typing import Annotated

import typer

from sklearn_mirt.cli import common
from sklearn_mirt.cli.common import Layout

_SHORT = {
    "n_items": "n",
    "mean_first": "first",
    "mean_second": "second",
    "difference": "diff",
}


def compare(
    responses: common.Responses,
    first: Annotated[str, typer.Option(help="The respondent to compare with (base).")],
    second: Annotated[str, typer.Option(help="The respondent compared (variant).")],
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    group_column: common.Group = "benchmark",
    bank: Annotated[
        Path | None, typer.Option(help="Item bank of `fit`; default: fit here.")
    ] = None,
    dims: common.Dims = 2,
    rotation: common.Rotation = "oblimin",
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Level of the intervals.")
    ] = 0.95,
    out: Annotated[Path | None, typer.Option(help="Also write the table here.")] = None,
    force: common.Force = False,
    jobs: common.Jobs = None,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Compare two models on the same items: paired differences with intervals.

    Example: sklearn-mirt compare scores.csv.gz --first base --second tuned
    """
    source = common.Source(
        responses, items, layout, metric, filter, task, errors, aggregate, group_column
    )
    if out is not None:
        common.check_out(out, force)
    with common.one_line_errors(debug):
        from sklearn_mirt import MIRTTransformer, compare_respondents
        from sklearn_mirt.data.files.write import write_table

        loaded, table = source.read()
        groups = source.groups(table)
        data = loaded.data
        if bank is not None:
            estimator = MIRTTransformer.from_item_bank(bank)
            data = _in_order_of(estimator.items_, data, bank)
        else:
            estimator = MIRTTransformer(
                dims,
                rotation=common.rotation_of(rotation),
                item_groups=groups,
                n_jobs=jobs,
            )
            common.fit_with_bar(estimator, data)
        result = compare_respondents(
            estimator, data, first, second, item_groups=groups, level=level
        )
        if out is not None:
            write_table(result.reset_index(), out, force=force)
        if as_json:
            answer = {"first": first, "second": second, "level": level}
            common.print_json({**answer, "table": common.records(result)})
            return
        common.print_notes(loaded.notes)
        shown = result.rename(columns=_SHORT).rename_axis(["", "items"])
        title = f"{second} (second) less {first} (first), {level:.0%} intervals"
        common.print_frame(shown[[*_SHORT.values(), "low", "high", "q"]], title=title)


def _in_order_of(items, data, bank):
    """Return the data of the items of a bank, in their order."""
    import numpy as np

    place = {str(name): k for k, name in enumerate(data.items)}
    missing = [name for name in items if str(name) not in place]
    if missing:
        raise ValueError(
            f"{bank}: {len(missing)} items of the bank are not in the responses, the "
            f"first is {missing[0]!r}"
        )
    return data.take(items=np.array([place[str(name)] for name in items]))
