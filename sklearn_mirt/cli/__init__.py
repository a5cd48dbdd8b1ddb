"""Entry point of the command `sklearn-mirt`.

The commands themselves are in `app.py`; typer and rich, which they need, are
optional dependencies and imported only here.
"""

import sys


def main() -> None:
    """Run the command line; exit with 0 (done), 1 (bad data) or 2 (bad usage)."""
    try:
        from sklearn_mirt.cli.app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"typer", "rich"}:
            raise
        sys.stderr.write(
            f"sklearn-mirt: the command line needs {error.name}, which is not "
            "installed; pip install 'sklearn-mirt[cli,plot]'\n"
        )
        sys.exit(2)
    app()
