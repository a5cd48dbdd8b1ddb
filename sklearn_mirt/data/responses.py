"""ResponseData: checked answers of respondents to items, joined by id.

A cell is a score in [0, 1] with a weight: one answer has weight 1, the mean of n
repeats weight n, a missing answer weight 0. Inside, missing cells are the score -1 and
items run along the first axis, so that a block of items is one contiguous slice.
"""

import numpy as np
from scipy import sparse

from sklearn_mirt.data.cells import (
    MISSING,
    DenseCells,
    SparseCells,
    resolve_repeats,
    store,
)
from sklearn_mirt.data.checks import (
    checked_scores,
    checked_weights,
    dense_scores,
    dense_weights,
    encode_ids,
    refuse_empty,
    refuse_repeat,
    sparse_weights,
    unique_ids,
    unmasked,
)

_AGGREGATES = ("mean", "first", "count")


class ResponseData:
    """Immutable, checked answers of respondents to items.

    Build it with :meth:`from_wide`, :meth:`from_long` or :meth:`from_sparse`; the
    caller's data are never changed. Scores lie in [0, 1]; NaN (or pd.NA, None, an
    absent pair) is a missing answer, which adds nothing to any likelihood.

    Attributes
    ----------
    respondents : ndarray of shape (n_respondents,)
        Respondent ids.
    items : ndarray of shape (n_items,)
        Item ids.

    Examples
    --------
    >>> from sklearn_mirt import ResponseData
    >>> data = ResponseData.from_wide([[1, float("nan")], [float("nan"), 0], [1, 1]])
    >>> data.n_respondents, data.n_items, data.n_observed
    (3, 2, 4)
    """

    def __init__(self, cells, respondents, items):
        self._cells = cells
        self._respondents = respondents
        self._items = items
        self._sums = None
        for array in (respondents, items):
            array.setflags(write=False)

    # ---------------------------------------------------------------- constructors

    @classmethod
    def from_wide(
        cls, X, *, respondents=None, items=None, weights=None, dtype=np.float32
    ):
        """Build from a table: one row per respondent, one column per item.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_respondents, n_items)
            Scores in [0, 1], NaN where there is no answer. A sparse matrix is passed to
            :meth:`from_sparse`.
        respondents, items : array-like, default=None
            Unique ids. Default: index and columns of a DataFrame, else 0, 1, 2...
        weights : array-like of shape (n_respondents, n_items), default=None
            Number of answers that each score is the mean of; 0 means missing.
        dtype : {numpy.float32, numpy.float64}, default=numpy.float32
            What the scores of a table with fractions are stored as.

        Returns
        -------
        data : ResponseData

        Raises
        ------
        ValueError
            Empty table, repeated ids, a score that is no number or outside [0, 1]; the
            message names the respondent and the item.
        """
        if sparse.issparse(X):
            return cls.from_sparse(
                X, respondents=respondents, items=items, weights=weights
            )
        frame = X if hasattr(X, "columns") else None
        if frame is not None:
            index = getattr(X, "index", None)  # polars frames have none
            respondents = index if respondents is None else respondents
            items = X.columns if items is None else items
            shape = X.shape
        else:
            X = unmasked(X)
            shape = X.shape
        if len(shape) != 2:
            raise ValueError(
                f"Expected 2D array, got {len(shape)}D array instead: responses are a "
                "table with one row per respondent and one column per item. Reshape "
                "your data"
            )
        respondents = unique_ids(respondents, shape[0], "respondent")
        items = unique_ids(items, shape[1], "item")
        refuse_empty(shape)

        def name(i, j):
            return f"respondent {respondents[i]!r}, item {items[j]!r}"

        scores = dense_scores(X, name, dtype)
        weights = dense_weights(weights, scores, respondents, items, name)
        return cls(DenseCells(scores, weights), respondents, items)

    @classmethod
    def from_long(cls, respondents, items, scores, *, weights=None, aggregate=None):
        """Build from one row per answer.

        Parameters
        ----------
        respondents, items : array-like of shape (n_answers,)
            Ids. The ids of the result are sorted.
        scores : array-like of shape (n_answers,)
            Scores in [0, 1]; NaN is a missing answer.
        weights : array-like of shape (n_answers,), default=None
            Weight of each answer; 0 means missing.
        aggregate : {None, "mean", "first", "count"}, default=None
            What to do where a respondent answered an item more than once: refuse
            (None); take the mean as one answer ("mean"); take the first ("first");
            take the mean, weighted by the number of answers ("count").

        Returns
        -------
        data : ResponseData

        Raises
        ------
        ValueError
            Lengths differ, an id is missing, a score is no number or outside [0, 1], or
            a pair is repeated and `aggregate` is None.
        """
        if aggregate is not None and aggregate not in _AGGREGATES:
            raise ValueError(
                f"aggregate must be None or one of {_AGGREGATES}, got {aggregate!r}"
            )
        lengths = {len(respondents), len(items), len(scores)}
        if len(lengths) > 1:
            raise ValueError(
                "respondents, items and scores must have the same length, got "
                f"{len(respondents)}, {len(items)} and {len(scores)}"
            )
        if len(scores) == 0:
            raise ValueError("There are no answers: 0 sample(s) (rows) were given")
        row, respondent_ids = encode_ids(respondents, "respondent")
        column, item_ids = encode_ids(items, "item")

        def name(k):
            return (
                f"row {k} (respondent {respondent_ids[row[k]]!r}, "
                f"item {item_ids[column[k]]!r})"
            )

        scores = checked_scores(scores, name)
        weights = checked_weights(weights, len(scores), name)
        cells = row, column, scores, weights
        return cls._from_cells(*cells, respondent_ids, item_ids, aggregate)

    @classmethod
    def from_sparse(
        cls, X, *, respondents=None, items=None, weights=None, require_zeros=True
    ):
        """Build from a scipy.sparse matrix: stored = observed, absent = missing.

        A stored 0 is a wrong answer.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_respondents, n_items)
            Scores in [0, 1].
        respondents, items : array-like, default=None
            Unique ids; default 0, 1, 2...
        weights : sparse matrix of the same pattern, default=None
            Weights of the stored scores.
        require_zeros : bool, default=True
            Refuse a matrix whose stored scores are all 1.

        Returns
        -------
        data : ResponseData

        Raises
        ------
        ValueError
            As :meth:`from_wide`; also, with `require_zeros`, if every stored score is
            1, since the wrong answers have then most likely been lost (by
            ``eliminate_zeros``).
        """
        respondents = unique_ids(respondents, X.shape[0], "respondent")
        items = unique_ids(items, X.shape[1], "item")
        refuse_empty(X.shape)
        coo = X.tocoo()
        row, column = coo.row.astype(np.int64), coo.col.astype(np.int64)

        def name(k):
            return f"respondent {respondents[row[k]]!r}, item {items[column[k]]!r}"

        scores = checked_scores(coo.data, name)
        if require_zeros and len(scores) > 1 and np.all(scores == 1):
            raise ValueError(
                "Every stored score of the sparse matrix is 1. Stored means observed "
                "here and a stored 0 is a wrong answer: the zeros have probably been "
                "eliminated. Give a dense table, or keep the zeros stored"
            )
        if weights is not None:
            weights = sparse_weights(weights, X.shape, row, column)
        weights = checked_weights(weights, len(scores), name)
        return cls._from_cells(row, column, scores, weights, respondents, items)

    @classmethod
    def _from_cells(
        cls, row, column, scores, weights, respondents, items, aggregate=None
    ):
        """Build from checked cells in any order, missing ones among them."""
        keep = scores != MISSING
        if weights is not None:
            keep &= weights > 0
            weights = weights[keep]
        cells = row[keep], column[keep], scores[keep], weights
        shape = (len(respondents), len(items))
        cells = resolve_repeats(*cells, shape, aggregate, (respondents, items))
        return cls(store(*cells, shape), respondents, items)

    # ------------------------------------------------------------------- inspection

    @property
    def respondents(self):
        """Return the respondent ids, read-only."""
        return self._respondents

    @property
    def items(self):
        """Return the item ids, read-only."""
        return self._items

    @property
    def n_respondents(self):
        """Return the number of respondents."""
        return len(self.respondents)

    @property
    def n_items(self):
        """Return the number of items."""
        return len(self.items)

    @property
    def n_observed(self):
        """Return the number of observed cells."""
        return self._cells.n_observed()

    @property
    def is_sparse(self):
        """Return whether observed cells are stored as pairs."""
        return isinstance(self._cells, SparseCells)

    def sums(self):
        """Return total weight and weighted score of each item and of each respondent.

        Returns
        -------
        (item_weight, respondent_weight), (item_score, respondent_score)
        """
        if self._sums is None:
            self._sums = self._cells.sums()
        return self._sums

    def item_means(self):
        """Return the mean score of each item, shape (n_items,); NaN without answers."""
        return self._mean(0)

    def respondent_means(self):
        """Return the mean score of each respondent; NaN without answers."""
        return self._mean(1)

    def _mean(self, axis):
        weight, score = self.sums()
        with np.errstate(invalid="ignore"):
            return np.where(weight[axis] > 0, score[axis] / weight[axis], np.nan)

    def group_means(self, groups, n_groups):
        """Return mean scores (n_respondents, n_groups) on groups of items.

        Parameters
        ----------
        groups : ndarray of int of shape (n_items,)
            Group of each item, from 0.
        n_groups : int

        Returns
        -------
        means : ndarray, NaN where a respondent answered nothing of a group
        """
        weight, score = self.group_sums(groups, n_groups)
        with np.errstate(invalid="ignore"):
            return np.where(weight > 0, score / weight, np.nan)

    def group_sums(self, groups, n_groups):
        """Return weights and weighted scores by group, (n_respondents, n_groups)."""
        return self._cells.sums_by_group(groups, n_groups)

    def blocks(self, n_cells=2**16, n_runs=1):
        """Return blocks of items of about `n_cells` cells; views, in item order.

        Their size depends on the data only, so sums over them in order are the same
        bytes whatever runs them.

        Parameters
        ----------
        n_cells : int, default=2**16
        n_runs : int, default=1
            Number of blocks down to which dense ones may be smaller, by three quarters
            at most.

        Returns
        -------
        blocks : list of DenseBlock or SparseBlock
        """
        return self._cells.blocks(n_cells, n_runs)

    def respondent_runs(self, n_cells, n_runs=1):
        """Return cells of runs of respondents of about `n_cells` cells, in order.

        Copies with respondents along the first axis and items along the second.

        Parameters
        ----------
        n_cells, n_runs : int
            As of :meth:`blocks`.

        Returns
        -------
        runs : list of DenseCells or SparseCells
        """
        return self._cells.respondent_runs(n_cells, n_runs)

    def cells(self):
        """Return item index, respondent index, score and weight of observed cells.

        Returns
        -------
        item, respondent : ndarrays of int of shape (n_observed,)
        scores : ndarray of shape (n_observed,)
        weights : ndarray of shape (n_observed,) or None
            None where every cell is one answer.
        """
        return self._cells.cells()

    def to_wide(self):
        """Return float scores (n_respondents, n_items), NaN where missing."""
        wide = np.full((self.n_respondents, self.n_items), np.nan)
        item, respondent, scores, _ = self.cells()
        wide[respondent, item] = scores
        return wide

    def take(self, *, respondents=None, items=None):
        """Return the data of some respondents and items, given as index or mask.

        Parameters
        ----------
        respondents, items : ndarray or slice, default=None
            Index or mask; all where None.

        Returns
        -------
        data : ResponseData

        Raises
        ------
        ValueError
            A place is given twice: ids stay unique.
        """
        cells, respondent_ids, item_ids = self._cells, self.respondents, self.items
        if items is not None:
            cells, item_ids = cells.take_items(items), item_ids[items]
        if respondents is not None:
            cells = cells.take_respondents(respondents)
            respondent_ids = respondent_ids[respondents]
        for ids, kind in ((respondent_ids, "respondent"), (item_ids, "item")):
            refuse_repeat(ids, kind)
        return ResponseData(cells, respondent_ids, item_ids)

    def __repr__(self):
        """Return a one-line summary."""
        return (
            f"ResponseData({self.n_respondents} respondents x {self.n_items} items, "
            f"{self.n_observed} answers)"
        )


def as_responses(responses):
    """Return a table as ResponseData; ResponseData as it is."""
    if isinstance(responses, ResponseData):
        return responses
    return ResponseData.from_wide(responses)
