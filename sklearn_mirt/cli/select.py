"""The commands `select` and `score`."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sklearn_mirt.cli import common, progress
from sklearn_mirt.cli.common import Layout

_NORMAL_95 = 1.959964


class Kind(str, Enum):  # noqa: UP042 - typer shows the members of a str enumeration
    """Forms of a list of items."""

    lm_eval = "lm-eval"
    inspect = "inspect"
    csv = "csv"


class Strategy(str, Enum):  # noqa: UP042
    """How items are chosen."""

    kriging = "kriging"
    information = "information"
    discrimination = "discrimination"
    anchors = "anchors"
    stratified = "stratified"
    random = "random"


def select(
    responses: common.Responses,
    n_items: Annotated[int, typer.Option(min=1, help="Number of items to choose.")],
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    group_column: common.Group = "benchmark",
    strategy: Annotated[
        Strategy, typer.Option(help="How items are chosen.")
    ] = Strategy.kriging,
    dims: common.Dims = 2,
    out: Annotated[
        Path | None,
        typer.Option(help="List of items, best first in .csv (default NAME-items.csv)"),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(help="Form of the list; default csv, lm-eval for .json."),
    ] = None,
    force: common.Force = False,
    guard_formulas: common.GuardFormulas = False,
    seed: common.Seed = 0,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Choose the items that tell most about the full scores of new models.

    Example: sklearn-mirt select scores.csv.gz --items items.csv --n-items 100
    """
    source = common.Source(
        responses, items, layout, metric, filter, task, errors, aggregate, group_column
    )
    out = out or Path(f"{source.name}-items.csv")
    common.check_out(out, force)
    with common.one_line_errors(debug):
        import pandas as pd

        from sklearn_mirt import InformativeItemSelector
        from sklearn_mirt.selection.item_lists import write_item_list

        loaded, table = source.read()
        groups = source.groups(table)
        selector = InformativeItemSelector(
            n_items,
            strategy=strategy.value,
            item_groups=groups,
            n_dims=dims,
            random_state=seed,
        )
        with progress.progress_bar(f"choosing {n_items} items"):
            selector.fit(_frame(loaded.data))
            scorer = selector.scorer()
            std = scorer.expected_error(selector.ranking_)
        chosen = loaded.data.items[selector.ranking_]
        if table is None:
            table = pd.DataFrame(index=pd.Index(loaded.data.items, name="item_id"))
        else:
            table = table.assign(benchmark=groups)
        form = None if kind is None else kind.value
        write_item_list(
            table.loc[chosen],
            out,
            kind=form,
            force=force,
            guard_formulas=guard_formulas,
        )
        expected = _expected(scorer, std, groups, chosen)
        if as_json:
            answer = {"items": list(chosen), "expected": common.records(expected)}
            common.print_json({**answer, "notes": list(loaded.notes), "out": str(out)})
            return
        common.print_notes(loaded.notes)
        common.print_frame(expected, title="expected standard errors of full scores")
        typer.echo(f"wrote {len(chosen)} items to {out}")


def _frame(data):
    import pandas as pd

    return pd.DataFrame(data.to_wide(), index=data.respondents, columns=data.items)


def _expected(scorer, std, groups, chosen):
    import pandas as pd

    names = list(scorer.get_feature_names_out())
    counts = [len(chosen)]
    if groups is None:
        counts += [len(chosen)] * (len(names) - 1)
    else:
        per_group = groups.loc[chosen].astype(str).value_counts()
        counts += [int(per_group.get(name, 0)) for name in names[1:]]
    table = pd.DataFrame(
        {"chosen": counts, "standard_error": std},
        index=pd.Index(names, name="score"),
    )
    # with one group only, its score is the overall one
    return table if len(names) > 2 else table.iloc[:1]


def score(
    responses: common.Responses,
    train: Annotated[
        Path,
        typer.Option(help="Scores of other models on all items: file or folder."),
    ],
    items: common.Items = None,
    layout: common.LayoutOption = Layout.auto,
    metric: common.Metric = None,
    filter: common.FilterOption = None,
    task: common.Task = None,
    errors: common.Errors = None,
    aggregate: common.AggregateOption = None,
    group_column: common.Group = "benchmark",
    train_layout: common.LayoutOption = Layout.auto,
    chosen: Annotated[
        Path | None,
        typer.Option(help="Item table: use the answers to these items only."),
    ] = None,
    dims: common.Dims = 2,
    out: Annotated[Path | None, typer.Option(help="Also write the table here.")] = None,
    force: common.Force = False,
    guard_formulas: common.GuardFormulas = False,
    as_json: common.AsJson = False,
    debug: common.Debug = False,
) -> None:
    """Estimate full scores of new models, with intervals, from some of the items.

    Example: sklearn-mirt score new.csv --train scores.csv.gz --items items.csv
    """
    given = (metric, filter, task, errors, aggregate, group_column)
    source = common.Source([train], items, train_layout, *given)
    new = common.Source(responses, None, layout, *given)
    if out is not None:
        common.check_out(out, force)
    with common.one_line_errors(debug):
        from sklearn_mirt import FullScoreRegressor
        from sklearn_mirt.data.files.read import read_items
        from sklearn_mirt.data.files.write import write_table

        loaded, table = source.read()
        answers = _frame(new.read()[0].data)
        if chosen is not None:
            listed = read_items(chosen).index
            answers = answers.loc[:, answers.columns.isin(listed)]
        answers = _known_only(answers, loaded.data.items, responses[0])
        scorer = FullScoreRegressor(dims, item_groups=source.groups(table))
        with progress.progress_bar("fitting the other models"):
            scorer.fit(_frame(loaded.data))
            scores, std = scorer.predict(answers, return_std=True)
        names = scorer.get_feature_names_out()
        result = _estimates(answers, scores, std, names)
        if out is not None:
            write_table(result, out, force=force, guard_formulas=guard_formulas)
        if as_json:
            common.print_json({"scores": result.to_dict(orient="records")})
            return
        common.print_notes(loaded.notes)
        typer.echo(f"full scores over {loaded.data.n_items:,} items, 95% intervals")
        for name, rows in result.groupby("respondent", sort=False):
            columns = rows.set_index("score").drop(columns=["respondent", "n_answers"])
            n = rows["n_answers"].iloc[0]
            common.print_frame(columns, title=f"\n{name}, from {n:,} answers")


def _known_only(answers, items, path):
    """Return the answers to items of the training data; refuse if there are none."""
    known = answers.columns.isin(items)
    if not known.any():
        raise ValueError(
            f"{path}: none of its items ({', '.join(map(repr, answers.columns[:3]))}, "
            "...) is among those of --train"
        )
    if not known.all():
        import warnings

        warnings.warn(
            f"{path}: {(~known).sum()} items are not among those of --train and are "
            "not used",
            UserWarning,
            stacklevel=2,
        )
    return answers.loc[:, known]


def _estimates(answers, scores, std, names):
    """Return one row per respondent and score."""
    import numpy as np
    import pandas as pd

    shown = len(names) if len(names) > 2 else 1
    reach = _NORMAL_95 * std
    rows = [
        {
            "respondent": str(respondent),
            "score": str(names[k]),
            "estimate": scores[i, k],
            "standard_error": std[i, k],
            "low": float(np.clip(scores[i, k] - reach[i, k], 0, 1)),
            "high": float(np.clip(scores[i, k] + reach[i, k], 0, 1)),
            "n_answers": int(answers.iloc[i].notna().sum()),
        }
        for i, respondent in enumerate(answers.index)
        for k in range(shown)
    ]
    return pd.DataFrame(rows)
