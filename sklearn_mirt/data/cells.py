"""How cells are stored: dense (items, respondents) arrays, or observed pairs by item.

A missing cell is the score -1: scores lie in [0, 1], so it cannot be mistaken for one,
and 0/1 answers fit in one byte. Both classes answer the same methods.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix

MISSING = -1
CHUNK_CELLS = 2**18
_LEAST_ROWS = 64  # about: the sums by column of a run are then small beside its work
SPARSE_BELOW = 0.15  # share of observed cells under which storing pairs is smaller


@dataclass(frozen=True, eq=False)
class DenseBlock:
    """Scores of a run of items: (n_block_items, n_respondents), -1 where missing.

    `logit_offset` is a known additive term of the logit of each cell; finite.
    """

    start: int
    stop: int
    scores: np.ndarray
    weights: np.ndarray | None
    logit_offset: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class SparseBlock:
    """Observed scores of a run of items, item after item (compressed columns)."""

    start: int
    stop: int
    offsets: np.ndarray
    respondents: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None
    logit_offset: np.ndarray | None = None


def _even_edges(shape, n_cells, n_runs):
    """Return edges of at least one run of rows, all of one size, about `n_cells` cells.

    More of them, up to `n_runs`, as long as each has a quarter of these cells; four or
    a multiple of it, so that threads get the same.
    """
    n_rows, n_columns = shape
    cells = n_rows * n_columns
    few = min(n_runs, 4 * cells // n_cells)
    n_runs = max(-(-cells // n_cells), few - few % 4 if few > 4 else few)
    n_runs = max(min(n_runs, -(-n_rows // _LEAST_ROWS)), 1)
    return [n_rows * k // n_runs for k in range(n_runs + 1)]


@dataclass(frozen=True, eq=False)
class DenseCells:
    """All cells: scores (n_items, n_respondents), -1 where missing, and weights."""

    scores: np.ndarray
    weights: np.ndarray | None

    def blocks(self, n_cells, n_runs=1):
        """Return runs of items, as views; see :meth:`ResponseData.blocks`."""
        edges = _even_edges(self.scores.shape, n_cells, n_runs)
        return [
            DenseBlock(
                start,
                stop,
                self.scores[start:stop],
                None if self.weights is None else self.weights[start:stop],
            )
            for start, stop in pairwise(edges)
        ]

    def respondent_runs(self, n_cells, n_runs=1):
        """Return cells of runs of respondents, these along the first axis, copied."""
        weights = None if self.weights is None else self.weights.T
        return [
            DenseCells(
                np.ascontiguousarray(block.scores),
                None if block.weights is None else np.ascontiguousarray(block.weights),
            )
            for block in DenseCells(self.scores.T, weights).blocks(n_cells, n_runs)
        ]

    def answered(self):
        """Return whether each item has any answer."""
        return (self.scores != MISSING).any(1)

    def take_items(self, index):
        """Return the cells of the items at an index or mask."""
        return DenseCells(
            self.scores[index], None if self.weights is None else self.weights[index]
        )

    def take_respondents(self, index):
        """Return the cells of the respondents at an index or mask."""
        return DenseCells(
            np.ascontiguousarray(self.scores[:, index]),
            None
            if self.weights is None
            else np.ascontiguousarray(self.weights[:, index]),
        )

    def cells(self):
        """Return item, respondent, score, weight (None if all 1) of observed cells."""
        item, respondent = np.nonzero(self.scores != MISSING)
        weights = None if self.weights is None else self.weights[item, respondent]
        return item, respondent, self.scores[item, respondent], weights

    def sums(self):
        """Return weights and weighted scores summed over each axis."""
        n_items, n_respondents = self.scores.shape
        weight = [np.zeros(n_items), np.zeros(n_respondents)]
        score = [np.zeros(n_items), np.zeros(n_respondents)]
        for block in self.blocks(CHUNK_CELLS):
            w = (block.scores != MISSING).astype(np.float64)
            if block.weights is not None:
                w *= block.weights
            ws = w * block.scores
            weight[0][block.start : block.stop] = w.sum(1)
            score[0][block.start : block.stop] = ws.sum(1)
            weight[1] += w.sum(0)
            score[1] += ws.sum(0)
        return weight, score

    def sums_by_group(self, groups, n_groups):
        """Return weights and weighted scores summed over the items of each group."""
        n_respondents = self.scores.shape[1]
        weight = np.zeros((n_groups, n_respondents))
        score = np.zeros((n_groups, n_respondents))
        for block in self.blocks(CHUNK_CELLS):
            w = (block.scores != MISSING).astype(np.float64)
            if block.weights is not None:
                w *= block.weights
            present, local = np.unique(
                groups[block.start : block.stop], return_inverse=True
            )
            member = (local == np.arange(len(present))[:, None]).astype(np.float64)
            weight[present] += member @ w
            score[present] += member @ (w * block.scores)
        return weight.T, score.T

    def n_observed(self):
        """Return the number of observed cells."""
        return int(
            sum(np.count_nonzero(b.scores != MISSING) for b in self.blocks(CHUNK_CELLS))
        )


@dataclass(frozen=True, eq=False)
class SparseCells:
    """Observed cells only, item after item (compressed columns)."""

    offsets: np.ndarray
    respondents: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None
    n_respondents: int

    def blocks(self, n_cells, n_runs=1):
        """Return runs of items, as views; see :meth:`ResponseData.blocks`."""
        n_items = len(self.offsets) - 1
        n_cells = max(n_cells, 4 * self.n_respondents)
        found, start = [], 0
        while start < n_items:
            limit = self.offsets[start] + n_cells
            stop = int(np.searchsorted(self.offsets, limit, side="right")) - 1
            stop = min(max(stop, start + 1), n_items)
            found.append(self._block(start, stop))
            start = stop
        return found

    def _block(self, start, stop):
        cells = slice(self.offsets[start], self.offsets[stop])
        return SparseBlock(
            start,
            stop,
            self.offsets[start : stop + 1] - self.offsets[start],
            self.respondents[cells],
            self.scores[cells],
            None if self.weights is None else self.weights[cells],
        )

    def respondent_runs(self, n_cells, n_runs=1):
        """Return cells of runs of respondents, these along the first axis, copied."""
        n_items = len(self.offsets) - 1
        number = np.arange(len(self.scores))
        shape = n_items, self.n_respondents
        turned = csr_matrix((number, self.respondents, self.offsets), shape).tocsc()
        turned = SparseCells(
            turned.indptr,
            turned.indices,
            self.scores[turned.data],
            None if self.weights is None else self.weights[turned.data],
            n_items,
        )
        return [
            SparseCells(b.offsets, b.respondents, b.scores, b.weights, n_items)
            for b in turned.blocks(n_cells)
        ]

    def answered(self):
        """Return whether each item has any answer."""
        return np.diff(self.offsets) > 0

    def take_items(self, index):
        """Return the cells of the items at an index or mask."""
        index = np.arange(len(self.offsets) - 1)[index]
        counts = np.diff(self.offsets)[index]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        cells = np.repeat(self.offsets[index] - offsets[:-1], counts)
        cells = cells + np.arange(offsets[-1])
        return SparseCells(
            offsets,
            self.respondents[cells],
            self.scores[cells],
            None if self.weights is None else self.weights[cells],
            self.n_respondents,
        )

    def take_respondents(self, index):
        """Return the cells of the respondents at an index or mask."""
        index = np.arange(self.n_respondents)[index]
        place = np.full(self.n_respondents, -1)
        place[index] = np.arange(len(index))
        item, respondent, scores, weights = self.cells()
        keep = place[respondent] >= 0
        return _sparse_cells(
            item[keep],
            place[respondent[keep]],
            scores[keep],
            None if weights is None else weights[keep],
            len(self.offsets) - 1,
            len(index),
        )

    def cells(self):
        """Return item, respondent, score, weight (None if all 1) of observed cells."""
        item = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return item, self.respondents, self.scores, self.weights

    def sums(self):
        """Return weights and weighted scores summed over each axis."""
        item, respondent, scores, weights = self.cells()
        w = np.ones(len(scores)) if weights is None else weights.astype(np.float64)
        ws = w * scores
        sizes = (len(self.offsets) - 1, self.n_respondents)
        axes = (item, respondent)
        return (
            [np.bincount(a, w, n) for a, n in zip(axes, sizes, strict=True)],
            [np.bincount(a, ws, n) for a, n in zip(axes, sizes, strict=True)],
        )

    def sums_by_group(self, groups, n_groups):
        """Return weights and weighted scores summed over the items of each group."""
        item, respondent, scores, weights = self.cells()
        w = np.ones(len(scores)) if weights is None else weights.astype(np.float64)
        cell = respondent * np.int64(n_groups) + groups[item]
        shape = (self.n_respondents, n_groups)
        n = shape[0] * shape[1]
        return (
            np.bincount(cell, w, n).reshape(shape),
            np.bincount(cell, w * scores, n).reshape(shape),
        )

    def n_observed(self):
        """Return the number of observed cells."""
        return len(self.scores)


def resolve_repeats(
    row, column, scores, weights, shape, aggregate, ids
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Return unique cells sorted by item and respondent, repeats merged as asked."""
    code = column.astype(np.int64) * shape[0] + row
    order = np.argsort(code, kind="stable")
    code = code[order]
    repeated = np.flatnonzero(code[1:] == code[:-1])
    if len(repeated) and aggregate is None:
        k = order[repeated[0]]
        raise ValueError(
            f"Respondent {ids[0][row[k]]!r} has more than one answer to item "
            f"{ids[1][column[k]]!r} ({len(repeated)} repeated cells in all); pass "
            "aggregate='mean', 'first' or 'count' to merge them"
        )
    row, column, scores = row[order], column[order], scores[order]
    weights = None if weights is None else weights[order]
    if not len(repeated):
        return row, column, scores, weights
    first = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
    row, column = row[first], column[first]
    if aggregate == "first":
        weights = None if weights is None else weights[first]
        return row, column, scores[first], weights
    w = np.ones(len(scores)) if weights is None else weights.astype(np.float64)
    total = np.add.reduceat(w, first)
    mean = (np.add.reduceat(w * scores, first) / total).astype(np.float32)
    if aggregate == "count":
        return row, column, mean, total.astype(np.float32)
    counts = np.diff(np.r_[first, len(scores)])
    weights = None if weights is None else (total / counts).astype(np.float32)
    return row, column, mean, weights


def store(row, column, scores, weights, shape):
    """Return checked unique cells in the storage that is smaller."""
    n_respondents, n_items = shape
    if len(scores) < SPARSE_BELOW * n_respondents * n_items:
        return _sparse_cells(column, row, scores, weights, n_items, n_respondents)
    dense = np.full((n_items, n_respondents), MISSING, dtype=scores.dtype)
    dense[column, row] = scores
    if weights is not None:
        full = np.zeros((n_items, n_respondents), dtype=np.float32)
        full[column, row] = weights
        weights = full
    return DenseCells(dense, weights)


def _sparse_cells(item, respondent, scores, weights, n_items, n_respondents):
    """Compressed columns of cells given in item order."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=n_items))])
    return SparseCells(
        offsets,
        respondent.astype(np.int32),
        np.ascontiguousarray(scores),
        weights,
        n_respondents,
    )
