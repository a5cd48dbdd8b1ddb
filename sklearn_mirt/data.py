"""ResponseData: checked answers of respondents to items, joined by id.

A cell is a score in [0, 1] with a weight: one answer has weight 1, the mean of n
repeats weight n, a missing answer weight 0. Inside, missing cells are the score -1 and
items run along the first axis, so that a block of items is one contiguous slice.
"""

import numpy as np
from scipy import sparse

from sklearn_mirt.cells import (
    CHUNK_CELLS,
    MISSING,
    DenseCells,
    SparseCells,
    resolve_repeats,
    store,
)

_AGGREGATES = ("mean", "first", "count")


class ResponseData:
    """Immutable, checked answers of respondents to items.

    Build it with :meth:`from_wide`, :meth:`from_long` or :meth:`from_sparse`; the
    caller's data are never changed. Scores lie in [0, 1]; NaN (or pd.NA, None, an absent
    pair) is a missing answer, which adds nothing to any likelihood.

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
        self.respondents = respondents
        self.items = items
        for array in (respondents, items):
            array.setflags(write=False)

    # ---------------------------------------------------------------- constructors

    @classmethod
    def from_wide(cls, X, *, respondents=None, items=None, weights=None):
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
            X = np.asarray(X)
            shape = X.shape
        if len(shape) != 2:
            raise ValueError(
                f"Expected 2D array, got {len(shape)}D array instead: responses are a "
                "table with one row per respondent and one column per item"
            )
        respondents = _ids(respondents, shape[0], "respondent")
        items = _ids(items, shape[1], "item")
        _refuse_empty(shape)
        scores = _dense_scores(X, respondents, items)
        weights = _dense_weights(weights, scores, respondents, items)
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
            Lengths differ, an id is missing, a score is no number or outside [0, 1], or a
            pair is repeated and `aggregate` is None.
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
        row, respondent_ids = _encode(respondents, "respondent")
        column, item_ids = _encode(items, "item")

        def name(k):
            return (
                f"row {k} (respondent {respondent_ids[row[k]]!r}, "
                f"item {item_ids[column[k]]!r})"
            )

        scores = _checked_scores(scores, name)
        weights = _checked_weights(weights, len(scores), name)
        keep = scores != MISSING
        if weights is not None:
            keep &= weights > 0
        cells = [row[keep], column[keep], scores[keep]]
        cells.append(None if weights is None else weights[keep])
        shape = (len(respondent_ids), len(item_ids))
        cells = resolve_repeats(*cells, shape, aggregate, (respondent_ids, item_ids))
        return cls(store(*cells, shape), respondent_ids, item_ids)

    @classmethod
    def from_sparse(cls, X, *, respondents=None, items=None, weights=None):
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

        Returns
        -------
        data : ResponseData

        Raises
        ------
        ValueError
            As :meth:`from_wide`; also if every stored score is 1, since the wrong answers
            have then most likely been lost (``eliminate_zeros``).
        """
        respondents = _ids(respondents, X.shape[0], "respondent")
        items = _ids(items, X.shape[1], "item")
        _refuse_empty(X.shape)
        coo = X.tocoo()
        row, column = coo.row.astype(np.int64), coo.col.astype(np.int64)

        def name(k):
            return f"respondent {respondents[row[k]]!r}, item {items[column[k]]!r}"

        scores = _checked_scores(coo.data, name)
        if len(scores) > 1 and np.all(scores == 1):
            raise ValueError(
                "Every stored score of the sparse matrix is 1. Stored means observed here "
                "and a stored 0 is a wrong answer: the zeros have probably been "
                "eliminated. Give a dense table, or keep the zeros stored"
            )
        if weights is not None:
            weights = sparse.csr_array(weights)[row, column]
            weights = np.asarray(weights).ravel()
        weights = _checked_weights(weights, len(scores), name)
        keep = scores != MISSING
        if weights is not None:
            keep &= weights > 0
        cells = [row[keep], column[keep], scores[keep]]
        cells.append(None if weights is None else weights[keep])
        cells = resolve_repeats(*cells, X.shape, None, (respondents, items))
        return cls(store(*cells, X.shape), respondents, items)

    # ------------------------------------------------------------------- inspection

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
        return self._cells.sums()

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

    def blocks(self, n_cells=2**16):
        """Return blocks of items of about `n_cells` cells; views, in item order.

        Their size depends on the data only, so sums over them in order are the same
        bytes whatever runs them.
        """
        return self._cells.blocks(n_cells)

    def cells(self):
        """Return item index, respondent index, score and weight of observed cells.

        The weight is None where every cell is one answer.
        """
        return self._cells.cells()

    def to_wide(self):
        """Return scores as a float array (n_respondents, n_items), NaN where missing."""
        wide = np.full((self.n_respondents, self.n_items), np.nan)
        item, respondent, scores, _ = self.cells()
        wide[respondent, item] = scores
        return wide

    def take(self, *, respondents=None, items=None):
        """Return the data of some respondents and items, given as index or mask."""
        cells, respondent_ids, item_ids = self._cells, self.respondents, self.items
        if items is not None:
            cells, item_ids = cells.take_items(items), item_ids[items]
        if respondents is not None:
            cells = cells.take_respondents(respondents)
            respondent_ids = respondent_ids[respondents]
        return ResponseData(cells, respondent_ids, item_ids)

    def __repr__(self):
        """Return a one-line summary."""
        return (
            f"ResponseData({self.n_respondents} respondents x {self.n_items} items, "
            f"{self.n_observed} answers)"
        )


# ------------------------------------------------------------------------------- ids


def _ids(ids, n, kind):
    ids = np.arange(n) if ids is None else ids
    out = np.empty(len(ids), dtype=object)
    out[:] = list(ids)
    if len(out) != n:
        raise ValueError(f"Got {len(out)} {kind} ids for {n} {kind}s")
    repeated = _first_repeat(out)
    if repeated is not None:
        raise ValueError(f"The {kind} id {repeated!r} is given more than once")
    return out


def _first_repeat(ids):
    if len(set(ids)) == len(ids):
        return None
    seen = set()
    for value in ids:
        if value in seen:
            return value
        seen.add(value)
    return None


def _encode(ids, kind):
    """Codes of the ids and the ids in sorted order (as they came if not sortable)."""
    import pandas as pd

    ids = ids if isinstance(ids, pd.Series | pd.Index) else pd.Series(_plain(ids))
    codes, unique = pd.factorize(ids, sort=False, use_na_sentinel=True)
    if np.any(codes < 0):
        raise ValueError(f"The {kind} id is missing in row {int(np.argmax(codes < 0))}")
    values = np.empty(len(unique), dtype=object)
    values[:] = unique.tolist()
    try:
        order = np.array(sorted(range(len(values)), key=values.__getitem__))
    except TypeError:  # ids of several types
        order = np.array(
            sorted(range(len(values)), key=lambda k: (str(type(values[k])), k))
        )
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], values[order]


def _plain(ids):
    return ids if isinstance(ids, np.ndarray) else list(ids)


def _refuse_empty(shape):
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={tuple(shape)}) while a minimum of 1 is "
            "required: there are no respondents"
        )
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 "
            "is required: there are no items"
        )


# ---------------------------------------------------------------------------- scores


def _as_float(values):
    """Floats with NaN for None and pd.NA; raises what the conversion raises."""
    if hasattr(values, "to_numpy"):
        try:
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        except TypeError:  # polars
            values = values.to_numpy()
    values = np.asarray(values)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: scores are real numbers")
    if values.dtype.kind in "OUS":
        values = values.astype(object)
        missing = np.array([_is_missing(v) for v in values.ravel()], dtype=bool)
        values = np.where(missing.reshape(values.shape), np.nan, values)
    return values.astype(np.float64)


def _is_missing(value):
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _numbers(values, name):
    try:
        return _as_float(values)
    except (TypeError, ValueError) as error:
        if "Complex" in str(error):
            raise
        flat = np.asarray(values, dtype=object).ravel()
        for k, value in enumerate(flat):
            if _is_missing(value):
                continue
            try:
                float(value)
            except (TypeError, ValueError):
                raise ValueError(
                    f"The score of {name(k)} is {value!r}, which is not a number"
                ) from error
        raise


def _outside(values):
    """Index of the first score outside [0, 1], or None; NaN passes."""
    bad = ~((values >= 0) & (values <= 1)) & ~np.isnan(values)
    return int(np.argmax(bad)) if bad.any() else None


def _checked_scores(scores, name):
    """int8 where all scores are 0, 1 or missing, else float32; -1 where missing."""
    scores = _numbers(scores, name).ravel()
    k = _outside(scores)
    if k is not None:
        raise ValueError(_outside_message(scores[k], name(k)))
    missing = np.isnan(scores)
    filled = np.where(missing, MISSING, scores)
    binary = np.all((filled == 0) | (filled == 1) | missing)
    return filled.astype(np.int8 if binary else np.float32)


def _outside_message(value, name):
    what = "infinity" if np.isinf(value) else f"{value:g}"
    return (
        f"The score of {name} is {what}; scores must lie in [0, 1] "
        "(divide graded scores by their maximum)"
    )


def _dense_scores(X, respondents, items):
    """(n_items, n_respondents) int8, or float32 once a score is a fraction."""
    n_respondents, n_items = X.shape
    out = np.empty((n_items, n_respondents), dtype=np.int8)
    step = max(1, CHUNK_CELLS // n_respondents)
    columns = X.iloc if hasattr(X, "iloc") else X
    for start in range(0, n_items, step):
        chunk = columns[:, start : start + step]

        def name(k, start=start, width=chunk.shape[1]):
            i, j = divmod(k, width)
            return f"respondent {respondents[i]!r}, item {items[start + j]!r}"

        scores = _checked_scores(chunk, name).reshape(chunk.shape)
        if scores.dtype == np.float32 and out.dtype == np.int8:
            out = out.astype(np.float32)
        out[start : start + step] = scores.T
    return out


def _checked_weights(weights, n, name):
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64).ravel()
    if len(weights) != n:
        raise ValueError(f"Got {len(weights)} weights for {n} answers")
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"The weight of {name(k)} is {weights[k]:g}; weights must be finite and not "
            "negative"
        )
    return None if np.all(weights == 1) else weights.astype(np.float32)


def _dense_weights(weights, scores, respondents, items):
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != scores.T.shape:
        raise ValueError(
            f"weights have shape {weights.shape}, responses {scores.T.shape}"
        )

    def name(k):
        i, j = divmod(k, len(items))
        return f"respondent {respondents[i]!r}, item {items[j]!r}"

    checked = _checked_weights(weights, weights.size, name)
    if checked is None:
        return None
    checked = np.ascontiguousarray(checked.reshape(weights.shape).T)
    scores[checked == 0] = MISSING
    return checked
