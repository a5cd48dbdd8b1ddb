"""Quadrature nodes: equally spaced, Gauss-Hermite, and what they cost."""

from __future__ import annotations

import numpy as np

DEFAULT_POINTS = {1: 61, 2: 31, 3: 15}
DEFAULT_ADAPTIVE_POINTS = {1: 15, 2: 7, 3: 5}
MAX_DIMS = 3
_CHUNK_BYTES = 4 * 2**20


def check_n_dims(n_dims: int) -> None:
    """Refuse more dimensions than a grid can serve."""
    if n_dims > MAX_DIMS:
        raise ValueError(
            f"solver='quadrature' needs n_dims <= {MAX_DIMS}, got {n_dims}: the number "
            f"of nodes grows as points ** n_dims ({DEFAULT_POINTS[MAX_DIMS]} points "
            f"would make {DEFAULT_POINTS[MAX_DIMS] ** n_dims:,} nodes). Use "
            "solver='variational', whose cost does not grow with a grid."
        )


def grid_nodes(n_dims: int, n_points: int, limit: float = 6.0):
    """Return equally spaced nodes (Q, D) on [-limit, limit] and log base weights."""
    axis = np.linspace(-limit, limit, n_points)
    nodes = _product(axis, n_dims)
    return nodes, np.zeros(len(nodes))


def gauss_hermite_nodes(n_dims: int, n_points: int):
    """Return Gauss-Hermite nodes for the standard normal and log base weights.

    The base weights times the standard normal density are the quadrature weights, so
    that the same rule serves another covariance (importance weights).
    """
    axis, weights = np.polynomial.hermite_e.hermegauss(n_points)
    nodes = _product(axis, n_dims)
    log_base = np.log(weights) + 0.5 * axis**2
    return nodes, _product(log_base, n_dims).sum(1)


def _product(axis: np.ndarray, n_dims: int) -> np.ndarray:
    grids = np.meshgrid(*[axis] * n_dims, indexing="ij")
    return np.stack([g.ravel() for g in grids], axis=1)


def chunk_rows(n_columns: int) -> int:
    """Return how many rows of float64 with ``n_columns`` stay in cache."""
    return max(16, _CHUNK_BYTES // (8 * max(n_columns, 1)))


def estimate_memory(
    n_patterns: int, n_nodes: int, category_counts: np.ndarray, n_dims: int
) -> int:
    """Return the bytes a fit on fixed nodes takes at its peak, about.

    Cost is the patterns' indicator matrix, two tables of category probabilities with
    derivatives at the nodes, and one block of posteriors.
    """
    n_columns = int((category_counts - 1).sum())
    tables = 4 * int((category_counts * (category_counts + n_dims)).sum()) * n_nodes
    return 8 * (2 * n_patterns * n_columns + tables) + 3 * _CHUNK_BYTES + 64 * n_nodes


def check_memory(needed: int, limit: int, n_points: int, n_dims: int) -> None:
    """Raise MemoryError before anything large is allocated."""
    if needed <= limit:
        return
    raise MemoryError(
        f"{n_points} points per dimension in {n_dims} dimension(s) make "
        f"{n_points**n_dims:,} nodes and need about {needed / 2**30:.1f} GiB; the "
        f"limit is {limit / 2**30:.1f} GiB. Lower n_points, use nodes='adaptive' (a "
        "few points around each respondent), use solver='variational', or raise "
        "max_memory."
    )
