"""Results of long runs, kept in a folder, from which an interrupted run resumes.

Arrays are kept in NumPy's format without pickles: a folder of a user is never trusted
with code, which rules out joblib.Memory.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import replacing

_SETTINGS = "kept_results.json"


class KeptResults:
    """Results of named tasks, each in a file of its own that is written whole.

    Parameters
    ----------
    folder : path-like
        Created if it does not exist.
    settings : dict from str to what JSON can hold
        What the results depend on; see also :func:`digest`.

    Raises
    ------
    ValueError
        The folder holds results of other settings.
    """

    def __init__(self, folder, settings):
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / _SETTINGS
        if not path.exists():
            with replacing(path, force=False) as scratch:
                scratch.write_text(json.dumps(settings, indent=1), encoding="utf-8")
        earlier = json.loads(path.read_text(encoding="utf-8"))
        differing = [k for k in earlier | settings if earlier.get(k) != settings.get(k)]
        if differing:
            raise ValueError(
                f"{self._folder}: holds results of other data or settings (different "
                f"{', '.join(differing)}); remove it, or give another folder"
            )

    def get(self, name, compute):
        """Return the kept result of a task, or compute() and keep it.

        A result is a dict of arrays.
        """
        path = self._folder / f"{name}.npz"
        if path.exists():
            with np.load(path, allow_pickle=False) as kept:
                return dict(kept)
        result = compute()
        with replacing(path, force=True) as scratch:
            np.savez(scratch, **result)
        return result


def is_kept_folder(folder) -> bool:
    """Return whether a folder holds kept results."""
    return (Path(folder) / _SETTINGS).is_file()


def digest(arrays, *settings) -> str:
    """Return a hash of arrays of numbers and of settings, by their repr."""
    out = hashlib.sha256(repr(settings).encode("utf-8", "surrogatepass"))
    for array in arrays:
        out.update(np.ascontiguousarray(array).tobytes())
    return out.hexdigest()
