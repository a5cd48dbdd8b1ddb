"""The commands `select` and `score`."""

import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from rich.text import Text

import sklearn_mirt
from sklearn_mirt.cli.options import Dims, Seed, Table, Writing, check_out
from sklearn_mirt.cli.printing import Answer, Part, records, table_of
from sklearn_mirt.cli.progress import work_bar
from sklearn_mirt.cli.reading import Layout, Source
from sklearn_mirt.data.files.write import write_table

_NORMAL_95 = 1.959964


Strategy = Literal[
    "kriging", "information", "discrimination", "anchors", "stratified", "random"
]


def select(
    source: Source,
    n_items: Annotated[int, typer.Option(min=1, help="Number of items to choose.")],
    writing: Writing,
    strategy: Annotated[
        Strategy, typer.Option(help="How items are chosen.")
    ] = "kriging",
    dims: Dims = 2,
    out: Annotated[
        Path | None,
        typer.Option(help="List of items, best first in .csv (default NAME-items.csv)"),
    ] = None,
    kind: Annotated[
        Literal["lm-eval", "inspect", "csv"] | None,
        typer.Option(help="Form of the list; default csv, lm-eval for .json."),
    ] = None,
    seed: Seed = 0,
) -> Answer:
    """Choose the items that tell most about the full scores of new models.

    Example: sklearn-mirt select scores.csv.gz --items items.csv --n-items 100
    """
    out = out or Path(f"{source.name}-items.csv")
    check_out(out, writing.force)
    loaded, table = source.read()
    groups = source.groups(table)
    selector = sklearn_mirt.InformativeItemSelector(
        n_items,
        strategy=strategy,
        item_groups=groups,
        n_dims=dims,
        random_state=seed,
    )
    with work_bar(f"choosing {n_items} items"):
        selector.fit(loaded.data)
        scorer = selector.scorer()
        std = scorer.expected_error(selector.ranking_)
    chosen = loaded.data.items[selector.ranking_]
    listed = _listed(table, groups, chosen)
    sklearn_mirt.write_item_list(listed, out, kind=kind, **asdict(writing))
    names = scorer.get_feature_names_out()
    expected = _expected(names, std, groups, chosen)
    answer = {"items": list(chosen), "expected": records(expected)}
    return Answer(
        {**answer, "notes": list(loaded.notes), "out": str(out)},
        [
            Text("expected standard errors of full scores"),
            table_of(expected),
            f"wrote {len(chosen)} items to {out}",
        ],
        loaded.notes,
    )


def _listed(table, groups, chosen):
    """Return the rows of the chosen items, with their groups as benchmarks."""
    import pandas as pd

    if table is None:
        return pd.DataFrame(index=pd.Index(chosen, name="item_id"))
    return table.assign(benchmark=groups).loc[chosen]


def _expected(names, std, groups, chosen):
    """Return the number of chosen items and the expected error, by score."""
    import pandas as pd

    counts = [len(chosen)] * len(names)
    if groups is not None:
        per_group = groups.loc[chosen].astype(str).value_counts()
        counts[1:] = [int(per_group.get(name, 0)) for name in names[1:]]
    table = pd.DataFrame(
        {"chosen": counts, "standard_error": std},
        index=pd.Index(names, name="score"),
    )
    # with one group only, its score is the overall one
    return table if len(names) > 2 else table.iloc[:1]


def score(
    source: Source,
    train: Annotated[
        Path,
        typer.Option(help="Scores of other models on all items: file or folder."),
    ],
    writing: Writing,
    train_layout: Layout = "auto",
    chosen: Annotated[
        Path | None,
        typer.Option(help="Item table: use the answers to these items only."),
    ] = None,
    dims: Dims = 2,
    out: Table = None,
) -> Answer:
    """Estimate full scores of new models, with intervals, from some of the items.

    Example: sklearn-mirt score new.csv --train scores.csv.gz --items items.csv
    """
    check_out(out, writing.force)
    training = replace(source, responses=[train], layout=train_layout)
    loaded, table = training.read()
    new = replace(source, items=None).read()[0].data
    listed = None if chosen is None else set(sklearn_mirt.read_items(chosen).index)
    answers = _known_only(new, listed, loaded.data.items, source.responses[0])
    scorer = sklearn_mirt.FullScoreRegressor(dims, item_groups=training.groups(table))
    with work_bar("fitting the other models"):
        scorer.fit(loaded.data)
        scores, std = scorer.predict(answers, return_std=True)
    result = _estimates(answers, scores, std, scorer.get_feature_names_out())
    if out is not None:
        write_table(result, out, **asdict(writing))
    parts: list[Part] = [
        f"full scores over {loaded.data.n_items:,} items, 95% intervals"
    ]
    for name, rows in result.groupby("respondent", sort=False):
        columns = rows.set_index("score").drop(columns=["respondent", "n_answers"])
        n = rows["n_answers"].iloc[0]
        parts += [Text(f"\n{name}, from {n:,} answers"), table_of(columns)]
    answer = {"scores": result.to_dict(orient="records")}
    return Answer(answer, parts, loaded.notes)


def _known_only(new, listed, known, path):
    """Return the answers to listed items of the training data; refuse if none are."""
    items, known = new.items, set(known)
    asked = [k for k, item in enumerate(items) if listed is None or item in listed]
    used = [k for k in asked if items[k] in known]
    if not used:
        raise ValueError(
            f"{path}: none of its items ({', '.join(map(repr, items[asked[:3]]))}, "
            "...) is among those of --train"
        )
    if len(used) < len(asked):
        warnings.warn(
            f"{path}: {len(asked) - len(used)} items are not among those of --train "
            "and are not used",
            UserWarning,
            stacklevel=2,
        )
    return new.take(items=np.array(used))


def _estimates(answers, scores, std, names):
    """Return one row per respondent and score."""
    import pandas as pd

    shown = len(names) if len(names) > 2 else 1
    n_answers = np.isfinite(answers.to_wide()).sum(1)
    scores, std = scores[:, :shown].ravel(), std[:, :shown].ravel()
    return pd.DataFrame(
        {
            "respondent": np.repeat(
                answers.respondents.astype(str).astype(object), shown
            ),
            "score": np.tile(names[:shown], len(n_answers)),
            "estimate": scores,
            "standard_error": std,
            "low": np.clip(scores - _NORMAL_95 * std, 0, 1),
            "high": np.clip(scores + _NORMAL_95 * std, 0, 1),
            "n_answers": np.repeat(n_answers, shown),
        }
    )
