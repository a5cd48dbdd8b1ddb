"""Puts the rows of a wide table into shards, run by run, in their order."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_mirt.data.cells import MISSING, SPARSE_BELOW, DenseCells, store
from sklearn_mirt.data.checks import dense_scores
from sklearn_mirt.data.files.atomic import whole_folder
from sklearn_mirt.data.shards.folder import write_manifest, write_shard
from sklearn_mirt.data.shards.ids import distinct_ids, plain_ids, shard_of
from sklearn_mirt.data.shards.long_table import SHARD_ROWS
from sklearn_mirt.data.shards.pieces import PieceMap, parquet_names, parquet_pieces

_RUN_CELLS = 2**24  # of an array that has no chunks of its own


@dataclass(frozen=True, eq=False)
class RowsPiece:
    """A run of rows: a table, or something delayed that becomes one."""

    table: Any
    number: int
    first_row: int | None  # None where it is not known

    def name(self, k):
        """Return the place of row k of the run in words."""
        if self.first_row is None:
            return f"row {k} of partition {self.number}"
        return f"row {self.first_row + k}"


@dataclass(frozen=True, eq=False)
class _ArraySlice:
    """A run of rows of an array on disk, read when it is asked for."""

    array: Any
    rows: slice

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array[self.rows], dtype=dtype)


def put_wide_table(X, directory, items, client):
    """Put a dask collection or any array into shards; see ShardedResponses.from_wide.

    Raises
    ------
    ValueError
        The table has not two dimensions or no rows or columns.
    """
    names = getattr(X, "columns", None)
    if names is None and len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D array instead: responses are a "
            "table with one row per respondent and one column per item"
        )
    n_items = X.shape[1] if names is None else len(names)
    if items is None:
        items = range(n_items) if names is None else list(names)
    if len(items) != n_items:
        raise ValueError(f"Got {len(items)} item ids for {n_items} columns")
    _put(_pieces(X), directory, plain_ids(list(items)), PieceMap(client), None)


def put_wide_files(source, directory, respondent, mapper):
    """Put wide Parquet files into shards; see ShardedResponses.from_parquet."""
    names = parquet_names(source)
    if respondent is not None and respondent not in names:
        raise ValueError(f"There is no column {respondent!r}; there are {names[:9]}")
    pieces, _ = parquet_pieces(source, names)
    items = [name for name in names if name != respondent]
    _put(pieces, directory, plain_ids(items), mapper, respondent)


def _pieces(X):
    if not hasattr(X, "__dask_graph__"):
        step = max(1, _RUN_CELLS // max(X.shape[1], 1))
        starts = range(0, X.shape[0], step)
        slices = [_ArraySlice(X, slice(a, a + step)) for a in starts]
        return [RowsPiece(s, k, s.rows.start) for k, s in enumerate(slices)]
    if hasattr(X, "columns"):
        return [RowsPiece(part, k, None) for k, part in enumerate(X.to_delayed())]
    X = X.rechunk({1: -1})
    parts, first = X.to_delayed()[:, 0], np.cumsum([0, *X.chunks[0]])
    rows = [None if np.isnan(a) else int(a) for a in first]
    return [RowsPiece(part, k, rows[k]) for k, part in enumerate(parts)]


def _put(pieces, directory, items, mapper, respondent):
    with whole_folder(Path(directory).absolute()) as folder:
        written = mapper(_Write(folder, items, respondent), pieces)
        if not written:
            raise ValueError("There are no respondents")
        counts = [sum(part[3][k] for part in written) for k in range(3)]
        if counts[2] == 0:
            raise ValueError("There are no answers: every score is missing")
        if respondent is not None:
            paths = [str(folder / part[0]) for part in written]
            _refuse_repeats(paths, counts[0], pieces, mapper)
        sums = [sum(part[k] for part in written) for k in (1, 2)]
        write_manifest(folder, items, [part[0] for part in written], sums, counts)


def _refuse_repeats(paths, n_rows, pieces, mapper):
    """Refuse a respondent with more than one row, in whatever files they are."""
    n_parts = -(-n_rows // SHARD_ROWS)  # whose ids one machine holds
    search = partial(_repeated_respondent, paths, n_parts)
    for found in mapper(search, list(range(n_parts))):
        if found is not None:
            respondent, places = found
            names = ", ".join(pieces[k].name(row) for k, row in places[:5])
            raise ValueError(
                f"Respondent {respondent!r} has more than one row: {names}"
            )


def _repeated_respondent(paths, n_parts, part):
    """Return a respondent of two rows, and these, among those of one hash; or None."""
    ids, places = [], []
    for k, path in enumerate(paths):
        with np.load(path) as arrays:
            everyone = arrays["ids"]
        rows = np.flatnonzero(shard_of(everyone, n_parts) == part)
        ids.append(everyone[rows])
        places.append(np.column_stack([np.full_like(rows, k), rows]))
    found = np.concatenate(ids)
    values, counts = np.unique(found, return_counts=True)
    if np.all(counts <= 1):
        return None
    repeated = values[counts > 1][0]
    return repeated.item(), np.concatenate(places)[found == repeated].tolist()


@dataclass(frozen=True, eq=False)
class _Write:
    """Checks and writes the shard of a run of rows."""

    folder: Path
    items: np.ndarray
    respondent: str | None

    def __call__(self, piece):
        table, ids = self._table(piece)
        scores = self._checked(table, ids, piece)
        seen = scores != MISSING
        score = np.where(seen, scores, 0).sum(0, dtype=np.float64)
        cells = DenseCells(scores, None)
        if np.count_nonzero(seen) < SPARSE_BELOW * scores.size:
            row, item = np.nonzero(seen)
            cells = store(item, row, scores[row, item], None, scores.shape[::-1])
        if ids is None:
            first = piece.first_row or 0
            ids = np.arange(first, first + len(scores))
        name = write_shard(self.folder, piece.number, ids, cells)
        counts = [len(scores), int(seen.any(1).sum()), int(seen.sum())]
        return name, seen.sum(0, dtype=np.float64), score, counts

    def _table(self, piece):
        """Return scores as a frame or array, and respondent ids if it has any."""
        if isinstance(piece, RowsPiece):
            table = piece.table
            return (table if hasattr(table, "iloc") else np.asarray(table)), None
        names = [*self.items, *([self.respondent] if self.respondent else [])]
        table = piece.read(names)
        if self.respondent is None:
            return table.to_pandas(), None
        ids = distinct_ids(table.column(self.respondent), "respondent", piece)
        return table.drop_columns([self.respondent]).to_pandas(), ids

    def _checked(self, table, ids, piece):
        def name(i, j):
            who = "" if ids is None else f"respondent {ids[i].item()!r}, "
            return f"{piece.name(i)} ({who}item {self.items[j].item()!r})"

        return np.ascontiguousarray(dense_scores(table, name).T)
