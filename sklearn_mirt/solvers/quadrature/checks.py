"""Checks of responses and designs before an exact fit."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sklearn_mirt.data.checks import name_some
from sklearn_mirt.exceptions import ResponseDataWarning

_NAMED = 5


def recode_categories(responses: np.ndarray, models, items):
    """Return responses as categories 0 .. K-1, and the observed categories per item.

    Third come the positions of the items whose answers are all alike. Dichotomous items
    keep their scores, which must lie in [0, 1]. Ordered categories are numbered in
    order; a gap (a category nobody chose) is closed with a warning, since its
    parameters are not determined.
    """
    out = np.array(responses, dtype=float)
    categories, gaps, alike = [], [], []
    for j, model in enumerate(models):
        answered = ~np.isnan(out[:, j])
        values = out[answered, j]
        if model.dichotomous:
            _check_scores(values, items[j])
            categories.append(np.array([0.0, 1.0]))
            if len(values) == 0 or values.min() == values.max():
                alike.append(j)
            continue
        present = np.unique(values)
        _check_categories(present, items[j], model.name)
        if np.any(np.diff(present) > 1):
            gaps.append(items[j])
        out[answered, j] = np.searchsorted(present, values)
        categories.append(present)
    if gaps:
        warnings.warn(
            f"Items {name_some(gaps)} have categories that nobody chose between others "
            "that were chosen; they are merged (categories are numbered again). Their "
            "own boundaries are not determined by the data.",
            ResponseDataWarning,
            stacklevel=4,
        )
    return out, categories, alike


def _check_scores(values, item):
    bad = (values < 0) | (values > 1)
    if bad.any():
        raise ValueError(
            f"Item {item!r} has the score {values[bad][0]:g}; a dichotomous item model "
            "needs scores in [0, 1]. For ordered categories use item_model='graded' or "
            "'gpcm'."
        )


def _check_categories(present, item, name):
    if np.any(present != np.round(present)):
        fraction = present[present != np.round(present)][0]
        raise ValueError(
            f"Item {item!r} has the score {fraction:g}; item_model={name!r} needs "
            "whole-numbered categories."
        )
    if len(present) < 2:
        raise ValueError(
            f"Item {item!r} has {len(present)} observed categor"
            f"{'y' if len(present) == 1 else 'ies'}; item_model={name!r} needs at "
            "least two. Drop the item."
        )


def check_q_matrix(q_matrix, n_items: int, n_dims: int, items) -> np.ndarray:
    """Return the q_matrix as a boolean array, or raise naming what is wrong."""
    q = np.asarray(q_matrix)
    if q.shape != (n_items, n_dims):
        raise ValueError(
            f"q_matrix must have one row per item and one column per dimension, shape "
            f"({n_items}, {n_dims}); got {q.shape}."
        )
    if not np.isin(q, (0, 1)).all():
        raise ValueError("q_matrix must hold 0 (fixed at zero) and 1 (free) only.")
    q = q.astype(bool)
    empty = ~q.any(1)
    if empty.any():
        raise ValueError(
            f"q_matrix has an all-zero row for items {name_some(items[empty])}: they "
            "would measure nothing. Give each item a dimension or drop it."
        )
    bare = np.flatnonzero(~q.any(0))
    if len(bare):
        raise ValueError(f"q_matrix gives dimension(s) {list(bare + 1)} no item.")
    return q


def warn_under_identified(q, n_items: int, n_dims: int, correlated: bool) -> None:
    """Warn where a dimension has too few items to be determined."""
    if q is None:
        few = n_items < 2 * n_dims + 1
        text = f"{n_items} items cannot determine {n_dims} dimension(s)"
        need = f"at least {2 * n_dims + 1} are needed"
    else:
        smallest = 2 if correlated and n_dims > 1 else 3
        counts = q.sum(0)
        few = bool((counts < smallest).any())
        text = f"The dimensions have {list(counts)} items"
        need = f"each needs at least {smallest}"
    if few:
        warnings.warn(
            f"{text}; {need}. Parameters that the data do not determine get NaN "
            "standard errors.",
            ResponseDataWarning,
            stacklevel=4,
        )


def warn_unconnected(responses: np.ndarray, respondents, items) -> None:
    """Warn if the graph of respondents and items falls apart, naming the parts.

    Parameters of different parts are comparable only as far as the parts' respondents
    are samples of the same population.
    """
    answered = ~np.isnan(responses)
    if answered.all():
        return
    graph = sparse.csr_array(answered)
    n_rows, n_columns = graph.shape
    joined = sparse.bmat([[None, graph], [graph.T, None]], format="csr")
    _, label = connected_components(joined, directed=False)
    used = np.concatenate([answered.any(1), answered.any(0)])
    parts = np.unique(label[used])
    if len(parts) < 2:
        return
    texts = []
    for part in parts[:_NAMED]:
        rows = respondents[(label[:n_rows] == part) & used[:n_rows]]
        columns = items[(label[n_rows:] == part) & used[n_rows:]]
        texts.append(f"[respondents {name_some(rows)}; items {name_some(columns)}]")
    warnings.warn(
        f"Respondents and items fall into {len(parts)} unconnected parts: "
        f"{'; '.join(texts)}. Abilities in different parts are comparable only if "
        "their respondents come from the same population.",
        ResponseDataWarning,
        stacklevel=4,
    )
