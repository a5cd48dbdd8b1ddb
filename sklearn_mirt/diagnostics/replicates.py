"""Finished replicates, kept in a folder: a run that was interrupted goes on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import replacing

_MARK = "replicates.json"


class KeptReplicates:
    """Results of numbered tasks, each in a file of its own.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.
    mark : str
        What they are results of (:func:`digest`).

    Raises
    ------
    ValueError
        The folder holds results of something else.
    """

    def __init__(self, folder, mark):
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / _MARK
        if not path.exists():
            with replacing(path, force=False) as scratch:
                scratch.write_text(json.dumps({"of": mark}), encoding="utf-8")
        elif json.loads(path.read_text(encoding="utf-8")) != {"of": mark}:
            raise ValueError(
                f"{self._folder}: holds replicates of other data or settings; remove "
                "it, or give another folder"
            )

    def get(self, place: int, compute):
        """Return the kept result of a task, or compute() and keep it.

        A result is a tuple of arrays and None.
        """
        path = self._folder / f"{place:05d}.npz"
        if path.exists():
            with np.load(path, allow_pickle=False) as kept:
                names = [str(k) for k in range(int(kept["n"]))]
                return tuple(kept[name] if name in kept else None for name in names)
        result = compute()
        arrays = {str(k): x for k, x in enumerate(result) if x is not None}
        with replacing(path, force=True) as scratch:
            np.savez(scratch, n=len(result), **arrays)
        return result


def is_kept_folder(folder) -> bool:
    """Return whether a folder holds kept replicates."""
    return (Path(folder) / _MARK).is_file()


def digest(arrays, *settings) -> str:
    """Return a hash of arrays of numbers and of settings, by their repr."""
    out = hashlib.sha256(repr(settings).encode("utf-8", "surrogatepass"))
    for array in arrays:
        out.update(np.ascontiguousarray(array).tobytes())
    return out.hexdigest()
