"""What a command reads: responses and item tables, as named on the command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import typer

import sklearn_mirt
from sklearn_mirt.cli.progress import byte_bar

LABELS = ("benchmark", "subset", "category", "stated_dimension", "text")


Layout = Annotated[
    Literal[
        "auto",
        "wide",
        "long",
        "items-as-rows",
        "benchmirt",
        "lm-eval",
        "inspect",
        "helm",
        "opencompass",
        "py-irt",
    ],
    typer.Option(help="Layout of the responses."),
]


@dataclass(frozen=True)
class Responses:
    """Responses to read, with their item table, as named on the command line."""

    responses: Annotated[
        list[Path],
        typer.Argument(
            help="Scores: CSV, TSV (plain, .gz, .zst), Parquet, Feather; or logs of "
            "lm-evaluation-harness, Inspect, HELM, OpenCompass, py-irt: files or "
            "folders.",
            show_default=False,
        ),
    ]
    items: Annotated[
        Path | None, typer.Option(help="Item table: item id, benchmark, subset.")
    ] = None
    layout: Layout = "auto"
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Logs: the score to take, or TASK=METRIC; may be repeated."),
    ] = None
    filter: Annotated[
        list[str] | None,
        typer.Option(help="Logs: the filter, or TASK=FILTER; repeatable."),
    ] = None
    task: Annotated[
        list[str] | None, typer.Option(help="Logs: a task to read; may be repeated.")
    ] = None
    errors: Annotated[
        Literal["missing", "wrong"] | None,
        typer.Option(help="Logs: what an answer is that ended in an error."),
    ] = None
    aggregate: Annotated[
        Literal["mean", "first", "count"] | None,
        typer.Option(help="How to merge repeated answers."),
    ] = None

    group_column: ClassVar[str] = "benchmark"

    @property
    def name(self) -> str:
        """Return a name for output files, from the first path."""
        return self.responses[0].absolute().name.partition(".")[0] or "responses"

    def read(self):
        """Return the loaded responses and the item table of their items, or None."""
        table = None
        if self.items is not None:
            labels = (*LABELS, self.group_column)
            table = sklearn_mirt.read_items(self.items, labels=labels)
        with byte_bar("reading") as progress:
            loaded = sklearn_mirt.read_responses(
                self.responses,
                layout=self.layout,
                items=table,
                metric=_by_task(self.metric),
                filter=_by_task(self.filter),
                tasks=self.task or None,
                errors=self.errors,
                aggregate=self.aggregate,
                progress=progress,
            )
        table = loaded.items if table is None else table.loc[loaded.data.items]
        return loaded, table


@dataclass(frozen=True)
class Source(Responses):
    """Responses to read, and the column of the item table that groups the items."""

    group_column: Annotated[  # type: ignore[misc] # here an option, above a constant
        str, typer.Option(help="Column of the item table that names the benchmark.")
    ] = "benchmark"

    def about(self) -> dict:
        """Return what was read, for the record of a run."""
        given = {
            "responses": [str(path) for path in self.responses],
            "items": self.items and str(self.items),
            "layout": self.layout,
            "group_column": self.group_column,
            "metric": list(self.metric or ()),
            "filter": list(self.filter or ()),
            "task": list(self.task or ()),
            "errors": self.errors,
            "aggregate": self.aggregate,
        }
        always = ("responses", "items", "layout", "group_column")
        return {name: value for name, value in given.items() if name in always or value}

    def groups(self, table):
        """Return the group of each item as a Series; None without an item table.

        Raises
        ------
        ValueError
            The table has no such column, or an item no group.
        """
        if table is None:
            return None
        where = self.responses[0] if self.items is None else self.items
        if self.group_column not in table:
            raise ValueError(
                f"{where}: there is no column {self.group_column!r} to group items "
                f"by; name one with --group-column "
                f"({', '.join(map(str, table.columns))})"
            )
        groups = table[self.group_column]
        unlabelled = table.index[groups.isna()]
        if len(unlabelled):
            raise ValueError(
                f"{where}: item {unlabelled[0]!r} has no {self.group_column} "
                f"({len(unlabelled)} such items in all)"
            )
        return groups


def _by_task(values: list[str] | None):
    """Return one name for all tasks, or a mapping from task."""
    if not values:
        return None
    if len(values) == 1 and "=" not in values[0]:
        return values[0]
    pairs = [value.rpartition("=") for value in values]
    if not all(task for task, _, _ in pairs):
        raise ValueError("give one name, or TASK=NAME for each task")
    return {task: name for task, _, name in pairs}
