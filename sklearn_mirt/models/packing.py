"""Symmetric matrices as vectors of their lower triangle, row by row.

The pair (p, q), q <= p, sits at p (p + 1) / 2 + q; the leading D x D block of a K x K
matrix is then the first D (D + 1) / 2 entries, and its last row the entries after them.
The array namespace `xp` is numpy or cupy, that of the arrays given.
"""

from functools import lru_cache

import numpy as np


@lru_cache
def lower_pairs(k, xp=np):
    """Return row and column of each packed entry of a k x k matrix."""
    rows, columns = np.tril_indices(k)
    return xp.asarray(rows), xp.asarray(columns)


@lru_cache
def multiplicity(k, xp=np):
    """Return 1 for diagonal and 2 for off-diagonal packed entries.

    The trace of a product of two symmetric matrices is the dot product of their packed
    vectors weighted by it.
    """
    rows, columns = np.tril_indices(k)
    return xp.asarray(np.where(rows == columns, 1.0, 2.0))


def pack(matrices, xp=np):
    """Pack (..., k, k) symmetric matrices to (..., k (k + 1) / 2)."""
    rows, columns = lower_pairs(matrices.shape[-1], xp)
    return matrices[..., rows, columns]


def unpack(packed, xp=np):
    """Unpack (..., k (k + 1) / 2) to (..., k, k)."""
    return xp.take(packed, _places(size(packed.shape[-1]), xp), axis=-1)


@lru_cache
def _places(k, xp):
    """Return where each entry of a k x k matrix is among the packed ones."""
    places = np.empty((k, k), dtype=np.intp)
    rows, columns = np.tril_indices(k)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return xp.asarray(places)


def size(n_packed):
    """Return k for a packed length k (k + 1) / 2."""
    return int(round((np.sqrt(8 * n_packed + 1) - 1) / 2))


def outer(vectors, xp=np):
    """Pack v v' of each row of (n, k) vectors."""
    rows, columns = lower_pairs(vectors.shape[1], xp)
    return vectors[:, rows] * vectors[:, columns]


def second_moments(mean, covariances):
    """Pack E[x x'] of Gaussians of mean (n, k) and covariance (n, k, k)."""
    return pack(covariances) + outer(mean)


def moments_with_one(mean, covariance):
    """Return E[(x, 1)] and packed E[(x, 1)(x, 1)']; `covariance` of x is packed."""
    first = np.column_stack([mean, np.ones(len(mean))])
    second = outer(first)
    second[:, : covariance.shape[1]] += covariance
    return first, second


def congruence(matrix):
    """Return the linear map that takes packed S to packed M S M' (on the host)."""
    rows, columns = lower_pairs(matrix.shape[0])
    left, right = matrix[rows], matrix[columns]
    # (M S M')_pq = sum_rs M_pr S_rs M_qs, the pairs (r, s) and (s, r) folded together
    mirrored = left[:, columns] * right[:, rows]
    return left[:, rows] * right[:, columns] + np.where(rows == columns, 0, mirrored)
