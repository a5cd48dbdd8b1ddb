"""Checked training answers, in an order free of the input order."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import validate_data

from sklearn_mirt.data.checks import name_some
from sklearn_mirt.data.responses import ResponseData, read_samples
from sklearn_mirt.estimators.base import set_features
from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.models.item_design import make_design

__all__ = [
    "TrainingAnswers",
    "positions_of",
    "read_answers",
    "read_scores",
    "read_training_answers",
    "score_targets",
]

OVERALL = "overall"


@dataclass(frozen=True, eq=False)
class TrainingAnswers:
    """The answers to all items that have any, sorted by group and content.

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
    named : bool
        Whether ``ids`` are names, by which tables of new respondents are joined.
    """

    responses: np.ndarray
    columns: np.ndarray
    groups: np.ndarray
    labels: np.ndarray
    ids: np.ndarray
    named: bool = False

    @classmethod
    def of(cls, data, design, item_filter=None, *, named=False):
        """Sort answers; drop items and respondents without any.

        With ``item_filter``, drop also the items whose mean score does not lie strictly
        between its two values.

        Parameters
        ----------
        data : ResponseData
            Scores; weights are ignored.
        design : ItemDesign
            Holds the group of every item.
        item_filter : tuple of float, default=None
        named : bool, default=False
            As the attribute.

        Returns
        -------
        training : TrainingAnswers
        """
        X = data.to_wide()
        seen = ~np.isnan(X)
        columns = np.flatnonzero(seen.any(axis=0))
        if item_filter is not None:
            means = np.nanmean(X[:, columns], axis=0)
            low, high = item_filter
            columns = columns[(means > low) & (means < high)]
        rows = np.flatnonzero(seen[:, columns].any(axis=1))
        used, groups = np.unique(design.groups[columns], return_inverse=True)
        responses = X[np.ix_(rows, columns)]
        by_row, by_column = _canonical_order(responses, groups)
        return cls(
            responses=responses[np.ix_(by_row, by_column)],
            columns=columns[by_column],
            groups=groups[by_column],
            labels=design.group_labels[used],
            ids=data.items,
            named=named,
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


# Reading ------------------------------------------------------------------------------


def read_training_answers(estimator, X, item_groups):
    """Check the training matrix of ``estimator`` and return its ``TrainingAnswers``.

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
    data = read_scores(X)
    if isinstance(X, ResponseData):
        set_features(estimator, data.n_items)
    else:
        validate_data(estimator, X, skip_check_array=True)
    design = make_design(data.items, item_groups, None, False)
    if not data.n_observed:
        raise ValueError("No respondent answered any item; there is nothing to learn.")
    training = TrainingAnswers.of(data, design, named=_has_names(X))
    empty = training.places < 0
    if empty.any():
        warnings.warn(
            f"{empty.sum()} item(s) without any answer are left out of the choice and "
            f"of the scores: {name_some(data.items[empty])}.",
            ResponseDataWarning,
            stacklevel=3,
        )
    return training


def read_answers(estimator, X, training):
    """Return answers of new respondents in the order of the kept training items.

    A table with column names may hold any of the training items, in any order; one
    without must have all training columns. NaN = not asked.

    Raises
    ------
    ValueError
        If a column is not among the training items, or a score lies outside [0, 1].
    """
    data = read_scores(X, require_zeros=False)
    if not (training.named and _has_names(X)):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return data.to_wide()[:, training.columns]
    place = {item: k for k, item in enumerate(training.ids)}
    unknown = [item for item in data.items if item not in place]
    if unknown:
        raise ValueError(
            f"Answers to {len(unknown)} unknown item(s): {name_some(unknown)}. The "
            "columns must be items of the training matrix."
        )
    answers = np.full((data.n_respondents, len(place)), np.nan)
    answers[:, [place[item] for item in data.items]] = data.to_wide()
    return answers[:, training.columns]


def _has_names(X):
    return isinstance(X, ResponseData) or hasattr(X, "columns")


def read_scores(X, *, require_zeros=True):
    """Return a table as ``ResponseData`` that keeps fractions to the last digit."""
    if isinstance(X, ResponseData):
        return X
    return read_samples(X, require_zeros=require_zeros, dtype=np.float64)


def positions_of(items, training, *, what):
    """Kept positions of items given as a mask, identifiers or column numbers.

    Integers are column numbers, also where the columns are named by numbers.

    Raises
    ------
    ValueError
        If an item is unknown, repeated, or has no training answers.
    """
    items = np.asarray(items)
    if items.dtype == bool:
        if items.shape != training.ids.shape:
            raise ValueError(
                f"A mask for {what} needs one entry for each of {len(training.ids)} "
                f"items; got shape {items.shape}."
            )
        items = np.flatnonzero(items)
    elif items.dtype.kind in "OUS":
        where = {item: k for k, item in enumerate(training.ids)}
        unknown = [item for item in items if item not in where]
        if unknown:
            raise ValueError(f"Unknown item(s) in {what}: {name_some(unknown)}.")
        items = np.array([where[item] for item in items], dtype=int)
    items = items.astype(int).reshape(-1)
    wrong = items[(items < 0) | (items >= len(training.ids))]
    if len(wrong):
        raise ValueError(
            f"{what} names column(s) {name_some(wrong)}; the matrix has "
            f"{len(training.ids)}."
        )
    if len(np.unique(items)) < len(items):
        raise ValueError(f"{what} names an item twice.")
    places = training.places[items]
    if (places < 0).any():
        raise ValueError(
            f"{what} names item(s) without any training answer: "
            f"{name_some(training.ids[items[places < 0]])}."
        )
    return places
