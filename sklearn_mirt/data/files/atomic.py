"""Writes files and folders whole or not at all."""

import os
import secrets
import shutil
import tempfile
import time
import weakref
from contextlib import contextmanager
from pathlib import Path

_REMOVALS = 50


def refuse_existing(path, force: bool, option: str = "force") -> Path:
    """Return the path; raise FileExistsError if it is taken and may not be replaced.

    Parameters
    ----------
    path : path-like
    force : bool
        Whether an existing file may be replaced.
    option : str, default="force"
        What the error calls the option that replaces a file.
    """
    path = Path(path)
    if path.is_dir():
        raise FileExistsError(f"{path} is a folder, not a file")
    if path.exists() and not path.is_file():
        # a superuser would replace /dev/null by a table
        raise FileExistsError(f"{path} is a device or a pipe, not a file")
    if path.exists() and not force:
        raise FileExistsError(f"{path} is there already; {option} replaces it")
    return path


@contextmanager
def replacing(path, force: bool):
    """Yield a scratch path beside `path` that takes its place if the body succeeds.

    Parameters
    ----------
    path : path-like
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    FileExistsError
        The file is there and `force` is False.
    """
    path = refuse_existing(path, force)
    scratch = _new_file(path)
    try:
        yield scratch
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def _new_file(path: Path) -> Path:
    """Make an empty file beside a path, for whom the umask says.

    tempfile makes files for the owner only, and the umask can only be asked for by
    setting it, which another thread would see.
    """
    while True:
        # the name's end is kept: it says what kind of file is written
        scratch = path.parent / f".{secrets.token_hex(8)}.new{path.suffix}"
        try:
            os.close(os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            continue
        return scratch


@contextmanager
def whole_folder(path: Path):
    """Yield a scratch folder that takes the name `path` if the body succeeds.

    Parameters
    ----------
    path : Path
        Its parents are made.

    Raises
    ------
    FileExistsError
        There is something of that name.
    """
    if path.exists():
        raise FileExistsError(f"{path} is there already; give another folder")
    with _scratch_folder(path) as scratch:
        yield scratch
        os.rename(scratch, path)


@contextmanager
def filling(folder: Path):
    """Yield a scratch folder whose files move into `folder` if the body succeeds.

    They replace files of the same names; other files of the folder stay.

    Parameters
    ----------
    folder : Path
        Made, with its parents, if it does not exist.
    """
    with _scratch_folder(folder) as scratch:
        yield scratch
        folder.mkdir(exist_ok=True)
        for path in sorted(scratch.iterdir()):
            os.replace(path, folder / path.name)


@contextmanager
def _scratch_folder(path: Path):
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.parent / f".{path.name}-{secrets.token_hex(8)}"
    scratch.mkdir()
    try:
        yield scratch
    finally:
        _remove_folder(scratch)


def _remove_folder(folder: Path):
    """Remove a folder, into which another process may write its last file meanwhile."""
    for _ in range(_REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


class ScratchFolder:
    """A folder that goes, without a word, with the last object that keeps this one.

    Parameters
    ----------
    prefix : str
        How its name begins.
    where : path-like, default=None
        The folder to make it in; default: where temporary files belong.

    Attributes
    ----------
    name : str
        Its path.
    """

    def __init__(self, prefix, where=None):
        self.name = tempfile.mkdtemp(prefix=prefix, dir=where)
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)
