"""Observed information of a marginal likelihood, exactly, and what follows from it.

Louis (1982, JRSS B 44, 226-233): the observed information is the expected complete-data
information less the posterior covariance of the complete-data score,

    I = - sum_i E_i[H_i] - sum_i (E_i[s_i s_i'] - E_i[s_i] E_i[s_i]').

On quadrature nodes each expectation is a finite sum, so this equals the second
derivative of the log-likelihood that was maximised (and so what Oakes 1999 computes),
not an approximation of it. Rows of the ability distribution's few parameters come from
central differences of the exact gradient.
"""

from __future__ import annotations

import numpy as np

_DIFFERENCE_STEP = 1e-4
# directions along which errors are over 100 times those with all else known: the data
# leave a combination of parameters open (two items' slopes, say)
_SINGULAR_BELOW = 1e-4
# a standard error over 300 on a logit scale says nothing: the value is at a bound
_SMALLEST_INFORMATION = 1e-5


def observed_information(likelihood, free: np.ndarray) -> np.ndarray:
    """Return minus the Hessian of the objective in the free parameters."""
    spec = likelihood.spec
    full = spec.expand(free)
    size = len(full) - spec.n_latent
    hessian = np.zeros((len(full), len(full)))
    hessian[:size, :size] = likelihood.item_hessian(free)
    hessian -= np.diag(spec.prior_precision)
    out = spec.reduce_matrix(hessian)
    for i in np.unique(spec.index[size:]):
        if i < 0:
            continue
        step = np.zeros(len(free))
        step[i] = _DIFFERENCE_STEP
        ahead = likelihood.evaluate(free + step).gradient
        behind = likelihood.evaluate(free - step).gradient
        column = (ahead - behind) / (2.0 * _DIFFERENCE_STEP)
        out[i], out[:, i] = column, column
    return -0.5 * (out + out.T)


def covariance_of_estimates(information: np.ndarray):
    """Return the covariance matrix and which parameters the data determine.

    The information is scaled to unit diagonal and its near-null space set aside; a
    parameter with any share in that space, or without positive information, is not
    determined: its row is NaN. The others get the inverse over the rest.
    """
    diagonal = np.diag(information)
    positive = np.isfinite(diagonal) & (diagonal > _SMALLEST_INFORMATION)
    covariance = np.full(information.shape, np.nan)
    determined = positive.copy()
    if not positive.any():
        return covariance, determined
    scale = 1.0 / np.sqrt(diagonal[positive])
    scaled = information[np.ix_(positive, positive)] * np.outer(scale, scale)
    values, vectors = np.linalg.eigh(scaled)
    bad = values < _SINGULAR_BELOW
    share = (vectors[:, bad] ** 2).sum(1)
    fine = share < 1e-3
    determined[positive] = fine
    keep = vectors[:, ~bad]
    inverse = (keep / values[~bad]) @ keep.T * np.outer(scale, scale)
    inside = np.flatnonzero(determined)
    covariance[np.ix_(inside, inside)] = inverse[np.ix_(fine, fine)]
    return covariance, determined


def item_hessian(likelihood, free: np.ndarray) -> np.ndarray:
    """Return the Hessian of log L in all item parameters, for fixed nodes."""
    spec, nodes = likelihood.spec, likelihood.nodes
    items, _ = spec.unpack(spec.expand(free))
    counts, _ = likelihood.expected_counts(free)
    curvature = [
        block.model.hessian(params, nodes, count)
        for block, params, count in zip(spec.blocks, items, counts, strict=True)
    ]
    scores = [
        category_scores(block.model.tables(params, nodes)[1], nodes)
        for block, params in zip(spec.blocks, items, strict=True)
    ]
    out = _score_covariance(likelihood, free, scores)
    at = 0
    for matrix in curvature:
        n_items, size = matrix.shape[:2]
        for j in range(n_items):
            where = slice(at, at + size)
            out[where, where] += matrix[j]
            at += size
    return out


def category_scores(first: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return d log P_k / d params (Q, J, K, P) from local derivatives (J, K, L, Q)."""
    slopes = np.einsum("jkq,qd->qjkd", first[:, :, 0], nodes)
    return np.concatenate([slopes, first[:, :, 1:].transpose(3, 0, 1, 2)], axis=3)


def _score_covariance(likelihood, free, scores):
    """Return sum_i (E_i[s s'] - E_i[s] E_i[s]') over item parameters."""
    table = likelihood.table
    size = sum(s.shape[1] * s.shape[3] for s in scores)
    total = np.zeros((size, size))
    products = _CategoryProducts(table, len(likelihood.nodes))
    for rows, _, posterior in likelihood.posteriors(free):
        weights = table.weights[rows]
        mean = _posterior_scores(table, rows, posterior, scores)
        total -= (mean * weights[:, None]).T @ mean
        products.add(rows, posterior * weights[:, None])
    for q in range(len(likelihood.nodes)):
        total += products.quadratic_form(q, [s[q] for s in scores])
    return total


def _posterior_scores(table, rows, posterior, scores):
    """Return E_i[s_i], shape (n_rows, n_item_parameters)."""
    parts = []
    for block_scores, (columns, items) in zip(
        scores, table.column_slices(), strict=True
    ):
        n_nodes, n_items, n_categories, size = block_scores.shape
        base = posterior @ block_scores[:, :, 0].reshape(n_nodes, -1)
        base = base.reshape(-1, n_items, size)
        if table.mask is not None:
            base *= table.mask[rows][:, items, None]
        hot = table.indicators[rows][:, columns]
        hot = hot.reshape(-1, n_items, n_categories - 1)
        for k in range(1, n_categories):
            change = (block_scores[:, :, k] - block_scores[:, :, 0]).reshape(
                n_nodes, -1
            )
            moved = (posterior @ change).reshape(-1, n_items, size)
            base += hot[:, :, k - 1, None] * moved
        parts.append(base.reshape(len(base), -1))
    return np.concatenate(parts, axis=1)


class _CategoryProducts:
    """Weighted cross-products of answer indicators at every node.

    With z_i = (answered, category indicators) of pattern i, the products at node q are
    sum_i W_iq z_i z_i'; scores are linear in z, so E[s s'] is a quadratic form in them.
    """

    def __init__(self, table, n_nodes):
        self.table = table
        self._features = (
            np.ones((table.n_patterns, 1)) if table.complete else table.mask
        )
        width = self._features.shape[1] + table.indicators.shape[1]
        self._sums = np.zeros((n_nodes, width, width))

    def add(self, rows, weights):
        """Add a chunk of patterns with node weights (n_rows, Q)."""
        z = np.concatenate([self._features[rows], self.table.indicators[rows]], axis=1)
        for q in np.flatnonzero(weights.max(0) > 1e-10):
            self._sums[q] += (z * weights[:, [q]]).T @ z

    def quadratic_form(self, q, scores):
        """Return sum_i W_iq s_i(q) s_i(q)' from the blocks' scores (J, K, P) at q."""
        sums = self._sums[q]
        n_features = self._features.shape[1]
        n_items = sum(len(s) for s in scores)
        answered = np.arange(n_items) if n_features > 1 else np.zeros(n_items, int)
        rows = []
        lifted = []
        for block_scores, (columns, items) in zip(
            scores, self.table.column_slices(), strict=True
        ):
            n_block, n_categories, size = block_scores.shape
            upper = n_features + np.arange(columns.start, columns.stop)
            index = np.concatenate(
                [answered[items][:, None], upper.reshape(n_block, -1)], axis=1
            )
            change = block_scores.copy()
            change[:, 1:] -= block_scores[:, :1]
            # left: sum over categories of change_jk . row of products
            lifted.append((index, change))
            turned = change.transpose(0, 2, 1)
            rows.append(np.matmul(turned, sums[index]).reshape(-1, len(sums)))
        left = np.concatenate(rows)
        columns_out = [
            np.matmul(left.T[index].transpose(0, 2, 1), change)
            .transpose(1, 0, 2)
            .reshape(len(left), -1)
            for index, change in lifted
        ]
        return np.concatenate(columns_out, axis=1)
