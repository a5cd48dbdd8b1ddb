"""What is measured: simulated answers of four shapes, and real response matrices.

The simulated shapes are compensatory two-parameter models with a fixed seed:

    S1    2,000 x     40   2 dimensions   a classical test
    S2   20,000 x    100   3 dimensions   a large classical test
    S3      100 x  3,000   2 dimensions   language models, small
    S4      100 x 30,000   2 dimensions   language models, BenchMIRT's size

Real matrices are read from the folder that ``SKLEARN_MIRT_DATA`` names; their items are
those with a mean score in (0.05, 0.95). 10% of the cells are held out.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HELD_OUT = 0.1
# respondents, items, dimensions, kind, seed
SHAPES = {
    "tiny": (30, 60, 2, "llm", 20265),
    "S1": (2_000, 40, 2, "classical", 20261),
    "S2": (20_000, 100, 3, "classical", 20262),
    "S3": (100, 3_000, 2, "llm", 20263),
    "S4": (100, 30_000, 2, "llm", 20264),
}
# column of the item group, dimensions
REAL = {
    "bfcl_v1": ("benchmark", 4),
    "mmlu_pro": ("category", 4),
    "psn_irt": ("benchmark", 4),
    "nlu_test_sets": ("benchmark", 8),
    "openllm_v1": ("benchmark", 6),
}
PROBLEMS = [*SHAPES, *REAL]


@dataclass(frozen=True, eq=False)
class Problem:
    """Answers to fit and answers to predict.

    Parameters
    ----------
    X : int8 array (n_respondents, n_items)
        Answers, -1 where missing or held out.
    test : boolean array
        Held-out cells.
    y : array
        Answers of the held-out cells.
    n_dims : int
    groups : array (n_items,)
        Group of each item; the same for all where there are none.
    """

    name: str
    X: np.ndarray
    test: np.ndarray
    y: np.ndarray
    n_dims: int
    groups: np.ndarray


def make_problem(name):
    """Return a problem by name."""
    return _simulated(name) if name in SHAPES else _real(name)


def _simulated(name):
    n, p, d, kind, seed = SHAPES[name]
    rng = np.random.default_rng(seed)
    rho = 0.3 if kind == "llm" else 0.0
    a, b = (_llm_items if kind == "llm" else _classical_items)(rng, p, d)
    correlation = np.full((d, d), rho) + (1 - rho) * np.eye(d)
    theta = rng.standard_normal((n, d)) @ np.linalg.cholesky(correlation).T
    chance = 0.5 * (1 + np.tanh(0.5 * (theta @ a.T + b)))
    full = (rng.random((n, p)) < chance).astype(np.int8)
    test = rng.random((n, p)) < HELD_OUT
    return _hold_out(name, full, test, d, np.zeros(p, dtype=int))


def _classical_items(rng, p, d):
    """One main slope per item; 30% of the items load on a second dimension."""
    main = rng.permutation(np.arange(p) % d)
    a = np.zeros((p, d))
    a[np.arange(p), main] = rng.lognormal(0.0, 0.3, size=p)
    crossed = np.flatnonzero(rng.random(p) < 0.3)
    other = (main + rng.integers(1, d, size=p)) % d
    a[crossed, other[crossed]] = 0.4 * rng.lognormal(0.0, 0.3, size=len(crossed))
    return a, rng.standard_normal(p)


def _llm_items(rng, p, d):
    """60% on one dimension, 30% on the other, 5% on both, 5% failed by the able."""
    size = rng.lognormal(-0.2, 0.5, size=(p, d))
    kind = rng.choice(4, size=p, p=[0.60, 0.30, 0.05, 0.05])
    a = np.where(np.arange(d) == kind[:, None], size, 0.0)
    a[kind == 2] = size[kind == 2]
    reversed_ = np.flatnonzero(kind == 3)
    which = rng.integers(0, d, size=p)[reversed_]
    a[reversed_] = 0.0
    a[reversed_, which] = -size[reversed_, which]
    return a, rng.normal(0.5, 1.5, size=p)


def read_real(name):
    """Return a real response set and its item table, as they are in the files.

    Parameters
    ----------
    name : str
        Folder in the one that ``SKLEARN_MIRT_DATA`` names.

    Returns
    -------
    table : DataFrame
        Scores, respondents in rows, items in columns.
    items : DataFrame or None
        Items in the order of the columns; None where the set has no item table.
    """
    import pandas as pd

    if "SKLEARN_MIRT_DATA" not in os.environ:
        raise LookupError("set SKLEARN_MIRT_DATA to the folder of response matrices")
    folder = Path(os.environ["SKLEARN_MIRT_DATA"]) / name
    table = pd.read_csv(folder / "responses.csv.gz", index_col=0)
    if not (folder / "items.csv.gz").exists():
        return table, None
    items = pd.read_csv(folder / "items.csv.gz").set_index("item_id")
    if items.index.isin(table.index).mean() > 0.5:
        table = table.T
    return table, items.loc[table.columns]


def _real(name):
    column, n_dims = REAL[name]
    table, items = read_real(name)
    scores = table.to_numpy(float)
    groups = items[column].astype(str).to_numpy()
    rate = np.nanmean(scores, axis=0)
    keep = (rate > 0.05) & (rate < 0.95)
    scores = np.where(np.isnan(scores), -1, scores).astype(np.int8)[:, keep]
    test = np.random.default_rng(0).random(scores.shape) < HELD_OUT
    return _hold_out(name, scores, test & (scores >= 0), n_dims, groups[keep])


def _hold_out(name, full, test, n_dims, groups):
    X = np.where(test, np.int8(-1), full)
    return Problem(name, X, test, full[test], n_dims, groups)
