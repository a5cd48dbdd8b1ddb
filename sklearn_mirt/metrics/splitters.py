"""Splitters of the long layout: which cells are held out together.

A sample is one cell, so scikit-learn's splitters hold out cells; these also hold out
whole respondents, items or groups of items.
"""

import numpy as np
from sklearn.model_selection import BaseCrossValidator, KFold

__all__ = [
    "CellKFold",
    "GroupedItemKFold",
    "ItemKFold",
    "LeaveItemGroupOut",
    "RespondentKFold",
]


class CellKFold(KFold):
    """K-fold over cells: scikit-learn's KFold with BenchMIRT's settings.

    Parameters
    ----------
    n_splits : int, default=10
        Number of folds.
    shuffle : bool, default=True
        Whether cells are shuffled before they are split.
    random_state : int, RandomState instance or None, default=42
        Seed of the shuffle; not used without it.
    """

    def __init__(self, n_splits=10, *, shuffle=True, random_state=42):
        super().__init__(
            n_splits, shuffle=shuffle, random_state=random_state if shuffle else None
        )


class _WholeKFold(BaseCrossValidator):
    """K-fold over the distinct labels of the cells; a label is never divided."""

    _noun = "label"

    def __init__(self, n_splits=5, *, shuffle=True, random_state=0):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X=None, y=None, groups=None):
        """Return the number of folds."""
        return self.n_splits

    def split(self, X, y=None, groups=None):
        """Yield (train, test) row numbers; a label's cells are never divided."""
        codes, names = self._codes(X)
        folds = self._folds(len(names))[codes]
        for fold in range(self.get_n_splits(X)):
            test = folds == fold
            yield np.flatnonzero(~test), np.flatnonzero(test)

    def _folds(self, n_labels):
        if not 2 <= self.n_splits <= n_labels:
            raise ValueError(
                f"n_splits={self.n_splits} must be between 2 and the number of "
                f"{self._noun}s, which is {n_labels}."
            )
        folds = np.arange(n_labels) % self.n_splits
        if self.shuffle:
            np.random.default_rng(self.random_state).shuffle(folds)
        return folds


class RespondentKFold(_WholeKFold):
    """K-fold that holds out whole respondents (column 0 of X).

    The fold of a respondent depends on the set of ids and the seed, not on the
    order of the cells; folds have equal numbers of respondents, give or take one.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at most the number of respondents.
    shuffle : bool, default=True
        Whether to shuffle; otherwise sorted ids are dealt to the folds in turn.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the shuffle.
    """

    _noun = "respondent"

    def _codes(self, X):
        return id_codes(id_column(X, 0), self._noun)


class ItemKFold(_WholeKFold):
    """K-fold that holds out whole items (column 1 of X).

    Folds are formed as in :class:`RespondentKFold`.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at most the number of items.
    shuffle : bool, default=True
        Whether to shuffle; otherwise sorted ids are dealt to the folds in turn.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the shuffle.
    """

    _noun = "item"

    def _codes(self, X):
        return id_codes(id_column(X, 1), self._noun)


class GroupedItemKFold(_WholeKFold):
    """K-fold that holds out whole groups of items, such as benchmarks.

    Parameters
    ----------
    item_groups : mapping
        Group of each item id (dict or pandas Series).
    n_splits : int, default=5
        Number of folds, at most the number of groups.
    shuffle : bool, default=True
        Whether to shuffle; otherwise sorted groups are dealt to the folds in turn.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the shuffle.
    """

    _noun = "item group"

    def __init__(self, item_groups, n_splits=5, *, shuffle=True, random_state=0):
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)
        self.item_groups = item_groups

    def _codes(self, X):
        return cell_groups(X, self.item_groups)


class LeaveItemGroupOut(GroupedItemKFold):
    """Hold out one group of items (one benchmark) at a time, in sorted order.

    Parameters
    ----------
    item_groups : mapping
        Group of each item id (dict or pandas Series).
    """

    def __init__(self, item_groups):
        self.item_groups = item_groups

    def get_n_splits(self, X=None, y=None, groups=None):
        """Return the number of groups among the items of X (of the mapping if None)."""
        if X is None:
            return len(set(dict(self.item_groups).values()))
        return len(self._codes(X)[1])

    def _folds(self, n_labels):
        if n_labels < 2:
            raise ValueError("At least two item groups are needed to leave one out.")
        return np.arange(n_labels)


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
