"""The commands of `sklearn-mirt`: arguments in, calls of the public API, words out."""

from typing import Annotated

import typer

from sklearn_mirt import __version__
from sklearn_mirt.commands import audit, compare, crossval, describe, fit, select

app = typer.Typer(
    name="sklearn-mirt",
    help="What does each benchmark measure? Audits with item response theory.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sklearn-mirt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Version."),
    ] = False,
) -> None:
    pass


for _command in (
    audit.demo,
    audit.audit,
    describe.describe,
    describe.convert,
    fit.fit,
    fit.dims,
    crossval.crossval,
    select.select,
    select.score,
    compare.compare,
):
    app.command()(_command)
