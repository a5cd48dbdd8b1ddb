"""Dask collections in, dask collections of the same partitions out."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_mirt.data.cells import DenseCells
from sklearn_mirt.data.checks import dense_scores, object_array
from sklearn_mirt.data.files.atomic import ScratchFolder
from sklearn_mirt.data.responses import ResponseData
from sklearn_mirt.data.shards.responses import ShardedResponses


def is_lazy(X):
    """Return whether X is a dask collection."""
    return hasattr(X, "__dask_graph__")


def has_more_items(X):
    """Return whether X is a dask array with fewer rows than columns."""
    return is_lazy(X) and hasattr(X, "chunks") and X.shape[0] < X.shape[1]


def gathered(X):
    """Return the ResponseData of a dask array of few respondents and many items."""
    import dask

    columns = X.rechunk({0: -1})
    parts = columns.to_delayed()[0]
    first = np.cumsum([0, *columns.chunks[1]])
    coded = dask.delayed(_coded)
    parts = dask.compute(
        *(coded(part, int(a)) for part, a in zip(parts, first[:-1], strict=True))
    )
    cells = DenseCells(np.concatenate(parts), None)
    ids = [object_array(range(n)) for n in X.shape]
    return ResponseData(cells, *ids)


def _coded(part, first):
    """Return the checked scores (n_items, n_respondents) of some columns."""
    return dense_scores(part, lambda i, j: f"respondent {i}, item {first + j}")


def wide_shards(X):
    """Return the ShardedResponses of a dask array or wide dask DataFrame."""
    folder = ScratchFolder("sklearn-mirt-")
    data = ShardedResponses.from_wide(X, f"{folder.name}/shards")
    data.scratch = folder  # the shards live as long as the data
    return data


def long_shards(X, y):
    """Return the ShardedResponses of a dask DataFrame of two columns and its scores."""
    if not hasattr(X, "columns") or len(X.columns) != 2:
        raise ValueError(
            "X must be a dask DataFrame of exactly two columns, respondent and item"
        )
    if not is_lazy(y) or y.npartitions != X.npartitions:
        raise ValueError(
            "y must be a dask Series of the partitions of X, for instance a column of "
            "the same dask DataFrame"
        )
    respondent, item = X.columns
    folder = ScratchFolder("sklearn-mirt-")
    data = ShardedResponses.from_long(
        X.assign(**{_SCORE: y}),
        f"{folder.name}/shards",
        respondent=respondent,
        item=item,
        score=_SCORE,
    )
    data.scratch = folder
    return data


_SCORE = "sklearn_mirt_score"  # a column of ours beside the two of X


def lazily(estimator, method, X, n_columns=None):
    """Return method(X) of a fitted estimator, a dask array of the partitions of X.

    Parameters
    ----------
    estimator : estimator
    method : str
        Each row of its result depends on the same row of X alone.
    X : dask collection
    n_columns : int, default=None
        Number of columns of the result; None for one number per row.
    """
    call = _Method(_scorer(estimator), method)
    tail = () if n_columns is None else (n_columns,)
    meta = np.empty((0, *tail))
    if hasattr(X, "chunks"):
        X = X.rechunk({1: -1})
        kind = {"dtype": float, "meta": meta}
        if n_columns is None:
            return X.map_blocks(call, drop_axis=1, **kind)
        return X.map_blocks(call, chunks=(X.chunks[0], tail), **kind)
    return X.map_partitions(call, meta=meta)


def share_right(estimator, X, y):
    """Return the share of answers whose label is predicted, partition by partition."""
    import dask

    right = dask.delayed(_Right(_scorer(estimator)))
    parts = zip(X.to_delayed(), y.to_delayed(), strict=True)
    counts = dask.compute(*(right(*part) for part in parts))
    return float(np.divide(*np.sum(counts, axis=0)))


def _scorer(estimator):
    """Return a copy for workers, without what no prediction needs."""
    scorer = copy.copy(estimator)
    scorer.n_jobs = 1
    scorer.__dict__.pop("_last_result", None)
    return scorer


@dataclass(frozen=True, eq=False)
class _Method:
    estimator: Any
    name: str

    def __call__(self, X):
        return getattr(self.estimator, self.name)(X)


@dataclass(frozen=True, eq=False)
class _Right:
    estimator: Any

    def __call__(self, X, y):
        return int((self.estimator.predict(X) == np.asarray(y)).sum()), len(y)
