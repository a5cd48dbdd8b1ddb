"""Ids of respondents and items as arrays: their type, places and shards."""

import numpy as np


def plain_ids(ids):
    """Return ids as an array of text or of 64-bit integers."""
    ids = np.asarray(ids)
    return ids.astype(str if ids.dtype.kind in "OUS" else np.int64)


def distinct_ids(values, kind, piece):
    """Return a column of ids as an array of integers or of text."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64()).to_numpy()
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return np.array(values.to_pylist(), dtype=str)
    raise ValueError(
        f"The {kind} ids in {piece.name(0)} are of type {values.type}; they must be "
        "whole numbers or text"
    )


def places_of(ids, known):
    """Return the place of each id among the known ones, -1 for any other."""
    if ids.dtype.kind != known.dtype.kind:
        return np.full(len(ids), -1, dtype=np.int32)
    order = np.argsort(known)
    at = np.searchsorted(known, ids, sorter=order)
    place = order[np.minimum(at, len(known) - 1)]
    return np.where(known[place] == ids, place, -1).astype(np.int32)


def shard_of(ids, n_shards):
    """Return the shard of each id: a hash, the same on every machine."""
    from pandas.util import hash_array

    values = ids.astype(object) if ids.dtype.kind == "U" else ids
    hashed = hash_array(values, categorize=False)
    small = np.int16 if n_shards < 2**15 else np.int32  # is sorted by its digits
    return (hashed % np.uint64(n_shards)).astype(small)
