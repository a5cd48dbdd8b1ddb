"""Tables of answers in other layouts, and checks of what is fitted to them."""

import numpy as np


def finite(mirt):
    """Whether the main parameters of a fitted transformer are finite."""
    arrays = (mirt.slopes_, mirt.intercepts_, mirt.abilities_, mirt.item_covariances_)
    return all(np.isfinite(a).all() for a in arrays)


def long(table):
    """Return pairs (row, column) of the observed answers, and their scores."""
    i, j = np.nonzero(~np.isnan(table))
    return np.column_stack([i, j]), table[i, j]
