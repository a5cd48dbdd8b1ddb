"""Options that commands share, and how a function becomes a command with options."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_mirt.cli.printing import Answer, one_line_errors, show
from sklearn_mirt.data.files.atomic import refuse_existing

Dims = Annotated[int, typer.Option(min=1, help="Number of ability dimensions.")]
Rotation = Annotated[
    str, typer.Option(help="oblimin, varimax, promax, ... or none for no rotation.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; all if -1.")]
Table = Annotated[Path | None, typer.Option(help="Also write the table here.")]
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


@dataclass(frozen=True)
class Model:
    """The model that a command fits."""

    dims: Dims = 2
    rotation: Rotation = "oblimin"
    jobs: Jobs = None

    def parameters(self) -> dict:
        """Return the parameters of the estimator."""
        return {
            "n_dims": self.dims,
            "rotation": None if self.rotation == "none" else self.rotation,
            "n_jobs": self.jobs,
        }


@dataclass(frozen=True)
class Writing:
    """How a command writes files; the fields are keywords of the writers."""

    force: Force = False
    guard_formulas: GuardFormulas = False


@dataclass(frozen=True)
class Showing:
    """How every command shows its answer and its errors."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")] = (
        False
    )
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error arose.")
    ] = False


def check_out(path: Path | None, force: bool, option: str = "--out") -> None:
    """Refuse an existing file before anything is computed; None is no file."""
    if path is None:
        return
    try:
        refuse_existing(path, force, option="--force")
    except FileExistsError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(
            f"there is no folder {path.absolute().parent}", param_hint=option
        )


def as_command(body: Callable[..., Answer]) -> Callable[..., None]:
    """Return a function for typer that calls `body` and shows its answer.

    Every parameter of `body` is an option. A parameter whose annotation is a dataclass
    stands for a group of options, one for each field. The options of
    `Showing` are added. Arguments and options without default come first.
    """
    showing = Parameter("showing", Parameter.KEYWORD_ONLY, annotation=Showing)
    parameters = [*signature(body).parameters.values(), showing]

    @functools.wraps(body)
    def command(**given):
        arguments = _grouped(parameters, given)
        showing = arguments.pop("showing")
        with one_line_errors(showing.debug):
            show(body(**arguments), showing.as_json)

    options = [option for each in parameters for option in _options(each)]
    options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]
    options.sort(key=lambda option: option.default is not Parameter.empty)
    command.__signature__ = Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    return command


def _options(parameter: Parameter) -> list[Parameter]:
    """Return the options that a parameter of a body stands for."""
    group = _group(parameter)
    return [parameter] if group is None else list(signature(group).parameters.values())


def _group(parameter: Parameter) -> type | None:
    kind = parameter.annotation
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


def _grouped(parameters, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a body: options as given, or in their groups."""
    arguments = {}
    for parameter in parameters:
        group = _group(parameter)
        chosen = {option.name: given[option.name] for option in _options(parameter)}
        name = parameter.name
        arguments[name] = chosen[name] if group is None else group(**chosen)
    return arguments
