"""Writes files whole or not at all."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path


def refuse_existing(path, force: bool) -> Path:
    """Return the path; raise FileExistsError if it is taken and may not be replaced."""
    path = Path(path)
    if path.is_dir():
        raise FileExistsError(f"{path} is a folder, not a file")
    if path.exists() and not force:
        raise FileExistsError(f"{path} is there already; force replaces it")
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
    # the name's end is kept: it says what kind of file is written
    handle, name = tempfile.mkstemp(".new" + path.suffix, ".", path.parent)
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        # mkstemp makes files for the owner only; a result is for whom the umask says
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(scratch, 0o666 & ~mask)
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
