"""Splitters of the long layout: which cells are held out together.

A sample is one cell, so scikit-learn's splitters hold out cells; these also hold out
whole respondents, items or groups of items.
"""

import numpy as np
from sklearn.model_selection import BaseCrossValidator, KFold, PredefinedSplit

from sklearn_mirt.metrics.ids import cell_groups, id_codes, id_column


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
    """K-fold over the distinct labels of the cells; a label is never divided.

    Labels are sorted, dealt to the folds in turn and the folds shuffled, so that the
    fold of a label does not depend on the order of the cells, and folds have equal
    numbers of labels, give or take one. scikit-learn's GroupKFold balances the numbers
    of cells instead when it does not shuffle, and forms other folds when it does.
    """

    _noun, _column = "label", 0

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
        yield from PredefinedSplit(self._folds(len(names))[codes]).split()

    def _codes(self, X):
        return id_codes(id_column(X, self._column), self._noun)

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

    _noun, _column = "respondent", 0


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

    _noun, _column = "item", 1


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
