"""What a command prints: JSON or tables and text; warnings and errors in one line."""

import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

Part = str | Text | Table


@dataclass(frozen=True)
class Answer:
    """What a command found.

    Parameters
    ----------
    json : dict
        Printed with ``--json``; values may be numpy scalars and NaN.
    parts : sequence of str, Text and Table
        Printed without it, one below the other.
    notes : sequence of str
        What a reader of the results should know; printed above the parts.
    """

    json: dict
    parts: Sequence[Part]
    notes: Sequence[str] = ()


def show(answer: Answer, as_json: bool) -> None:
    """Print the answer of a command; JSON alone if that is wanted."""
    if as_json:
        typer.echo(json.dumps(plain(answer.json), indent=2))
        return
    screen = Console()
    for note in answer.notes:
        screen.print(escape(note), style="dim", highlight=False, soft_wrap=True)
    for part in answer.parts:
        if isinstance(part, str):
            typer.echo(part)
        else:
            screen.print(part, soft_wrap=isinstance(part, Text))


def plain(value):
    """Return plain JSON values: no numpy scalar, null for what is no number."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    # JSON has no NaN
    return None if isinstance(value, float) and not np.isfinite(value) else value


def records(frame) -> list[dict]:
    """Return the rows of a DataFrame, its index included, as dictionaries."""
    return frame.reset_index().to_dict(orient="records")


def table_of(frame, *, digits: int = 4) -> Table:
    """Return a DataFrame with its index as a table; names are text, never markup."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    frame = frame.reset_index()
    for name, column in frame.items():
        right = column.dtype.kind in "if"
        # names give way before numbers do, but not altogether
        longest = max([len(str(name)), *map(len, map(str, column))])
        table.add_column(
            Text(str(name)),
            justify="right" if right else "left",
            no_wrap=right,
            min_width=len(str(name)) if right else min(longest, 16),
            overflow="fold",
        )
    for row in frame.itertuples(index=False):
        table.add_row(*(Text(_shown(value, digits)) for value in row))
    return table


def _shown(value, digits: int) -> str:
    if isinstance(value, float):
        return "n/a" if value != value else f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


class Interrupted(KeyboardInterrupt):
    """An interruption by the user, with what is left of the work."""


@contextmanager
def if_interrupted(message: str):
    """Say what is left of the work where the user interrupts the body."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(message) from None


@contextmanager
def one_line_errors(debug: bool):
    """Turn warnings and errors into one line each.

    Exits with 1 after an error, with 130 after an interruption.
    """
    screen = Console(stderr=True, highlight=False, soft_wrap=True)
    shown = set()

    def show_warning(message, category, filename, lineno, file=None, line=None):
        text = " ".join(str(message).split())
        if text not in shown:  # a fit for each fold warns of the same
            shown.add(text)
            screen.print(f"warning: {escape(text)}")

    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        try:
            yield
        except KeyboardInterrupt as error:
            known = isinstance(error, Interrupted)
            screen.print(escape(str(error)) if known else "interrupted")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # who read the output has seen enough; nothing more can be printed
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except Exception as error:
            if debug or isinstance(error, typer.Exit | typer.BadParameter):
                raise
            screen.print(f"error: {escape(_one_line(error))}")
            raise typer.Exit(1) from None


def _one_line(error: Exception) -> str:
    """Return the message of an expected error; the name of any other one as well."""
    if isinstance(error, ValueError | OSError | MemoryError | ImportError):
        return " ".join(str(error).split()) or type(error).__name__
    return (
        f"{type(error).__name__}: {error} (this is a defect of sklearn-mirt; --debug "
        "shows where)"
    )
