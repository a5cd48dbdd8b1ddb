"""Pieces of a table that is never read as a whole: row groups, partitions."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn_mirt.data.shards.workers import cluster_map, gathered

_PIECE_ROWS = 2**20


@dataclass(frozen=True)
class ParquetPiece:
    """Neighbouring row groups of one file."""

    path: str
    groups: tuple
    first_row: int
    number: int

    def read(self, names):
        """Return an Arrow table of some columns."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self.path) as file:
                return file.read_row_groups(list(self.groups), columns=names)
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"{self.path} cannot be read: {error}") from error

    def name(self, k):
        """Return the place of row k of the piece in words."""
        return f"row {self.first_row + k} of {self.path}"


@dataclass(frozen=True, eq=False)
class FramePiece:
    """One partition of a dask DataFrame, delayed or computed."""

    table: Any
    number: int

    def read(self, names):
        """Return an Arrow table of some columns."""
        import pyarrow as pa

        return pa.Table.from_pandas(self.table[names], preserve_index=False)

    def name(self, k):
        """Return the place of row k of the piece in words."""
        return f"row {k} of partition {self.number}"


class PieceMap:
    """Maps functions over pieces with something delayed, and over anything else."""

    def __init__(self, client):
        self._client = client

    def __call__(self, function, values):
        """Return the list of function(value)."""
        if not hasattr(getattr(values[0], "table", None), "__dask_graph__"):
            return cluster_map(self._client)(function, values)
        import dask

        call = dask.delayed(_with_table)
        tasks = [call(function, replace(v, table=None), v.table) for v in values]
        if self._client is not None:
            return gathered(self._client, self._client.compute(tasks))
        return [task.compute(scheduler="single-threaded") for task in tasks]


def _with_table(function, piece, table):
    return function(replace(piece, table=table))


def parquet_pieces(source, names):
    """Return the pieces of a folder of Parquet files, or of some files, and row count.

    Raises
    ------
    ValueError
        A file is no Parquet file or lacks a column; all such files are named.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    pieces: list[ParquetPiece] = []
    wrong, n_rows = [], 0
    for path in _files(source):
        try:
            about = pq.read_metadata(path)
        except (OSError, pa.ArrowException) as error:
            wrong.append(f"{path} is no Parquet file ({str(error).splitlines()[0]})")
            continue
        present = about.schema.to_arrow_schema().names
        lacking = [name for name in names if name not in present]
        if lacking:
            wrong.append(f"{path} has no column {lacking[0]!r}; it has {present[:9]}")
            continue
        n_rows += about.num_rows
        pieces += _pieces_of(path, about, len(pieces))
    if wrong:
        raise ValueError("; ".join(wrong[:5]) + ("; ..." if len(wrong) > 5 else ""))
    if n_rows == 0:
        raise ValueError(f"There are no answers: {source} has no rows")
    return pieces, n_rows


def parquet_names(source):
    """Return the names of the columns of the first Parquet file of a folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = _files(source)[0]
    try:
        return pq.read_schema(first).names
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{first} is no Parquet file ({error})") from error


def _files(source):
    if isinstance(source, str | os.PathLike):
        folder = Path(source)
        found = sorted(folder.rglob("*.parquet")) if folder.is_dir() else [folder]
    else:
        found = [Path(path) for path in source]
    if not found:
        raise ValueError(f"{source} has no file whose name ends in .parquet")
    return [str(path.absolute()) for path in found]


def _pieces_of(path, about, number):
    """Yield runs of row groups of about _PIECE_ROWS rows."""
    groups, rows, first = [], 0, 0
    for k in range(about.num_row_groups):
        groups.append(k)
        rows += about.row_group(k).num_rows
        if rows >= _PIECE_ROWS or k == about.num_row_groups - 1:
            if rows:
                yield ParquetPiece(path, tuple(groups), first, number)
                number += 1
            groups, first, rows = [], first + rows, 0
