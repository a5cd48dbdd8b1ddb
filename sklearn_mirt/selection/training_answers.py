"""Checked training answers of an item bank, in an order free of the input order."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import validate_data

from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.models.item_design import sorted_codes

__all__ = ["Bank", "check_answers", "positions_of", "read_bank", "score_targets"]

OVERALL = "overall"


@dataclass(frozen=True, eq=False)
class Bank:
    """The items that have answers, sorted by group and content.

    Attributes
    ----------
    responses : ndarray of shape (n_respondents, n_kept)
        Respondents sorted by mean score, items by group and mean score, ties by their
        cross products; what has no answer at all is left out. Equal data in any order,
        under any names, give the same matrix, except for exact duplicates.
    columns : ndarray of int of shape (n_kept,)
        Input column of every kept item.
    groups : ndarray of int of shape (n_kept,)
    labels : ndarray of shape (n_groups,)
        Group labels, sorted.
    ids : ndarray of shape (n_features,)
        Identifiers of all input columns (names, or positions without names).
    """

    responses: np.ndarray
    columns: np.ndarray
    groups: np.ndarray
    labels: np.ndarray
    ids: np.ndarray

    @classmethod
    def of(cls, X, labels, ids, item_filter=None):
        """Sort a checked matrix; drop items and respondents without answers.

        With ``item_filter``, drop also the items whose mean score does not lie strictly
        between its two values.
        """
        seen = ~np.isnan(X)
        columns = np.flatnonzero(seen.any(axis=0))
        if item_filter is not None:
            means = np.nanmean(X[:, columns], axis=0)
            low, high = item_filter
            columns = columns[(means > low) & (means < high)]
        rows = np.flatnonzero(seen[:, columns].any(axis=1))
        names, groups = sorted_codes(labels[columns])
        responses = X[np.ix_(rows, columns)]
        by_row, by_column = _canonical_order(responses, groups)
        return cls(
            responses=responses[np.ix_(by_row, by_column)],
            columns=columns[by_column],
            groups=groups[by_column],
            labels=names,
            ids=ids,
        )

    @property
    def targets(self):
        """Weights of the overall score, then of every group's."""
        return score_targets(self.groups, self.n_groups)

    @property
    def n_groups(self):
        """Number of groups that have items."""
        return len(self.labels)

    @property
    def places(self):
        """Kept position of every input column, -1 for items without answers."""
        places = np.full(len(self.ids), -1)
        places[self.columns] = np.arange(len(self.columns))
        return places


def score_targets(groups, n_groups):
    """Weights of the overall mean and of every group's, (n_items, 1 + n_groups)."""
    targets = np.zeros((len(groups), 1 + n_groups))
    targets[:, 0] = 1.0 / len(groups)
    counts = np.bincount(groups, minlength=n_groups)
    targets[np.arange(len(groups)), 1 + groups] = 1.0 / counts[groups]
    return targets


def read_bank(estimator, X, item_groups):
    """Check the training matrix of ``estimator`` and return its ``Bank``.

    Sets ``n_features_in_`` and ``feature_names_in_``.

    Raises
    ------
    ValueError
        If a score lies outside [0, 1], if nothing was answered, or if ``item_groups``
        does not name a group for every item.

    Warns
    -----
    ResponseDataWarning
        If items have no answers: they cannot be chosen and count in no score.
    """
    # infinity is left to the check of the range, which names row and item
    X = validate_data(
        estimator, X, dtype=np.float64, ensure_all_finite=False, reset=True
    )
    ids = getattr(estimator, "feature_names_in_", np.arange(X.shape[1]))
    _check_range(X, ids)
    labels = group_labels(item_groups, ids)
    answered = ~np.isnan(X).all(axis=0)
    if not answered.any():
        raise ValueError("No respondent answered any item; there is nothing to learn.")
    if not answered.all():
        missing = ids[~answered]
        warnings.warn(
            f"{len(missing)} item(s) without any answer are left out of the choice and "
            f"of the scores: {some(missing)}.",
            ResponseDataWarning,
            stacklevel=3,
        )
    return Bank.of(X, labels, ids)


def check_answers(estimator, X, bank):
    """Return answers of new respondents in the order of the bank's kept items.

    A data frame may hold any of the training items, in any order; an array must have
    all training columns. NaN = not asked.

    Raises
    ------
    ValueError
        If a data frame has a column that the training matrix had not, or a score lies
        outside [0, 1].
    """
    columns = getattr(X, "columns", None)
    if (
        columns is not None
        and hasattr(X, "reindex")
        and hasattr(estimator, "feature_names_in_")
    ):
        known = set(bank.ids)
        unknown = [column for column in columns if column not in known]
        if unknown:
            raise ValueError(
                f"Answers to {len(unknown)} unknown item(s): {some(unknown)}. The "
                "columns must be items of the training matrix."
            )
        X = X.reindex(columns=bank.ids)
    X = validate_data(
        estimator, X, dtype=np.float64, ensure_all_finite=False, reset=False
    )
    _check_range(X, bank.ids)
    return X[:, bank.columns]


def positions_of(items, bank, *, what):
    """Kept positions of items given as a mask, identifiers or column numbers.

    Raises
    ------
    ValueError
        If an item is unknown, repeated, or has no training answers.
    """
    items = np.asarray(items)
    if items.dtype == bool:
        if items.shape != bank.ids.shape:
            raise ValueError(
                f"A mask for {what} needs one entry for each of {len(bank.ids)} items; "
                f"got shape {items.shape}."
            )
        items = np.flatnonzero(items)
    elif items.dtype.kind in "OUS":
        where = {item: k for k, item in enumerate(bank.ids)}
        unknown = [item for item in items if item not in where]
        if unknown:
            raise ValueError(f"Unknown item(s) in {what}: {some(unknown)}.")
        items = np.array([where[item] for item in items], dtype=int)
    items = items.astype(int).reshape(-1)
    wrong = items[(items < 0) | (items >= len(bank.ids))]
    if len(wrong):
        raise ValueError(
            f"{what} names column(s) {some(wrong)}; the matrix has {len(bank.ids)}."
        )
    if len(np.unique(items)) < len(items):
        raise ValueError(f"{what} names an item twice.")
    places = bank.places[items]
    if (places < 0).any():
        raise ValueError(
            f"{what} names item(s) without any training answer: "
            f"{some(bank.ids[items[places < 0]])}."
        )
    return places


def _check_range(X, ids):
    bad = (X < 0) | (X > 1)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"Scores must lie in [0, 1]; row {row} has {X[row, column]:.9g} for item "
            f"{some(ids[[column]])}. Divide graded scores by their maximum."
        )


def group_labels(item_groups, ids):
    """Return one group label per input column."""
    if item_groups is None:
        return np.full(len(ids), "all", dtype=object)
    if isinstance(item_groups, Mapping) or hasattr(item_groups, "to_dict"):
        table = dict(item_groups)
        unknown = [item for item in ids if item not in table]
        if unknown:
            raise ValueError(
                f"item_groups has no group for {len(unknown)} item(s): {some(unknown)}."
            )
        return np.array([table[item] for item in ids], dtype=object)
    labels = np.asarray(item_groups, dtype=object)
    if labels.shape != (len(ids),):
        raise ValueError(
            f"item_groups must hold one label for each of {len(ids)} items; got shape "
            f"{labels.shape}."
        )
    return labels


def _canonical_order(responses, groups):
    """Row and column order from the content only (ties keep the input order)."""
    seen = ~np.isnan(responses)
    filled = np.where(seen, responses, 0.0)
    row_mean = filled.sum(axis=1) / seen.sum(axis=1)
    column_mean = filled.sum(axis=0) / seen.sum(axis=0)

    def keys(matrix, mean, other):
        second = [matrix @ other, matrix @ other**2, matrix @ np.sqrt(other)]
        return [np.round(key, 9) for key in reversed([mean, *second])]

    rows = np.lexsort(keys(filled, row_mean, column_mean))
    columns = np.lexsort([*keys(filled.T, column_mean, row_mean), groups])
    return rows, columns


def some(items, limit=5):
    """Name the first few items."""
    shown = ", ".join(repr(getattr(i, "item", lambda i=i: i)()) for i in items[:limit])
    return shown + (", ..." if len(items) > limit else "")
