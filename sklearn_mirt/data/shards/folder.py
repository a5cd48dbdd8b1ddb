"""The folder of shards on disk: one file per shard, and a manifest."""

import json
import os
from dataclasses import dataclass

import numpy as np

from sklearn_mirt.data.cells import DenseCells, SparseCells

MANIFEST = "shards.json"
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class ShardFile:
    """One shard on disk: compressed rows of respondents and their ids.

    Parameters
    ----------
    path : str
        A .npz file.
    n_items : int
    """

    path: str
    n_items: int

    def size(self):
        """Return the bytes of the file, which it takes in memory too."""
        return os.path.getsize(self.path)

    def load(self):
        """Return the cells, respondents along the first axis."""
        with np.load(self.path) as arrays:
            weights = arrays["weights"] if "weights" in arrays else None
            if "offsets" not in arrays:
                return DenseCells(arrays["scores"], weights)
            return SparseCells(
                arrays["offsets"],
                arrays["items"],
                arrays["scores"],
                weights,
                self.n_items,
            )

    def ids(self):
        """Return the ids of the respondents, in the order of the rows."""
        with np.load(self.path) as arrays:
            return arrays["ids"]


def write_shard(folder, k, ids, cells):
    """Write respondent ids and cells as a file of a folder; return its name."""
    arrays = {"ids": ids}
    if isinstance(cells, SparseCells):
        arrays |= {"items": cells.respondents, "offsets": cells.offsets}
    arrays["scores"] = cells.scores
    if cells.weights is not None:
        arrays["weights"] = cells.weights
    name = f"shard-{k:05d}.npz"
    scratch = folder / f"{name}.part"
    with open(scratch, "wb") as file:
        np.savez(file, **arrays)
    os.replace(scratch, folder / name)
    return name


def write_manifest(folder, items, shards, sums, counts, columns=None):
    """Write what :func:`read_manifest` reads.

    Parameters
    ----------
    folder : Path
    items : ndarray
        Item ids, of one type.
    shards : list of str
        File names in the folder.
    sums : pair of ndarrays
        Weight and score of each item.
    counts : list of int
        Respondents, those with answers, answers.
    columns : pair of str, default=None
        Names of the columns of respondents and items of a long table.
    """
    np.savez(folder / "items.npz", ids=items, weight=sums[0], score=sums[1])
    manifest = {"format": _FORMAT, "shards": shards, "counts": [int(n) for n in counts]}
    manifest["columns"] = columns
    text = json.dumps(manifest, indent=1) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(folder):
    """Return the manifest of a folder, item ids, and weight and score of each item.

    Raises
    ------
    ValueError
        The folder holds no shards, or shards of another format.
    """
    try:
        with open(folder / MANIFEST, encoding="utf-8") as file:
            manifest = json.load(file)
    except FileNotFoundError:
        raise ValueError(
            f"{folder} holds no shards (there is no {MANIFEST}); make them with "
            "ShardedResponses.from_parquet"
        ) from None
    if manifest["format"] != _FORMAT:
        raise ValueError(
            f"{folder} holds shards of format {manifest['format']}, this version reads "
            f"format {_FORMAT}"
        )
    with np.load(folder / "items.npz") as arrays:
        return manifest, arrays["ids"], (arrays["weight"], arrays["score"])
