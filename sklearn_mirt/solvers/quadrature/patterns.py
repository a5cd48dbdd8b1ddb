"""Distinct response patterns with their weights, laid out for matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_mirt.solvers.quadrature.specification import ItemBlock


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Distinct rows of a response matrix.

    Attributes
    ----------
    responses : ndarray of shape (n_patterns, n_items)
        Category numbers 0, 1, ... (or scores in [0, 1] of dichotomous items), NaN
        where there is no answer.
    weights : ndarray of shape (n_patterns,)
        Sum of the weights of the respondents with this pattern.
    inverse : ndarray of shape (n_respondents,)
        Pattern of each respondent.
    blocks : tuple of ItemBlock
    cell_weights : ndarray of shape (n_patterns, n_items), optional
        Number of answers that each cell is the mean of, None where all are 1.
    """

    responses: np.ndarray
    weights: np.ndarray
    inverse: np.ndarray
    blocks: tuple[ItemBlock, ...]
    cell_weights: np.ndarray | None = None

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return len(self.weights)

    @property
    def complete(self) -> bool:
        """Whether every pattern answers every item."""
        return self.mask is None

    @cached_property
    def item_order(self) -> np.ndarray:
        """Items in the order of the blocks."""
        return np.concatenate([block.items for block in self.blocks])

    @cached_property
    def mask(self) -> np.ndarray | None:
        """Weights of cells (n_patterns, n_items) in block order, None if all are 1."""
        answered = ~np.isnan(self.responses[:, self.item_order])
        if self.cell_weights is not None:
            return np.where(answered, self.cell_weights[:, self.item_order], 0.0)
        return None if answered.all() else answered.astype(float)

    @cached_property
    def indicators(self) -> np.ndarray:
        """Indicators of the categories above the lowest, items in block order.

        Columns run over items, then over categories 1 .. K-1; a dichotomous item has
        one column, its score. Unanswered cells are zero.
        """
        parts = []
        for block in self.blocks:
            y = np.nan_to_num(self.responses[:, block.items])
            if block.n_categories == 2:
                hot = y[:, :, None]
            else:
                categories = np.arange(1, block.n_categories)
                hot = (y[:, :, None] == categories).astype(float)
            if self.cell_weights is not None:
                hot = hot * self.cell_weights[:, block.items, None]
            parts.append(hot.reshape(len(y), -1))
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def column_slices(self):
        """Return each block's columns in `indicators` and in `mask`."""
        out, column, item = [], 0, 0
        for block in self.blocks:
            n_items = len(block.items)
            width = n_items * (block.n_categories - 1)
            columns, items = slice(column, column + width), slice(item, item + n_items)
            out.append((columns, items))
            column, item = column + width, item + n_items
        return out

    def answers(self, rows):
        """Yield each block's weights of categories (J, K, n) for patterns ``rows``.

        One for the category answered (shared out for a fractional score), zeros where
        there is no answer.
        """
        for block, (columns, items) in zip(
            self.blocks, self.column_slices(), strict=True
        ):
            above = self.indicators[rows][:, columns]
            above = above.reshape(len(above), len(block.items), -1).transpose(1, 2, 0)
            total = np.ones((len(block.items), above.shape[2]))
            if self.mask is not None:
                total = self.mask[rows][:, items].T
            lowest = total[:, None] - above.sum(1, keepdims=True)
            yield np.concatenate([lowest, above], axis=1)


def collapse_patterns(responses, weights, blocks, cell_weights=None) -> PatternTable:
    """Collapse equal rows (missing equals missing) and add up their weights.

    Patterns come out in an order that depends on their content only, so that the
    result does not depend on the order of respondents beyond rounding.
    Rows of weighted cells are not collapsed.
    """
    if cell_weights is not None:
        everyone = np.arange(len(responses))
        return PatternTable(responses, weights, everyone, tuple(blocks), cell_weights)
    rows = np.ascontiguousarray(np.where(np.isnan(responses), -1.0, responses))
    small = rows.astype(np.int8)
    if np.array_equal(small, rows):
        rows = small
    keys = rows.view([("", f"V{rows.dtype.itemsize * rows.shape[1]}")]).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    total = np.bincount(inverse, weights, minlength=len(first))
    return PatternTable(responses[first], total, inverse, tuple(blocks))
