"""Item banks of a given size."""

import numpy as np

from sklearn_mirt import ItemBank, ItemParameters


def a_bank(n_items, intercept=0.0):
    """Return a bank of one dimension."""
    return ItemBank.from_items(
        ItemParameters(
            np.random.default_rng(0).normal(size=(n_items, 1)),
            np.full(n_items, intercept),
            np.zeros(n_items),
            np.zeros((n_items, 2, 2)),
            np.array([f"q{j}" for j in range(n_items)], dtype=object),
        )
    )
