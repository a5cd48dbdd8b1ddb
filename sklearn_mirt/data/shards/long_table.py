"""Puts answers into shards of respondents, once, on disk.

Two steps, each a function of one piece, so that threads or the workers of a cluster do
them alike. `split_table` codes the rows of a piece and sorts them by shard into one
file with a batch for each shard; `build_shard` collects its batches of all files. The
shard of a respondent is a hash of the id: no table of all respondents is ever made, and
the shards are the same whatever files the answers came in. Bad input ends with an error
that names file and row, and nothing is left behind.
"""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sklearn_mirt.data.cells import MISSING, resolve_repeats, store
from sklearn_mirt.data.checks import checked_scores, checked_weights
from sklearn_mirt.data.files.atomic import whole_folder
from sklearn_mirt.data.shards.folder import write_manifest, write_shard
from sklearn_mirt.data.shards.ids import distinct_ids, places_of, plain_ids, shard_of

SHARD_ROWS = 2**23  # of a shard, at most
_ROW_BYTES = 64  # that a row takes while its shard is sorted
_FEW_ROWS = 2**16
_SHARDS = 64


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a long table; `weight` may be None."""

    respondent: str = "respondent"
    item: str = "item"
    score: str = "score"
    weight: str | None = None

    def names(self):
        """Return the names that are given."""
        return [name for name in vars(self).values() if name is not None]


@dataclass(frozen=True, eq=False)
class Plan:
    """What is the same for all pieces."""

    columns: Columns
    items: np.ndarray
    n_shards: int
    aggregate: str | None
    folder: Path

    def split(self, number):
        """Return the path of the split file of a piece."""
        return self.folder / f"split-{number:06d}.arrow"


class RepeatedAnswerError(ValueError):
    """A respondent answered an item more than once."""

    def __init__(self, respondent, item):
        super().__init__(respondent, item)
        self.respondent, self.item = respondent, item


def number_of_shards(n_rows, max_memory):
    """Return how many shards a number of answers is put into.

    64, so that what travels in a pass does not depend on the number of respondents;
    fewer where there is little to share, more where a shard would be too large to sort
    in a quarter of the memory, in bytes.
    """
    few = max(1, min(_SHARDS, n_rows // _FEW_ROWS))
    many, most = few, min(SHARD_ROWS, max_memory // (4 * _ROW_BYTES))
    while n_rows > many * most:
        many *= 2
    return many


def put_into_shards(pieces, columns, directory, mapper, *, items, n_shards, aggregate):
    """Split pieces, build shards, and write the manifest; all of it or nothing.

    Parameters
    ----------
    pieces : list of ParquetPiece, or of what `mapper` makes FramePieces of
    columns : Columns
    directory : Path
        Made here; refused where it exists.
    mapper : callable
        ``mapper(function, values)`` returns the list of function(value).
    items : array-like or None
        Known item ids; None to find them.
    n_shards : int
    aggregate : str or None
        As in ``ResponseData.from_long``.
    """
    with whole_folder(Path(directory).absolute()) as folder:
        if items is None:
            found = mapper(partial(_items_of, columns.item), pieces)
            items = np.unique(np.concatenate(found))
        plan = Plan(columns, plain_ids(items), n_shards, aggregate, folder)
        splits = mapper(partial(_split, plan), pieces)
        try:
            built = mapper(partial(build_shard, plan, splits), list(range(n_shards)))
        except RepeatedAnswerError as error:
            find = partial(_find, columns, error.respondent, error.item)
            places = mapper(find, pieces)
            raise ValueError(_repeated(error, sum(places, []))) from None
        for path in splits:
            os.unlink(path)
        weight, score = (sum(part[k] for part in built) for k in (1, 2))
        counts = [sum(part[3][k] for part in built) for k in range(3)]
        if counts[2] == 0:
            raise ValueError("There are no answers: every score is missing")
        names = [part[0] for part in built]
        ids = [columns.respondent, columns.item]
        write_manifest(folder, plan.items, names, (weight, score), counts, ids)


def _repeated(error, places):
    return (
        f"Respondent {error.respondent!r} has more than one answer to item "
        f"{error.item!r}: {', '.join(places[:5])}; pass aggregate='mean', 'first' or "
        "'count' to merge them"
    )


# ---- steps on one piece: functions with arguments, which travel to other processes


def _items_of(column, piece):
    values = piece.read([column]).column(0)
    return distinct_ids(values.drop_null().unique(), "item", piece)


def _split(plan, piece):
    table = piece.read(plan.columns.names())
    rows, edges = split_table(table, piece, plan)
    return _write_split(rows, edges, plan.split(piece.number))


def _find(columns, respondent, item, piece):
    """Return the places of the answers of one respondent to one item."""
    import pyarrow.compute as pc

    table = piece.read([columns.respondent, columns.item])
    same = pc.and_(
        pc.equal(table.column(0), respondent), pc.equal(table.column(1), item)
    )
    return [piece.name(int(k)) for k in np.flatnonzero(same.to_numpy())]


def split_table(table, piece, plan):
    """Return checked, coded rows ordered by shard, and the edges of the shards.

    Raises
    ------
    ValueError
        An id is missing, an item is not known, a score or weight is wrong; the message
        names the row.
    """
    import pyarrow as pa

    columns = plan.columns
    respondent = _encoded(table.column(columns.respondent), "respondent", piece)
    item = _encoded(table.column(columns.item), "item", piece)
    place = places_of(item[1], plan.items)
    code = place[item[0]]
    if np.any(code < 0):
        k = int(np.argmax(code < 0))
        raise ValueError(
            f"The item {_scalar(item[1][item[0][k]])!r} in {piece.name(k)} is none of "
            f"the {len(plan.items)} known items"
        )

    def name(k):
        who, what = respondent[1][respondent[0][k]], plan.items[code[k]]
        return f"{piece.name(k)} (respondent {_scalar(who)!r}, item {_scalar(what)!r})"

    scores = checked_scores(table.column(columns.score).to_pandas(), name)
    shard = shard_of(respondent[1], plan.n_shards)[respondent[0]]
    order = np.argsort(shard, kind="stable")
    arrays = {
        "respondent": pa.array(respondent[1]).take(pa.array(respondent[0][order])),
        "item": pa.array(code[order]),
        "score": pa.array(scores[order]),
    }
    if columns.weight is not None:
        weights = table.column(columns.weight).to_numpy()
        weights = checked_weights(weights, len(scores), name)
        weights = np.ones(len(scores), np.float32) if weights is None else weights
        arrays["weight"] = pa.array(weights[order])
    edges = np.searchsorted(shard[order], np.arange(plan.n_shards + 1))
    return pa.table(arrays), edges


def _encoded(column, kind, piece):
    """Return codes and distinct ids of a column, which must miss nothing."""
    if column.null_count:
        k = int(np.argmax(column.is_null().to_numpy()))
        raise ValueError(f"The {kind} id is missing in {piece.name(k)}")
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(), distinct_ids(encoded.dictionary, kind, piece)


def _scalar(value):
    return value.item() if hasattr(value, "item") else value


def _write_split(table, edges, path):
    """Write one batch for each shard, to be read one at a time."""
    import pyarrow as pa

    table = table.combine_chunks()
    scratch = path.with_suffix(".part")
    with pa.OSFile(str(scratch), "wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            for a, b in zip(edges[:-1], edges[1:], strict=True):
                batches = table.slice(a, b - a).to_batches()
                empty = pa.RecordBatch.from_pylist([], schema=table.schema)
                writer.write_batch(batches[0] if batches else empty)
    os.replace(scratch, path)
    return str(path)


def build_shard(plan, splits, k):
    """Collect, sort and write one shard.

    Returns
    -------
    name : str
        The file in the folder of the plan.
    weight, score : ndarrays of shape (n_items,)
        Sums over the answers to each item.
    counts : list
        Respondents, respondents with answers, answers.
    """
    ids, code, item, scores, weights = _collect(splits, k)
    keep = scores != MISSING
    if weights is not None:
        keep &= weights > 0
        weights = weights[keep]
    item, code, scores = item[keep], code[keep], scores[keep]
    shape = (len(plan.items), len(ids))
    if plan.aggregate is None:
        _refuse_repeats(item, code, plan.items, ids)
    names = (plan.items, ids)
    item, code, scores, weights = resolve_repeats(
        item, code, scores, weights, shape, plan.aggregate, names
    )
    if np.isin(scores, (0, 1)).all():
        scores = scores.astype(np.int8)
    name = write_shard(plan.folder, k, ids, store(item, code, scores, weights, shape))
    w = np.ones(len(scores)) if weights is None else weights.astype(np.float64)
    sums = [np.bincount(item, part, len(plan.items)) for part in (w, w * scores)]
    answered = np.count_nonzero(np.bincount(code))
    return name, *sums, [len(ids), answered, len(scores)]


def _collect(splits, k):
    """Return respondent ids, sorted, and the coded rows of one shard."""
    import pyarrow as pa

    batches = []
    for path in splits:
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as reader:
            batches.append(reader.get_batch(k))
    wide = any(pa.types.is_floating(b.schema.field("score").type) for b in batches)
    parts = {
        name: [b.column(name) for b in batches] for name in batches[0].schema.names
    }
    encoded = pa.chunked_array(parts["respondent"]).combine_chunks()
    encoded = encoded.dictionary_encode()
    ids = encoded.dictionary.to_numpy(zero_copy_only=False)
    ids = plain_ids(ids) if len(ids) else ids.astype(np.int64)
    order = np.argsort(ids)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    code = rank[encoded.indices.to_numpy()]
    item = np.concatenate([part.to_numpy() for part in parts["item"]])
    dtype = np.float32 if wide else np.int8
    scores = np.concatenate([part.to_numpy().astype(dtype) for part in parts["score"]])
    weights = None
    if "weight" in parts:
        weights = np.concatenate([part.to_numpy() for part in parts["weight"]])
        weights = None if np.all(weights == 1) else weights
    return ids[order], code, item, scores, weights


def _refuse_repeats(item, code, items, ids):
    key = np.sort(code * len(items) + item)
    repeated = np.flatnonzero(key[1:] == key[:-1])
    if len(repeated):
        who, what = divmod(int(key[repeated[0]]), len(items))
        raise RepeatedAnswerError(_scalar(ids[who]), _scalar(items[what]))
