"""Checks of ids, scores and weights; each error names the respondent and the item."""

import numbers

import numpy as np
from scipy import sparse

from sklearn_mirt.data.cells import CHUNK_CELLS, MISSING

# ten digits apart, and squared: still within those of float64
LARGEST_WEIGHT = 1e6


def is_number(value):
    """Return whether a value is a real number, and not True or False."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


# ------------------------------------------------------------------------------- ids


def object_array(values):
    """Return a one-dimensional object array, whatever the values (tuples too)."""
    return np.fromiter(values, dtype=object, count=len(values))


def name_some(ids, most=5):
    """Return the first few ids for a message, and how many more there are."""
    ids = list(ids)
    shown = ", ".join(map(short_repr, ids[:most]))
    more = len(ids) - most
    return f"{shown} and {more} more" if more > 0 else shown


def short_repr(value, width=60):
    """Return the representation of an id, of a long text only its beginning."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str) and len(value) > width:
        value = value[: width - 3] + "..."
    return repr(value)


def unique_ids(ids, n, kind):
    """Return n checked ids as an object array; 0, 1, 2... where none are given."""
    out = object_array(range(n) if ids is None else ids)
    if len(out) != n:
        raise ValueError(f"Got {len(out)} {kind} ids for {n} {kind}s")
    for k, value in enumerate(out):
        if is_missing(value) or value != value:
            raise ValueError(f"The {kind} id is missing in place {k}")
    refuse_repeat(out, kind)
    return out


def refuse_repeat(ids, kind):
    """Raise ValueError where an id is given more than once."""
    if len(set(ids)) == len(ids):
        return
    seen = set()
    for value in ids:
        if value in seen:
            raise ValueError(f"The {kind} id {value!r} is given more than once")
        seen.add(value)


def encode_ids(ids, kind):
    """Return codes of the ids, and the ids sorted (by type first if of several)."""
    import pandas as pd

    ids = ids if isinstance(ids, pd.Series | pd.Index) else pd.Series(_plain(ids))
    codes, unique = pd.factorize(ids, sort=False, use_na_sentinel=True)
    if np.any(codes < 0):
        raise ValueError(f"The {kind} id is missing in row {int(np.argmax(codes < 0))}")
    values = object_array(unique.tolist())
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


def refuse_empty(shape):
    """Raise ValueError where there are no respondents or no items."""
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={tuple(shape)}) while a minimum of 1 "
            "is required: there are no respondents"
        )
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of "
            "1 is required: there are no items"
        )


# ---------------------------------------------------------------------------- scores


def unmasked(values):
    """Return a plain array; what a masked array masks is missing."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return np.asarray(values)


def _as_float(values):
    """Floats with NaN for None and pd.NA; raises what the conversion raises."""
    if hasattr(values, "to_numpy"):
        try:
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        except TypeError:  # polars
            values = values.to_numpy()
    values = unmasked(values)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: scores are real numbers")
    if values.dtype.kind in "OUS":
        values = values.astype(object)
        missing = np.array([is_missing(v) for v in values.ravel()], dtype=bool)
        values = np.where(missing.reshape(values.shape), np.nan, values)
    return values.astype(np.float64)


def is_missing(value):
    """Return whether a value is None, pd.NA or pd.NaT; NaN is a number."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _numbers(values, name):
    try:
        return _as_float(values)
    except (TypeError, ValueError) as error:
        if "Complex" in str(error):
            raise
        flat = np.asarray(values, dtype=object).ravel()
        for k, value in enumerate(flat):
            if is_missing(value):
                continue
            try:
                float(value)
            except (TypeError, ValueError) as reason:
                raise type(reason)(
                    f"The score of {name(k)} is {value!r}, which is not a number "
                    f"({reason})"
                ) from error
        raise


def _outside(values):
    """Index of the first score outside [0, 1], or None; NaN passes."""
    bad = ~((values >= 0) & (values <= 1)) & ~np.isnan(values)
    return int(np.argmax(bad)) if bad.any() else None


def checked_scores(scores, name, dtype=np.float32):
    """Return scores, -1 where missing: int8 if the others are 0 or 1, else floats."""
    scores = _numbers(scores, name).ravel()
    k = _outside(scores)
    if k is not None:
        raise ValueError(_outside_message(scores[k], name(k)))
    missing = np.isnan(scores)
    filled = np.where(missing, MISSING, scores)
    binary = np.all((filled == 0) | (filled == 1) | missing)
    return filled.astype(np.int8 if binary else dtype)


def _outside_message(value, name):
    what = "infinity" if np.isinf(value) else f"{value:.9g}"
    return (
        f"The score of {name} is {what}; scores must lie in [0, 1] "
        "(divide graded scores by their maximum)"
    )


def dense_scores(X, name, dtype=np.float32):
    """Return (n_items, n_respondents) int8, or floats once a score is a fraction.

    `name` names a cell by its row and column.
    """
    n_respondents, n_items = X.shape
    out = np.empty((n_items, n_respondents), dtype=np.int8)
    step = max(1, CHUNK_CELLS // max(n_respondents, 1))
    columns = X.iloc if hasattr(X, "iloc") else X
    for start in range(0, n_items, step):
        chunk = columns[:, start : start + step]

        def name_of(k, start=start, width=chunk.shape[1]):
            return name(k // width, start + k % width)

        scores = checked_scores(chunk, name_of, dtype).reshape(chunk.shape)
        if scores.dtype == dtype and out.dtype == np.int8:
            out = out.astype(dtype)
        out[start : start + step] = scores.T
    return out


def _refuse_other_labels(weights, respondents, items):
    """Weights that carry labels must carry those of the responses, in their order."""
    for axis, ids, kind in (
        ("index", respondents, "row"),
        ("columns", items, "column"),
    ):
        labels = getattr(weights, axis, None)
        if labels is None or len(labels) != len(ids):
            continue
        for label, wanted in zip(labels, ids, strict=True):
            if label != wanted:
                raise ValueError(
                    f"weights have the {kind} {label!r} where the responses have "
                    f"{wanted!r}; give them the same rows and columns"
                )


def checked_weights(weights, n, name):
    """Return float32 weights of n answers, or None where all are 1."""
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64).ravel()
    if len(weights) != n:
        raise ValueError(f"Got {len(weights)} weights for {n} answers")
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"The weight of {name(k)} is {weights[k]:g}; weights must be finite and "
            "not negative"
        )
    if weights.size and weights.max() > LARGEST_WEIGHT:
        k = int(np.argmax(weights))
        raise ValueError(
            f"The weight of {name(k)} is {weights[k]:g}; a weight is a number of "
            f"answers, of at most {LARGEST_WEIGHT:g}: beyond that sums lose the other "
            "answers. Divide all weights by a constant"
        )
    return None if np.all(weights == 1) else weights.astype(np.float32)


def sparse_weights(weights, shape, row, column):
    """Return the weights of stored scores; a place without weight is missing."""
    weights = sparse.csr_matrix(weights)
    if weights.shape != shape:
        raise ValueError(f"weights have shape {weights.shape}, responses {shape}")
    return np.asarray(weights[row, column], dtype=np.float64).ravel()


def dense_weights(weights, scores, respondents, items, name):
    """Return (n_items, n_respondents) weights; cells of weight 0 become missing."""
    if weights is None:
        return None
    _refuse_other_labels(weights, respondents, items)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != scores.T.shape:
        raise ValueError(
            f"weights have shape {weights.shape}, responses {scores.T.shape}"
        )

    checked = checked_weights(
        weights, weights.size, lambda k: name(*divmod(k, len(items)))
    )
    if checked is None:
        return None
    checked = np.ascontiguousarray(checked.reshape(weights.shape).T)
    scores[checked == 0] = MISSING
    return checked
