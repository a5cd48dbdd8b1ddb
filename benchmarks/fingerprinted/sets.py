"""The response sets: whole, thinned, with gaps, as one row per answer."""

from functools import cache

import numpy as np
from problems import REAL, read_real

LLM_SETS = (
    "nlu_test_sets",
    "bfcl_v1",
    "mmlu_pro",
    "openllm_v1",
    "livecodebench_2024",
)


@cache
def real_set(name):
    """Return scores (respondents x items), a float table, and the item table."""
    table, items = read_real(name)
    return table.astype(float), items


def thinned(name, n_respondents=None, n_items=None):
    """Return evenly spaced respondents and items of a set, and the items' groups."""
    table, items = real_set(name)
    rows, columns = _spread(len(table), n_respondents), _spread(len(items), n_items)
    column = REAL.get(name, ("benchmark",))[0]
    groups = items[column].astype(str).iloc[columns]
    return table.iloc[rows, columns], groups


def _spread(n, wanted):
    if wanted is None:
        return np.arange(n)
    return np.linspace(0, n - 1, wanted).astype(int)


def with_gaps(table, share=0.2, seed=0):
    """Return the table without a share of its cells."""
    hidden = np.random.default_rng(seed).random(table.shape) < share
    return table.mask(hidden)


def as_answers(table):
    """Return (respondent, item) pairs and scores, in an order of their own."""
    scores = table.to_numpy()
    i, j = np.nonzero(~np.isnan(scores))
    order = np.random.default_rng(0).permutation(len(i))
    i, j = i[order], j[order]
    pairs = np.column_stack([table.index.astype(str)[i], table.columns.astype(str)[j]])
    return pairs.astype(object), scores[i, j]


def families(table):
    """Return a family for each respondent: the first word of the name."""
    return [str(name).partition("-")[0] for name in table.index]
