"""Univariate and bivariate margins of a fit, for limited-information statistics."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sklearn_mirt.solvers.quadrature.respondent_scores import (
    item_log_tables,
    node_weights,
)
from sklearn_mirt.solvers.quadrature.standard_errors import category_scores


class Margins:
    """Univariate and bivariate margins: values, covariance and derivatives.

    A *function* is a vector of values over the categories of one item. Margins are
    expectations of single functions, and of products of two functions of different
    items; given the node, functions of different items are independent.
    """

    def __init__(self, fit, type):
        self.fit = fit
        self.probabilities = [np.exp(table) for table in item_log_tables(fit)]
        self.weights = node_weights(fit)
        self._define_functions(type)
        self.conditional = np.array(
            [
                values @ self.probabilities[item]
                for item, values in zip(self.items, self.values, strict=True)
            ]
        )
        self.given_node = np.concatenate(
            [
                self.conditional[self.singles],
                self.conditional[self.left] * self.conditional[self.right],
            ]
        )
        self.expected = self.given_node @ self.weights

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return len(self.singles) + len(self.left)

    def _define_functions(self, type):
        items: list[int] = []
        self.values: list[np.ndarray] = []

        def add(item, functions):
            start = len(items)
            items.extend([item] * len(functions))
            self.values.extend(functions)
            return list(range(start, len(items)))

        singles, factors = [], []
        for item, p in enumerate(self.probabilities):
            n_categories = len(p)
            indicators = list(np.eye(n_categories)[1:])
            score = [np.arange(n_categories, dtype=float)]
            own_singles = score if type == "M2*" else indicators
            own_factors = indicators if type == "M2" else score
            own_singles = add(item, own_singles)
            same = n_categories == 2 or type in ("M2", "M2*")
            singles += own_singles
            factors += own_singles if same else add(item, own_factors)
        self.items = np.array(items)
        pairs = [
            (a, b)
            for a, b in combinations(factors, 2)
            if self.items[a] != self.items[b]
        ]
        self.singles = np.array(singles)
        self.left, self.right = np.array(pairs).reshape(-1, 2).T

    def observed(self, coded):
        """Return the margins of the data."""
        columns = coded.astype(int)
        table = np.stack(
            [
                values[columns[:, item]]
                for item, values in zip(self.items, self.values, strict=True)
            ]
        )
        products = np.einsum("an,an->a", table[self.left], table[self.right])
        return np.concatenate([table[self.singles].sum(1), products]) / len(coded)

    def covariance(self):
        """Return Xi, the covariance of one respondent's margin functions."""
        second = (self.given_node * self.weights) @ self.given_node.T
        for item in np.unique(self.items):
            self._share_one(item, second)
        self._share_two(second)
        return second - np.outer(self.expected, self.expected)

    def _same_item(self, a, b):
        """Return E(f_a f_b | node) of two functions of one item."""
        both = self.values[a] * self.values[b]
        return both @ self.probabilities[self.items[a]]

    def _touching(self, item):
        """Return margins on an item, their own function of it, and the rest."""
        n_singles = len(self.singles)
        single = np.flatnonzero(self.items[self.singles] == item)
        left = np.flatnonzero(self.items[self.left] == item)
        right = np.flatnonzero(self.items[self.right] == item)
        margins = np.concatenate([single, n_singles + left, n_singles + right])
        own = np.concatenate([self.singles[single], self.left[left], self.right[right]])
        rest = np.concatenate(
            [
                np.ones((len(single), len(self.weights))),
                self.conditional[self.right[left]],
                self.conditional[self.left[right]],
            ]
        )
        return margins, own, rest

    def _share_one(self, item, second):
        margins, own, rest = self._touching(item)
        for a in np.unique(own):
            for b in np.unique(own):
                weight = self.weights * self._same_item(a, b)
                rows, columns = own == a, own == b
                block = (rest[rows] * weight) @ rest[columns].T
                second[np.ix_(margins[rows], margins[columns])] = block

    def _share_two(self, second):
        n_singles = len(self.singles)
        groups: dict[tuple[int, int], list[int]] = {}
        for k, (a, b) in enumerate(zip(self.left, self.right, strict=True)):
            groups.setdefault((self.items[a], self.items[b]), []).append(k)
        for members in groups.values():
            for k in members:
                for m in members:
                    value = self._same_item(self.left[k], self.left[m])
                    value = value * self._same_item(self.right[k], self.right[m])
                    second[n_singles + k, n_singles + m] = value @ self.weights

    def derivatives(self):
        """Return Delta: derivatives of the expected margins in the free parameters."""
        spec = self.fit.spec
        full = self.fit.full
        out = np.zeros((self.n_margins, len(full)))
        n_singles = len(self.singles)
        change = self._function_derivatives()
        for _, (where, derivative) in change.items():
            for a, values in derivative.items():
                weighted = values * self.weights[:, None]
                out[np.flatnonzero(self.singles == a), where] += weighted.sum(0)
                for own, other in ((self.left, self.right), (self.right, self.left)):
                    pairs = np.flatnonzero(own == a)
                    moved = self.conditional[other[pairs]] @ weighted
                    out[n_singles + pairs, where] += moved
        if spec.n_latent:
            out[:, -spec.n_latent :] = self._latent_derivatives()
        moving = spec.index >= 0
        reduced = np.zeros((spec.n_free, self.n_margins))
        np.add.at(reduced, spec.index[moving], out.T[moving])
        return reduced.T

    def _function_derivatives(self):
        """Return, per item, its slice and {function: d E(f | node) / d params}."""
        fit, found = self.fit, {}
        arrays, _ = fit.spec.unpack(fit.full)
        blocks = zip(fit.spec.blocks, arrays, fit.spec.slices(), strict=False)
        for block, params, where in blocks:
            _, first = block.model.tables(params, fit.nodes)
            scores = category_scores(first, fit.nodes)
            size = block.n_parameters
            for k, item in enumerate(block.items):
                p = self.probabilities[item]
                derivative = {
                    a: np.einsum("c,cq,qcp->qp", self.values[a], p, scores[:, k])
                    for a in np.flatnonzero(self.items == item)
                }
                start = where.start + k * size
                found[item] = (slice(start, start + size), derivative)
        return found

    def _latent_derivatives(self, step=1e-5):
        fit = self.fit
        _, z = fit.spec.unpack(fit.full)
        columns = []
        for i in range(len(z)):
            ends = []
            for sign in (1.0, -1.0):
                moved = z.copy()
                moved[i] += sign * step
                weights = fit.spec.latent.log_weights(moved, fit.nodes, fit.log_base)
                ends.append(self.given_node @ np.exp(weights))
            columns.append((ends[0] - ends[1]) / (2.0 * step))
        return np.array(columns).T
