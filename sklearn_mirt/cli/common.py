"""What the commands share: options, reading, errors in one line, output."""

import json
import os
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sklearn_mirt.cli import progress as console
from sklearn_mirt.data.files.atomic import refuse_existing


class Layout(str, Enum):  # noqa: UP042 - typer shows the members of a str enumeration
    """Layouts of response files and kinds of logs."""

    auto = "auto"
    wide = "wide"
    long = "long"
    items_as_rows = "items-as-rows"
    benchmirt = "benchmirt"
    lm_eval = "lm-eval"
    inspect = "inspect"
    helm = "helm"
    opencompass = "opencompass"
    py_irt = "py-irt"


class ErrorsAre(str, Enum):  # noqa: UP042
    """What an answer is that ended in an error."""

    missing = "missing"
    wrong = "wrong"


class Aggregate(str, Enum):  # noqa: UP042
    """How repeated answers are merged."""

    mean = "mean"
    first = "first"
    count = "count"  # type: ignore[assignment] # str has a method of this name


Responses = Annotated[
    list[Path],
    typer.Argument(
        help="Scores: CSV, TSV (plain, .gz, .zst), Parquet, Feather; or logs of "
        "lm-evaluation-harness, Inspect, HELM, OpenCompass, py-irt: files or folders.",
        show_default=False,
    ),
]
Items = Annotated[
    Path | None, typer.Option(help="Item table: item id, benchmark, subset.")
]
LayoutOption = Annotated[Layout, typer.Option(help="Layout of the responses.")]
Metric = Annotated[
    list[str] | None,
    typer.Option(help="Logs: the score to take, or TASK=METRIC; may be repeated."),
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option("--filter", help="Logs: the filter, or TASK=FILTER; repeatable."),
]
Task = Annotated[
    list[str] | None, typer.Option(help="Logs: a task to read; may be repeated.")
]
Errors = Annotated[
    ErrorsAre | None,
    typer.Option(help="Logs: what an answer is that ended in an error."),
]
AggregateOption = Annotated[
    Aggregate | None, typer.Option(help="How to merge repeated answers.")
]
Group = Annotated[
    str, typer.Option(help="Column of the item table that names the benchmark.")
]
Dims = Annotated[int, typer.Option(min=1, help="Number of ability dimensions.")]
Rotation = Annotated[
    str, typer.Option(help="oblimin, varimax, promax, ... or none for no rotation.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace files that are there already.")
]
GuardFormulas = Annotated[
    bool,
    typer.Option(
        "--guard-formulas",
        help="In CSV, an apostrophe before text that a spreadsheet would compute.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; all if -1.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error arose.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")]
LABELS = ("benchmark", "subset", "category", "stated_dimension", "text")


@dataclass(frozen=True)
class Source:
    """What a command is to read, as it was given on the command line."""

    responses: list[Path]
    items: Path | None = None
    layout: Layout = Layout.auto
    metric: list[str] | None = None
    filter: list[str] | None = None
    task: list[str] | None = None
    errors: ErrorsAre | None = None
    aggregate: Aggregate | None = None
    group_column: str = "benchmark"

    @property
    def name(self) -> str:
        """Return a name for output files, from the first path."""
        return self.responses[0].absolute().name.partition(".")[0] or "responses"

    def about(self) -> dict:
        """Return what was read, for the record of a run."""
        given = {
            "responses": [str(path) for path in self.responses],
            "items": None if self.items is None else str(self.items),
            "layout": self.layout.value,
            "group_column": self.group_column,
        }
        for name in ("metric", "filter", "task"):
            if getattr(self, name):
                given[name] = list(getattr(self, name))
        for name in ("errors", "aggregate"):
            if getattr(self, name):
                given[name] = getattr(self, name).value
        return given

    def read(self):
        """Return the loaded responses and the item table of their items, or None."""
        from sklearn_mirt.data.files.read import read_items, read_responses

        table = None
        if self.items is not None:
            table = read_items(self.items, labels=(*LABELS, self.group_column))
        with console.byte_bar("reading") as progress:
            loaded = read_responses(
                self.responses,
                layout=self.layout.value,
                items=table,
                metric=_by_task(self.metric),
                filter=_by_task(self.filter),
                tasks=self.task or None,
                errors=None if self.errors is None else self.errors.value,
                aggregate=None if self.aggregate is None else self.aggregate.value,
                progress=progress,
            )
        table = loaded.items if table is None else table.loc[loaded.data.items]
        return loaded, table

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


def check_out(path: Path, force: bool, option: str = "--out") -> None:
    """Refuse an existing file before anything is computed."""
    try:
        refuse_existing(path, force)
    except FileExistsError as error:
        text = str(error).replace("force replaces", "--force replaces")
        raise typer.BadParameter(text, param_hint=option) from None
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(
            f"there is no folder {path.absolute().parent}", param_hint=option
        )


def rotation_of(name: str) -> str | None:
    """Return the rotation that a word on the command line means."""
    return None if name == "none" else name


def fit_with_bar(estimator, data):
    """Fit with a progress bar on the terminal; none when redirected."""
    size = f"{data.n_respondents:,} respondents x {data.n_items:,} items"
    with console.progress_bar(f"fitting {size}") as passes:
        if hasattr(estimator, "set_callbacks"):  # scikit-learn 1.9
            estimator.set_callbacks(passes)
        return estimator.fit(data)


def print_json(answer: dict) -> None:
    """Print plain JSON values; what is no number is null."""
    typer.echo(json.dumps(plain(answer), indent=2))


def plain(value):
    """Return a value with numpy scalars and NaN made plain JSON values."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return console.plain(value)


def records(frame) -> list[dict]:
    """Return the rows of a DataFrame, its index included, as dictionaries."""
    return frame.reset_index().to_dict(orient="records")


def print_notes(notes) -> None:
    """Print what a reader of the results should know."""
    screen = Console()
    for note in notes:
        screen.print(escape(note), style="dim", highlight=False, soft_wrap=True)


def print_frame(frame, *, title: str | None = None, digits: int = 4) -> None:
    """Print a DataFrame with its index; names are text, never markup."""
    if title is not None:
        Console().print(Text(title), soft_wrap=True)
    table = Table(box=None, header_style="bold", padding=(0, 1))
    frame = frame.reset_index()
    numeric = [frame[name].dtype.kind in "if" for name in frame.columns]
    for name, right in zip(frame.columns, numeric, strict=True):
        # names give way before numbers do, but not altogether
        longest = max([len(str(name)), *map(len, map(str, frame[name]))])
        table.add_column(
            Text(str(name)),
            justify="right" if right else "left",
            no_wrap=right,
            min_width=len(str(name)) if right else min(longest, 16),
            overflow="fold",
        )
    for row in frame.itertuples(index=False):
        table.add_row(*(Text(_shown(value, digits)) for value in row))
    Console().print(table)


def _shown(value, digits: int) -> str:
    if isinstance(value, float):
        return "n/a" if value != value else f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@contextmanager
def one_line_errors(debug: bool, interrupted: str = "interrupted"):
    """Turn warnings and errors into one line each.

    Exits with 1 after an error, with 130 after an interruption.
    """
    screen = Console(stderr=True, highlight=False, soft_wrap=True)

    shown = set()

    def show(message, category, filename, lineno, file=None, line=None):
        text = " ".join(str(message).split())
        if text not in shown:  # a fit for each fold says the same
            shown.add(text)
            screen.print(f"warning: {escape(text)}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        except KeyboardInterrupt:
            screen.print(escape(interrupted))
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # who read the output has seen enough; nothing more can be printed
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (ValueError, OSError, MemoryError, ImportError) as error:
            if debug:
                raise
            text = " ".join(str(error).split()) or type(error).__name__
            screen.print(f"error: {escape(text)}")
            raise typer.Exit(1) from None
        except Exception as error:
            if debug or isinstance(error, typer.Exit | typer.BadParameter):
                raise
            screen.print(
                f"error: {escape(f'{type(error).__name__}: {error}')} (this is a "
                "defect of sklearn-mirt; --debug shows where)"
            )
            raise typer.Exit(1) from None
