"""The long layout: one row per answer, two columns (respondent, item)."""

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from sklearn_mirt.data.checks import is_missing
from sklearn_mirt.data.responses import ResponseData
from sklearn_mirt.estimators.dask_collections import is_lazy, lazily, share_right


class LongAnswersMixin:
    """What classifiers of the long layout share: predictions and tags.

    Subclasses give `_right_of_pairs(respondents, items)`, the probability of a right
    answer to each.
    """

    def predict_proba(self, X):
        """Return probabilities of a wrong and of a right answer.

        Those of :class:`MIRTClassifier` are averaged over the uncertainty of abilities
        and items.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_answers, 2)
            Respondent id and item id. Ids that the fit has not seen get averages in a
            baseline; in :class:`MIRTClassifier` the population of abilities and the
            prior of the item's group, or an error (see `handle_unknown`).

        Returns
        -------
        probabilities : ndarray of shape (n_answers, 2)
            In the order of `classes_`; a dask array if X is a dask DataFrame.
        """
        check_is_fitted(self, "classes_")
        if is_lazy(X):
            return lazily(self, "predict_proba", X, 2)
        right = self._right_of_pairs(*read_pairs(self, X, reset=False))
        return np.column_stack([1 - right, right])

    def predict(self, X):
        """Return the more probable label of each answer.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_answers, 2)
            Respondent id and item id.

        Returns
        -------
        labels : ndarray of shape (n_answers,)
        """
        if is_lazy(X):
            return lazily(self, "predict", X)
        right = self.predict_proba(X)[:, 1]
        return self.classes_[(right > 0.5).astype(int)]

    def score(self, X, y, sample_weight=None):
        """Return the accuracy of :meth:`predict`.

        Parameters
        ----------
        X : array-like, DataFrame or dask DataFrame of shape (n_answers, 2)
        y : array-like or dask Series of shape (n_answers,)
        sample_weight : array-like of shape (n_answers,), default=None

        Returns
        -------
        score : float
        """
        if is_lazy(X):
            return share_right(self, X, y)
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self):
        """Tags: two columns of ids, two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def read_pairs(estimator, X, *, reset):
    """Return the two id columns of X, checked; sets n_features_in_ when `reset`.

    Raises
    ------
    ValueError
        X has not exactly two columns, or no rows.
    """
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed, but dense data is required: X has two columns of "
            "ids. For a sparse table with one column per item use MIRTTransformer"
        )
    if not hasattr(X, "columns"):
        X = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead: X has two columns, "
                "respondent and item. Reshape your data"
            )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if X.shape[1] != 2:
        raise ValueError(
            f"X must have exactly two columns, respondent and item, got {X.shape[1]} "
            "column(s); for a table with one column per item use MIRTTransformer"
        )
    if X.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is "
            "required"
        )
    if hasattr(X, "iloc"):
        return X.iloc[:, 0], X.iloc[:, 1]
    if hasattr(X, "columns"):  # polars and other frames
        return tuple(np.asarray(X[name].to_numpy(), object) for name in X.columns)
    return X[:, 0], X[:, 1]


def read_answers(estimator, X, y, sample_weight, aggregate=None):
    """Return checked answers as ResponseData, and the two classes.

    Raises
    ------
    ValueError
        As :func:`read_pairs`; also for lengths that differ, more than two labels, or
        repeated cells.
    """
    respondents, items = read_pairs(estimator, X, reset=True)
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None"
        )
    y = column_or_1d(_plain_target(y), warn=True)
    if len(y) != len(items):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: "
            f"[{len(items)}, {len(y)}]"
        )
    _refuse_infinite(y)
    scores, classes = _scores(y)
    if sample_weight is not None:
        sample_weight = _weights(sample_weight, len(y))
    data = ResponseData.from_long(
        respondents, items, scores, weights=sample_weight, aggregate=aggregate
    )
    return data, classes


def _weights(sample_weight, n_answers):
    # what is not finite is left to the check of weights, which names row and ids
    sample_weight = check_array(
        sample_weight,
        dtype=np.float64,
        ensure_2d=False,
        ensure_all_finite=False,
        input_name="sample_weight",
    )
    if sample_weight.shape != (n_answers,):
        raise ValueError(
            f"sample_weight has shape {sample_weight.shape}, expected ({n_answers},): "
            "one weight per answer"
        )
    if not sample_weight.any():
        raise ValueError("There are no answers: every weight in sample_weight is zero")
    return sample_weight


def _refuse_infinite(y):
    """Raise ValueError where a target is infinite: it would pass for a label."""
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError(
            f"y is infinity in row {int(np.argmax(np.isinf(y)))}; it holds two labels, "
            "or scores in [0, 1]"
        )


def _plain_target(y):
    """Extension arrays of pandas as plain arrays, pd.NA as None."""
    if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray):
        if hasattr(getattr(y, "dtype", None), "na_value"):
            return y.to_numpy(dtype=object, na_value=None)
        return y.to_numpy()
    return y


def _scores(y):
    """Scores in [0, 1], NaN where missing, and the two labels."""
    missing = None
    if y.dtype.kind == "f":
        missing = np.isnan(y)
    elif y.dtype.kind == "O":
        missing = np.array([is_missing(v) or v != v for v in y], dtype=bool)
    known = y if missing is None else y[~missing]
    if y.dtype.kind == "O" and len(known):
        known = np.array(known.tolist())
    labels = np.unique(known)
    if not len(labels):
        raise ValueError("There are no answers: every score of y is missing")
    numeric = labels.dtype.kind in "buif"
    if numeric and len(labels) and labels[0] >= 0 and labels[-1] <= 1:
        right = known.astype(float)
        if np.isin(labels, (0, 1)).all():
            labels = np.array([0, 1], dtype=labels.dtype)
        else:  # fractions: the label of a right answer is a full score
            labels = np.array([0.0, 1.0])
    else:
        _refuse_labels(labels, known)
        right = (known == labels[1]).astype(float)
    if missing is None:
        return right, labels
    scores = np.full(len(y), np.nan)
    scores[~missing] = right
    return scores, labels


def _refuse_labels(labels, known):
    if len(labels) == 2:
        return
    if len(labels) < 2:
        raise ValueError(
            f"y has {len(labels)} class(es) only ({labels.tolist()}); a right and a "
            "wrong answer need two labels"
        )
    kind = type_of_target(known)
    raise ValueError(
        f"Unknown label type: {kind}. Only binary classification is supported: y must "
        f"have two labels or scores in [0, 1], got values such as {labels[:3].tolist()}"
    )


def code_ids(ids, known):
    """Return the place of each id in `known`, and the unknown ids.

    The k-th unknown id, in order of appearance, gets the place len(known) + k.
    """
    import pandas as pd

    codes, unique = pd.factorize(ids if isinstance(ids, pd.Series) else np.asarray(ids))
    if len(codes) and codes.min() < 0:
        raise ValueError(f"An id is missing in row {int(np.argmin(codes))}")
    place = {value: k for k, value in enumerate(known)}
    unknown = [value for value in unique if value not in place]
    place.update({value: len(known) + k for k, value in enumerate(unknown)})
    table = np.array([place[value] for value in unique], dtype=np.int64)
    return table[codes], unknown
