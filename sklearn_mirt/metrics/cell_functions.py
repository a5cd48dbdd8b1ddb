"""The metrics on observed cells: scores y, probabilities p, weights; one value each.

Scores and weights are float64, probabilities of the type they were given in.
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning


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


def _undefined(reason):
    warnings.warn(f"{reason} The score is NaN.", UndefinedMetricWarning, stacklevel=4)
    return float("nan")


def log_loss(y, p, weight):
    """Return the mean negative log-likelihood, in nats."""
    eps = np.finfo(p.dtype).eps
    p = np.clip(p, eps, 1 - eps).astype(np.float64)
    return _mean(-(y * np.log(p) + (1 - y) * np.log1p(-p)), weight)


def brier(y, p, weight):
    """Return the mean squared difference."""
    return _mean((y - p) ** 2, weight)


def mae(y, p, weight):
    """Return the mean absolute difference."""
    return _mean(np.abs(y - p), weight)


def accuracy(y, p, weight):
    """Return the share of answers equal to the rounded probability."""
    return _mean(1 - np.abs(y - np.round(p)), weight)


def auc(y, p, weight):
    """Return the share of (right, wrong) pairs in order, ties counting half.

    The Mann-Whitney form (Hanley & McNeil 1982, Radiology 143), from one sort.
    """
    right, wrong = weight * y, weight * (1 - y)
    n_pairs = right.sum() * wrong.sum()
    if not n_pairs > 0:
        return _undefined("The AUC needs both right and wrong answers.")
    order = np.argsort(p, kind="stable")  # linear where p comes sorted
    ranked = p[order]
    ties = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    right = np.add.reduceat(right[order], ties)
    wrong = np.add.reduceat(wrong[order], ties)
    below = np.cumsum(wrong) - wrong
    return float((right * (below + wrong / 2)).sum() / n_pairs)


def spearman(y, p, weight, codes):
    """Return the Spearman correlation of the mean scores of respondents."""
    return _rank_agreement(stats.spearmanr, y, p, weight, codes)


def kendall(y, p, weight, codes):
    """Return the Kendall tau-b of the mean scores of respondents."""
    return _rank_agreement(stats.kendalltau, y, p, weight, codes)


def _rank_agreement(statistic, y, p, weight, codes):
    totals = np.bincount(codes, weight)
    answered = totals > 0
    observed, predicted = (
        np.bincount(codes, weight * values)[answered] / totals[answered]
        for values in (y, p)
    )
    if len(observed) < 2 or np.ptp(observed) == 0 or np.ptp(predicted) == 0:
        return _undefined("Ranks need at least two respondents of differing means.")
    return float(statistic(observed, predicted).statistic)


# Reported name -> (function, sign that makes greater better, needs respondents).
METRICS: dict[str, tuple[Callable, int, bool]] = {
    "log_loss": (log_loss, -1, False),
    "brier": (brier, -1, False),
    "mae": (mae, -1, False),
    "accuracy": (accuracy, 1, False),
    "auc": (auc, 1, False),
    "spearman": (spearman, 1, True),
    "kendall": (kendall, 1, True),
}
