"""The application `sklearn-mirt`: its commands, each with its options."""

from typing import Annotated

import typer

from sklearn_mirt import __version__
from sklearn_mirt.cli import audit, compare, cross_validate, describe, fit, select
from sklearn_mirt.cli.demo import demo
from sklearn_mirt.cli.options import as_command

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


for _body in (
    demo,
    audit.audit,
    describe.describe,
    describe.convert,
    fit.fit,
    fit.dims,
    cross_validate.crossval,
    select.select,
    select.score,
    compare.compare,
):
    app.command()(as_command(_body))
