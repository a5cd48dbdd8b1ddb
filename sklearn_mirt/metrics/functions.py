"""Metrics of predictions on the observed cells of a response table."""

import warnings
from collections.abc import Callable

import numpy as np
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score

from sklearn_mirt.metrics.ids import cell_groups, id_codes, id_column
from sklearn_mirt.models.prediction import log_losses


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
    y, p, weight, _ = observed_cells(y_true, y_prob, sample_weight)
    return _mean(log_losses(y, p, np.finfo(p.dtype).eps), weight)


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
    y, p, weight, _ = observed_cells(y_true, y_prob, sample_weight)
    return _mean((y - p) ** 2, weight)


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
    y, p, weight, _ = observed_cells(y_true, y_prob, sample_weight)
    return _mean(np.abs(y - p), weight)


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
    y, p, weight, _ = observed_cells(y_true, y_prob, sample_weight)
    return _mean(1 - np.abs(y - np.round(p)), weight)


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
    y, p, weight, _ = observed_cells(y_true, y_prob, sample_weight)
    right, wrong = weight * y, weight * (1 - y)
    if not right.sum() * wrong.sum() > 0:
        return _undefined("The AUC needs both right and wrong answers.", stacklevel=3)
    labels = np.repeat([1, 0], len(y))
    weights = np.concatenate([right, wrong])
    return float(roc_auc_score(labels, np.tile(p, 2), sample_weight=weights))


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
    means = _means(y_true, y_prob, respondents, sample_weight)
    return _rank_agreement(stats.spearmanr, *means)


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
    means = _means(y_true, y_prob, respondents, sample_weight)
    return _rank_agreement(stats.kendalltau, *means)


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
    cells = (y, prob, weight, respondents)
    by_group = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
    parts = zip(*(np.split(v[by_group], ends) for v in cells), strict=True)
    rows = {name: _report_row(*part) for name, part in zip(names, parts, strict=True)}
    report = pd.DataFrame.from_dict(rows, orient="index")
    micro = _report_row(*cells)
    macro = micro | report[list(METRICS)].mean().to_dict()
    report = pd.concat([report, pd.DataFrame([macro, micro], index=[_MACRO, _MICRO])])
    return report.rename_axis("group")


# Name in reports -> (function, sign that makes greater better, needs respondents).
METRICS: dict[str, tuple[Callable, int, bool]] = {
    "log_loss": (cell_log_loss, -1, False),
    "brier": (cell_brier, -1, False),
    "mae": (cell_mae, -1, False),
    "accuracy": (rounded_accuracy, 1, False),
    "auc": (cell_auc, 1, False),
    "spearman": (mean_score_spearman, 1, True),
    "kendall": (mean_score_kendall, 1, True),
}


def evaluate(metric, y_true, y_prob, respondents, sample_weight=None):
    """Return a metric by its name in reports; only some need the respondents."""
    function, _, by_respondent = METRICS[metric]
    ids = (respondents,) if by_respondent else ()
    return function(y_true, y_prob, *ids, sample_weight=sample_weight)


def _report_row(y, prob, weight, respondents):
    row = {"n_cells": len(y), "n_respondents": len(np.unique(respondents))}
    with warnings.catch_warnings():
        # The NaN in the table is enough.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for name in METRICS:
            row[name] = evaluate(name, y, prob, respondents, weight)
    return row


def as_float(values):
    """Return a float array, NaN for None and pd.NA, keeping float32."""
    if hasattr(values, "iloc"):
        return values.to_numpy(dtype=float, na_value=np.nan)
    values = np.asarray(values)
    return values if values.dtype.kind == "f" else values.astype(float)


def observed_cells(y_true, y_prob, sample_weight):
    """Return checked scores, probabilities and weights of observed cells, and mask."""
    y, p = as_float(y_true), as_float(y_prob)
    if y.ndim == 1 and p.ndim == 2 and p.shape[1] == 2:
        p = p[:, 1]
    weight = np.ones(y.shape) if sample_weight is None else as_float(sample_weight)
    for name, values in (("y_prob", p), ("sample_weight", weight)):
        if values.shape != y.shape:
            raise ValueError(f"{name} has shape {values.shape}, y_true {y.shape}.")
    kept = ~np.isnan(y).ravel()
    y, p, weight = y.ravel()[kept], p.ravel()[kept], weight.ravel()[kept]
    for name, values in (("y_true", y), ("y_prob", p)):
        bad = ~((values >= 0) & (values <= 1))
        if bad.any():
            raise ValueError(
                f"{name} must be in [0, 1] at observed cells; {bad.sum()} are not, "
                f"the first is {values[bad][0]}."
            )
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError("sample_weight must be finite and not negative.")
    return y.astype(np.float64), p, weight, kept


def _mean(values, weight):
    if not weight.sum() > 0:
        return _undefined("No cell is observed.")
    return float(np.average(values, weights=weight))


def _undefined(reason, stacklevel=4):
    warnings.warn(f"{reason} The score is NaN.", UndefinedMetricWarning, stacklevel)
    return float("nan")


def _means(y_true, y_prob, respondents, sample_weight):
    """Return observed and predicted mean scores of the respondents with answers."""
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
    codes = codes[kept]
    totals = np.bincount(codes, weight)
    answered = totals > 0
    return tuple(
        np.bincount(codes, weight * values)[answered] / totals[answered]
        for values in (y, p)
    )


def _rank_agreement(statistic, observed, predicted):
    if len(observed) < 2 or np.ptp(observed) == 0 or np.ptp(predicted) == 0:
        return _undefined("Ranks need at least two respondents of differing means.")
    return float(statistic(observed, predicted).statistic)
