"""Ids of the cells of a long table, and groups of its items."""

import numpy as np


def id_column(X, number):
    """Return one of the two id columns of a long X."""
    shape = np.shape(X)
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(f"X must have two columns, respondent and item; got {shape}.")
    if hasattr(X, "iloc"):
        return X.iloc[:, number]
    # Nested lists would turn into strings where an id is one.
    X = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    return X[:, number]


def id_codes(labels, noun):
    """Return the code of each label and the sorted distinct labels."""
    import pandas as pd

    # a Series as it is: its strings need not become Python objects first
    labels = labels if isinstance(labels, pd.Series) else np.asarray(labels)
    codes, names = pd.factorize(labels)
    names = names.tolist()
    if (codes < 0).any():
        raise ValueError(f"{(codes < 0).sum()} cells have no {noun} id.")
    # Numbers and strings may meet in an object column; they sort by type first.
    order = sorted(range(len(names)), key=lambda i: _sort_key(names[i]))
    rank = np.empty(len(names), dtype=int)
    rank[order] = np.arange(len(names))
    return rank[codes], [names[i] for i in order]


def _sort_key(label):
    return (isinstance(label, str), label)


def cell_groups(X, groups):
    """Return the code of each cell's group and the sorted group labels.

    `groups` maps item ids to groups, or holds one label per cell; None is one group.
    """
    if groups is None:
        return np.zeros(len(id_column(X, 1)), dtype=int), ["all"]
    if not hasattr(groups, "keys"):
        n_cells = len(id_column(X, 1))
        if len(groups) != n_cells:
            raise ValueError(f"{len(groups)} group labels for {n_cells} cells.")
        return id_codes(np.asarray(groups, dtype=object), "group")
    groups = dict(groups)
    codes, names = id_codes(id_column(X, 1), "item")
    unknown = [name for name in names if name not in groups]
    if unknown:
        raise ValueError(f"{len(unknown)} items have no group, such as {unknown[:3]}.")
    # by item first: items are few beside cells
    labels = np.fromiter((groups[name] for name in names), object, len(names))
    group_of_item, labels = id_codes(labels, "group")
    return group_of_item[codes], labels
