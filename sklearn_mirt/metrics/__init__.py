"""Metrics, scorers and splitters for held-out responses.

Conventions shared by every metric: ``y_true`` holds scores in [0, 1] (0 / 1
answers, or the mean of repeats) and NaN where there is no answer; such cells are
ignored. ``y_prob`` is the probability of a right answer, either of the shape of
``y_true`` or, for one-dimensional ``y_true``, the two columns of ``predict_proba``.
A metric that is not defined (no observed cell, one class, constant means) is NaN
with an :class:`~sklearn.exceptions.UndefinedMetricWarning`.
"""

import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_mirt.metrics import cell_functions
from sklearn_mirt.metrics.cell_functions import METRICS, as_float, observed_cells
from sklearn_mirt.metrics.splitters import (
    CellKFold,
    GroupedItemKFold,
    ItemKFold,
    LeaveItemGroupOut,
    RespondentKFold,
    cell_groups,
    id_codes,
    id_column,
)

__all__ = [
    "CellKFold",
    "CellScorer",
    "GroupedItemKFold",
    "HiddenCellScorer",
    "ItemKFold",
    "LeaveItemGroupOut",
    "RespondentKFold",
    "accuracy_scorer",
    "auc_scorer",
    "cell_auc",
    "cell_brier",
    "cell_log_loss",
    "cell_mae",
    "get_scorer",
    "get_scorer_names",
    "kendall_scorer",
    "mean_score_kendall",
    "mean_score_spearman",
    "neg_brier_scorer",
    "neg_log_loss_scorer",
    "neg_mae_scorer",
    "prediction_report",
    "rounded_accuracy",
    "spearman_scorer",
]


def cell_log_loss(y_true, y_prob, *, sample_weight=None):
    """Mean negative log-likelihood of the observed cells, in nats.

    ``-mean(w * (y log p + (1 - y) log(1 - p)))``, the binomial deviance up to a
    constant when y is a mean of repeats (Bernardo & Smith 1994, section 2.7).
    Probabilities are clipped only at the machine epsilon of their dtype, as in
    :func:`sklearn.metrics.log_loss`, so a confident mistake stays expensive.

    Parameters
    ----------
    y_true : array-like of shape (n_cells,) or (n_respondents, n_items)
        Scores in [0, 1]; NaN cells are ignored.
    y_prob : array-like of the shape of y_true, or of shape (n_cells, 2)
        Probability of a right answer, or the output of ``predict_proba``.
    sample_weight : array-like of the shape of y_true, default=None
        Weight of each cell; a weight of n counts as n repeats.

    Returns
    -------
    loss : float
        Zero is perfect; log(2) is a fair coin; NaN if no cell is observed.
    """
    return cell_functions.log_loss(*observed_cells(y_true, y_prob, sample_weight)[:3])


def cell_brier(y_true, y_prob, *, sample_weight=None):
    """Mean squared difference of probability and score (Brier 1950).

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like
        See :func:`cell_log_loss`.

    Returns
    -------
    loss : float in [0, 1]
    """
    return cell_functions.brier(*observed_cells(y_true, y_prob, sample_weight)[:3])


def cell_mae(y_true, y_prob, *, sample_weight=None):
    """Mean absolute difference of probability and score.

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like
        See :func:`cell_log_loss`.

    Returns
    -------
    loss : float in [0, 1]
    """
    return cell_functions.mae(*observed_cells(y_true, y_prob, sample_weight)[:3])


def rounded_accuracy(y_true, y_prob, *, sample_weight=None):
    """Share of answers equal to the rounded probability.

    Rounding is NumPy's, half to even, so a probability of exactly 0.5 predicts a
    wrong answer, as in BenchMIRT. For a score that is the mean of repeats it is the
    share of the repeats that agree, ``1 - |y - round(p)|``.

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like
        See :func:`cell_log_loss`.

    Returns
    -------
    accuracy : float in [0, 1]
    """
    return cell_functions.accuracy(*observed_cells(y_true, y_prob, sample_weight)[:3])


def cell_auc(y_true, y_prob, *, sample_weight=None):
    """Area under the ROC curve over the observed cells.

    A score y in (0, 1) counts as a right answer with weight y and as a wrong one
    with weight 1 - y.

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like
        See :func:`cell_log_loss`.

    Returns
    -------
    auc : float in [0, 1]
        NaN, with a warning, if all answers are right or all are wrong.
    """
    return cell_functions.auc(*observed_cells(y_true, y_prob, sample_weight)[:3])


def mean_score_spearman(y_true, y_prob, respondents=None, *, sample_weight=None):
    """Spearman correlation of observed and predicted mean scores of respondents.

    Both means run over the same observed cells, as in BenchMIRT.

    Parameters
    ----------
    y_true, y_prob : array-like
        See :func:`cell_log_loss`.
    respondents : array-like of shape (n_cells,) or (n_respondents,), default=None
        Respondent of each cell. For a two-dimensional ``y_true`` the respondent of
        each row; None then takes each row as one respondent.
    sample_weight : array-like, default=None
        See :func:`cell_log_loss`.

    Returns
    -------
    correlation : float in [-1, 1]
        NaN, with a warning, for under two respondents or constant means.
    """
    return cell_functions.spearman(
        *_by_respondent(y_true, y_prob, respondents, sample_weight)
    )


def mean_score_kendall(y_true, y_prob, respondents=None, *, sample_weight=None):
    """Kendall tau-b of observed and predicted mean scores of respondents.

    Parameters
    ----------
    y_true, y_prob, respondents, sample_weight : array-like
        See :func:`mean_score_spearman`.

    Returns
    -------
    correlation : float in [-1, 1]
        NaN, with a warning, for under two respondents or constant means.
    """
    return cell_functions.kendall(
        *_by_respondent(y_true, y_prob, respondents, sample_weight)
    )


_MACRO, _MICRO = "macro mean", "micro"


def prediction_report(X, y, prob, *, groups=None, sample_weight=None):
    """Tabulate every metric by group of items, with macro and micro averages.

    Parameters
    ----------
    X : array-like of shape (n_cells, 2)
        Respondent and item of each cell.
    y : array-like of shape (n_cells,)
        Scores in [0, 1]; NaN cells are ignored.
    prob : array-like of shape (n_cells,) or (n_cells, 2)
        Probability of a right answer, or the output of ``predict_proba``.
    groups : mapping or array-like of shape (n_cells,), default=None
        Group (benchmark) of each item id, or of each cell. None: one group "all".
    sample_weight : array-like of shape (n_cells,), default=None
        Weight of each cell.

    Returns
    -------
    report : pandas.DataFrame
        One row per group, then "macro mean" (the unweighted mean over the groups
        where the metric is defined) and "micro" (all cells as one group). Columns:
        n_cells, n_respondents, log_loss, brier, mae, accuracy, auc, spearman,
        kendall. An undefined metric is NaN.

    Raises
    ------
    ValueError
        If an item has no group, or a group bears the name of an average row.
    """
    import pandas as pd

    codes, names = cell_groups(X, groups)
    if {_MACRO, _MICRO} & set(names):
        raise ValueError(f"{_MACRO!r} and {_MICRO!r} name rows; rename that group.")
    respondents, _ = id_codes(id_column(X, 0), "respondent")
    y, prob, weight, kept = observed_cells(y, prob, sample_weight)
    if len(kept) != len(respondents):
        raise ValueError(f"X has {len(respondents)} cells but y has {len(kept)}.")
    codes, respondents = codes[kept], respondents[kept]
    # Sorted once by probability, which the AUC needs, and within it by group: the
    # cells of a group are then a slice, whose own sort finds nothing left to do.
    order = np.argsort(prob)
    cells = [values[order] for values in (y, prob, weight, respondents)]
    small = np.min_scalar_type(len(names))  # one or two bytes: a linear-time sort
    by_group = np.argsort(codes[order].astype(small), kind="stable")
    grouped = [values[by_group] for values in cells]
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    rows = {
        name: _report_row(*(values[start:stop] for values in grouped))
        for name, start, stop in zip(names, [0, *ends[:-1]], ends, strict=True)
    }
    report = pd.DataFrame.from_dict(rows, orient="index")
    micro = _report_row(*cells)
    macro = micro | report[list(METRICS)].mean().to_dict()
    report = pd.concat([report, pd.DataFrame([macro, micro], index=[_MACRO, _MICRO])])
    return report.rename_axis("group")


class CellScorer:
    """Score a fitted classifier on long data; usable as ``scoring=``.

    Called with (estimator, X, y), X holding the respondent and the item of each
    cell. Unlike scikit-learn's own scorers it accepts NaN and fractional y. Labels
    other than 0 and 1 are read through ``estimator.classes_``, whose second entry
    means a right answer.

    Parameters
    ----------
    metric : str
        One of :func:`get_scorer_names`; greater is better.
    """

    def __init__(self, metric):
        self.metric = metric

    def __call__(self, estimator, X, y, sample_weight=None):
        """Return the score of ``estimator.predict_proba(X)`` against y."""
        classes = np.asarray(estimator.classes_)
        prob = _right_probability(np.asarray(estimator.predict_proba(X)), classes)
        target = _binary_target(y, classes)
        return _score(self.metric, target, prob, id_column(X, 0), sample_weight)

    def __repr__(self):
        return f"{type(self).__name__}({self.metric!r})"


class HiddenCellScorer:
    """Score a fitted wide-layout model on cells hidden from it; for ``scoring=``.

    In each row a share of the observed cells is hidden, the estimator predicts them
    from the others (``expected_scores(X)`` if it has that method, else
    ``inverse_transform(transform(X))``), and the hidden cells are scored. Rows with
    one observed cell are not used. Which cells are hidden depends on the shape and
    the gaps of X and on the seed only, so candidates meet the same cells.

    Parameters
    ----------
    metric : str, default="neg_log_loss"
        One of :func:`get_scorer_names`.
    share : float in (0, 1), default=0.2
        Share of each row's observed cells to hide; at least one is hidden, at least
        one is kept.
    random_state : int, numpy.random.Generator or None, default=0
        Seed. An int gives the same cells at every call.
    """

    def __init__(self, metric="neg_log_loss", *, share=0.2, random_state=0):
        self.metric = metric
        self.share = share
        self.random_state = random_state

    def __call__(self, estimator, X, y=None):
        """Return the score on the hidden cells; y is ignored."""
        if not 0 < self.share < 1:
            raise ValueError(f"share must be in (0, 1), got {self.share!r}.")
        scores = as_float(X)
        if scores.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {scores.ndim}.")
        hidden = self._hidden(~np.isnan(scores))
        visible = np.where(hidden, np.nan, scores)
        if hasattr(X, "iloc"):
            visible = type(X)(visible, index=X.index, columns=X.columns)
        if hasattr(estimator, "expected_scores"):
            expected = estimator.expected_scores(visible)
        else:
            expected = estimator.inverse_transform(estimator.transform(visible))
        return _score(self.metric, np.where(hidden, scores, np.nan), expected)

    def _hidden(self, observed):
        counts = observed.sum(axis=1)
        n_hidden = np.maximum(np.round(self.share * counts), 1)
        n_hidden = np.minimum(n_hidden, counts - 1)
        keys = np.random.default_rng(self.random_state).random(observed.shape)
        keys[~observed] = np.inf
        order = np.argsort(keys, axis=1)
        hidden = np.empty_like(observed)
        chosen = np.arange(observed.shape[1]) < n_hidden[:, None]
        np.put_along_axis(hidden, order, chosen, axis=1)
        return hidden

    def __repr__(self):
        return (
            f"{type(self).__name__}({self.metric!r}, share={self.share!r}, "
            f"random_state={self.random_state!r})"
        )


def get_scorer_names():
    """Return the names :func:`get_scorer` knows, sorted.

    Returns
    -------
    names : list of str
    """
    return sorted(_SCORERS)


def get_scorer(name):
    """Return the long-layout scorer of that name.

    Parameters
    ----------
    name : str
        One of :func:`get_scorer_names`.

    Returns
    -------
    scorer : CellScorer

    Raises
    ------
    ValueError
        If no scorer has that name.
    """
    if name not in _SCORERS:
        raise ValueError(f"Unknown metric {name!r}; choose from {get_scorer_names()}.")
    return _SCORERS[name]


def _by_respondent(y_true, y_prob, respondents, sample_weight):
    """Return scores, probabilities, weights and respondent codes of observed cells."""
    shape = np.shape(y_true)
    if respondents is None and len(shape) == 1:
        raise ValueError("respondents must be given for one-dimensional y_true.")
    if respondents is None:
        respondents = np.arange(shape[0])
    codes, _ = id_codes(respondents, "respondent")
    if len(codes) != shape[0]:
        raise ValueError(f"{len(codes)} respondents given, y_true has {shape[0]} rows.")
    if len(shape) == 2:
        codes = np.repeat(codes, shape[1])
    y, p, weight, kept = observed_cells(y_true, y_prob, sample_weight)
    return y, p, weight, codes[kept]


def _report_row(y, prob, weight, respondents):
    row = {
        "n_cells": len(y),
        "n_respondents": int(np.count_nonzero(np.bincount(respondents))),
    }
    with warnings.catch_warnings():
        # The NaN in the table says it already.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for name, (function, _, by_respondent) in METRICS.items():
            codes = (respondents,) if by_respondent else ()
            row[name] = function(y, prob, weight, *codes)
    return row


def _score(metric, y_true, y_prob, respondents=None, sample_weight=None):
    get_scorer(metric)
    function, sign, by_respondent = METRICS[metric.removeprefix("neg_")]
    if by_respondent:
        cells = _by_respondent(y_true, y_prob, respondents, sample_weight)
    else:
        cells = observed_cells(y_true, y_prob, sample_weight)[:3]
    return sign * function(*cells)


def _is_zero_one(classes):
    return classes.dtype.kind in "biuf" and set(classes.tolist()) <= {0, 1}


def _right_probability(prob, classes):
    if len(classes) == 2:
        return prob[:, 1]
    if len(classes) == 1 and _is_zero_one(classes):
        return prob[:, 0] if classes[0] else np.zeros(len(prob))
    raise ValueError(f"Expected the classes wrong and right, got {classes.tolist()}.")


def _binary_target(y, classes):
    """Return y as scores in [0, 1] with NaN for missing answers."""
    if _is_zero_one(classes):
        return as_float(y)
    import pandas as pd

    y = np.asarray(y, dtype=object)
    target = np.where(y == classes[1], 1.0, 0.0)
    missing = pd.isna(y)
    unknown = ~missing & (y != classes[1]) & (y != classes[0])
    if unknown.any():
        raise ValueError(
            f"y holds {y[unknown][0]!r}, which is not in classes_ {classes.tolist()}."
        )
    target[missing] = np.nan
    return target


_SCORERS = {
    ("neg_" if sign < 0 else "") + name: CellScorer(("neg_" if sign < 0 else "") + name)
    for name, (_, sign, _) in METRICS.items()
}
neg_log_loss_scorer = _SCORERS["neg_log_loss"]
neg_brier_scorer = _SCORERS["neg_brier"]
neg_mae_scorer = _SCORERS["neg_mae"]
accuracy_scorer = _SCORERS["accuracy"]
auc_scorer = _SCORERS["auc"]
spearman_scorer = _SCORERS["spearman"]
kendall_scorer = _SCORERS["kendall"]
