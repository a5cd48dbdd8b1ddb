"""Small problems for the variational solver, and the solver on them."""

import numpy as np
from scipy import sparse

from sklearn_mirt import ResponseData
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models.item_design import ItemDesign
from sklearn_mirt.solvers.variational.solver import VariationalSolver

NAN = np.nan


def simulated(n=25, j=60, d=2, *, missing=0.0, graded=False, weighted=False, seed=0):
    """Scores and weights, exact in float32 so that storage rounds nothing."""
    rng = np.random.default_rng(seed)
    y = make_responses(n, j, d, missing=missing, random_state=seed).responses
    if graded:
        y = np.where(rng.random(y.shape) < 0.5, y, rng.integers(0, 9, y.shape) / 8)
        y[
            np.isnan(
                make_responses(n, j, d, missing=missing, random_state=seed)["responses"]
            )
        ] = NAN
    weight = np.where(np.isnan(y), 0.0, 1.0)
    if weighted:
        weight *= rng.integers(1, 5, y.shape)
    return y, weight


def as_sparse(y, weight):
    """Data kept as pairs, whatever the density."""
    import sklearn_mirt.data.cells as cells

    i, j = np.nonzero(weight > 0)
    X, w = (sparse.coo_array((v[i, j], (i, j)), shape=y.shape) for v in (y, weight))
    density, cells.SPARSE_BELOW = cells.SPARSE_BELOW, 2
    try:
        data = ResponseData.from_sparse(X, weights=w)
    finally:
        cells.SPARSE_BELOW = density
    assert data.is_sparse
    return data


def as_dense(y, weight):
    return ResponseData.from_wide(y, weights=weight)


def design_of(n_items, groups=None, guessing=0.0, positive_slopes=False):
    groups = np.zeros(n_items, dtype=int) if groups is None else groups
    labels = np.arange(groups.max() + 1).astype(object)
    floors = np.broadcast_to(np.asarray(guessing, dtype=float), (n_items,))
    return ItemDesign(groups, labels, floors, positive_slopes)


def solve(data, n_dims, design, n_passes, **options):
    options = {"tol": 0.0, "dtype": "float64"} | options
    return VariationalSolver(max_iter=n_passes, **options).solve(data, n_dims, design)


def same_signs(ours, theirs):
    """Signs of our dimensions in those of the reference, whose start has none."""
    return np.sign((ours * theirs).sum(axis=0))
