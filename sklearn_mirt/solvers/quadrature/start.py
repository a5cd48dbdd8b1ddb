"""Starting values for exact fits, from category shares and correlations."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

# normal ogive to logistic metric; only ever used for starting values
_SCALE = 1.702


def start_slopes(responses: np.ndarray, n_dims: int, q_matrix: np.ndarray | None):
    """Return starting slopes (n_items, n_dims).

    Exploratory (``q_matrix`` None): principal factors of the items' correlations,
    corrected from phi towards tetrachoric size. Confirmatory: one moderate slope,
    from each item's correlation with the sum over its dimension's items.
    """
    scores = _standardise(responses)
    if q_matrix is None:
        loadings = _principal_factors(scores, n_dims)
    else:
        loadings = _confirmatory_loadings(scores, q_matrix.astype(float))
    loadings = loadings * _attenuation(responses)[:, None]
    communality = np.clip((loadings**2).sum(1), 1e-3, None)
    loadings *= np.sqrt(np.minimum(communality, 0.8) / communality)[:, None]
    unique = 1.0 - np.minimum(communality, 0.8)
    return _SCALE * loadings / np.sqrt(unique)[:, None]


def _standardise(responses: np.ndarray) -> np.ndarray:
    """Return z-scores with missing answers at the mean, 0."""
    answered = ~np.isnan(responses)
    n = np.maximum(answered.sum(0), 1)
    filled = np.where(answered, responses, 0.0)
    centred = np.where(answered, filled - filled.sum(0) / n, 0.0)
    spread = np.sqrt((centred**2).sum(0) / n)
    return centred / np.where(spread > 0, spread, 1.0)


def _attenuation(responses: np.ndarray) -> np.ndarray:
    """Return how much a binary item's correlation grows towards the biserial one."""
    # an item without answers is as one whose answers are all 0
    answers = np.where(np.isnan(responses).all(0), 0.0, responses)
    low = np.nanmin(answers, axis=0)
    span = np.nanmax(answers, axis=0) - low
    share = (np.nanmean(answers, axis=0) - low) / np.where(span > 0, span, 1.0)
    share = np.clip(share, 0.05, 0.95)
    density = np.exp(-0.5 * ndtri(share) ** 2) / np.sqrt(2.0 * np.pi)
    binary = np.sqrt(share * (1.0 - share)) / density
    return np.where(span <= 1, binary, 1.1)


def _principal_factors(scores: np.ndarray, n_dims: int) -> np.ndarray:
    """Return unrotated loadings by three rounds of principal axis factoring."""
    n_items = scores.shape[1]
    if n_items > 2000:
        # the correlation matrix would be large; singular vectors are enough to start
        _, s, vt = np.linalg.svd(scores / np.sqrt(len(scores)), full_matrices=False)
        return _oriented((vt[:n_dims] * s[:n_dims, None]).T)
    correlation = scores.T @ scores / len(scores)
    communality = np.full(n_items, 0.5)
    loadings = np.zeros((n_items, n_dims))
    for _ in range(3):
        np.fill_diagonal(correlation, communality)
        values, vectors = np.linalg.eigh(correlation)
        top = np.argsort(values)[::-1][:n_dims]
        loadings = vectors[:, top] * np.sqrt(np.maximum(values[top], 0.05))
        communality = np.clip((loadings**2).sum(1), 0.05, 0.9)
    return _oriented(loadings)


def _oriented(loadings: np.ndarray) -> np.ndarray:
    """Return loadings with positive column sums."""
    return loadings * np.where(loadings.sum(0) < 0, -1.0, 1.0)


def _confirmatory_loadings(scores: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return item-rest correlations with the items of each dimension, made loadings."""
    sums = scores @ q
    out = np.zeros_like(q)
    for d in range(q.shape[1]):
        rest = sums[:, [d]] - scores * q[:, d]
        spread = rest.std(0) * np.maximum(scores.std(0), 1e-12)
        with np.errstate(invalid="ignore", divide="ignore"):
            r = (scores * (rest - rest.mean(0))).mean(0) / spread
        out[:, d] = np.where(np.isfinite(r), np.clip(r, 0.2, 0.8), 0.4)
    return out * q / np.sqrt(np.maximum(q.sum(1, keepdims=True), 1.0))


def triangular(slopes: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Rotate slopes so that ``anchors[d]`` has none beyond dimension d.

    The first anchor loads on dimension 1 only, the second on 1 and 2 ...: with
    n_dims (n_dims - 1) / 2 zeros the orientation is fixed (Anderson and Rubin 1956).
    """
    q, _ = np.linalg.qr(slopes[anchors].T, mode="complete")
    rotated = slopes @ q
    return rotated * np.where(rotated.sum(0) < 0, -1.0, 1.0)


def choose_anchors(slopes: np.ndarray) -> np.ndarray:
    """Return the items that fix the orientation: the last ones where they will do.

    The last item loads on the first dimension, the last but one on two ...; if these
    items' starting slopes are too weak or too alike to fix anything, items are chosen
    by pivoted QR instead.
    """
    n_items, n_dims = slopes.shape
    last = np.arange(n_items - 1, n_items - n_dims, -1)
    diagonal = np.abs(np.diag(np.linalg.qr(slopes[last].T)[1]))
    if len(last) == 0 or diagonal.min() > 0.05:
        return last
    remaining, chosen = slopes.copy(), []
    for _ in range(n_dims - 1):
        norms = (remaining**2).sum(1)
        item = int(np.argmax(norms))
        chosen.append(item)
        direction = remaining[item] / max(np.sqrt(norms[item]), 1e-12)
        remaining -= np.outer(remaining @ direction, direction)
    return np.array(chosen)
