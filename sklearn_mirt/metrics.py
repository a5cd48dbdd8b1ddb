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
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import BaseCrossValidator, KFold

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
    y, p, weight, _ = _observed(y_true, y_prob, sample_weight)
    eps = np.finfo(p.dtype).eps
    p = np.clip(p, eps, 1 - eps).astype(np.float64)
    return _mean(-(y * np.log(p) + (1 - y) * np.log1p(-p)), weight)


def cell_brier(y_true, y_prob, *, sample_weight=None):
    """Mean squared difference of probability and score (Brier 1950).

    Parameters, masking and weights are those of :func:`cell_log_loss`.

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like
        See :func:`cell_log_loss`.

    Returns
    -------
    loss : float in [0, 1]
    """
    y, p, weight, _ = _observed(y_true, y_prob, sample_weight)
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
    y, p, weight, _ = _observed(y_true, y_prob, sample_weight)
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
    y, p, weight, _ = _observed(y_true, y_prob, sample_weight)
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
    y, p, weight, _ = _observed(y_true, y_prob, sample_weight)
    right, wrong = weight * y, weight * (1 - y)
    if not (right.sum() > 0 and wrong.sum() > 0):
        return _undefined("The AUC needs both right and wrong answers.")
    labels = np.repeat([1, 0], len(y))
    weights = np.concatenate([right, wrong])
    used = weights > 0
    return float(
        roc_auc_score(labels[used], np.tile(p, 2)[used], sample_weight=weights[used])
    )


def mean_score_spearman(y_true, y_prob, respondents=None, *, sample_weight=None):
    """Spearman correlation of observed and predicted mean scores of respondents.

    Both means run over the same observed cells, as in BenchMIRT.

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like
        See :func:`cell_log_loss`.
    respondents : array-like of shape (n_cells,) or (n_respondents,), default=None
        Respondent of each cell. For a two-dimensional ``y_true`` the respondent of
        each row; None then takes each row as one respondent.

    Returns
    -------
    correlation : float in [-1, 1]
        NaN, with a warning, for under two respondents or constant means.
    """
    return _rank_agreement(stats.spearmanr, y_true, y_prob, respondents, sample_weight)


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
    return _rank_agreement(stats.kendalltau, y_true, y_prob, respondents, sample_weight)


# Reported name -> (function, sign that makes greater better, needs respondents).
_METRICS = {
    "log_loss": (cell_log_loss, -1, False),
    "brier": (cell_brier, -1, False),
    "mae": (cell_mae, -1, False),
    "accuracy": (rounded_accuracy, 1, False),
    "auc": (cell_auc, 1, False),
    "spearman": (mean_score_spearman, 1, True),
    "kendall": (mean_score_kendall, 1, True),
}
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

    respondents, labels = _column(X, 0), _group_labels(X, groups)
    y, prob, weight, kept = _observed(y, prob, sample_weight)
    if len(kept) != len(respondents):
        raise ValueError(f"X has {len(respondents)} cells but y has {len(kept)}.")
    respondents, codes_all = respondents[kept], _codes(labels, "group")
    names = codes_all[1]
    if {_MACRO, _MICRO} & set(names):
        raise ValueError(f"{_MACRO!r} and {_MICRO!r} name rows; rename that group.")
    codes = codes_all[0][kept]
    rows = {}
    for code, name in enumerate(names):
        cells = np.flatnonzero(codes == code)
        rows[name] = _report_row(
            y[cells], prob[cells], respondents[cells], weight[cells]
        )
    report = pd.DataFrame.from_dict(rows, orient="index")
    micro = _report_row(y, prob, respondents, weight)
    macro = micro | report[list(_METRICS)].mean().to_dict()
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
        return _score(self.metric, target, prob, _column(X, 0), sample_weight)

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
        scores = _as_float(X)
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
        hidden = np.zeros_like(observed)
        chosen = np.arange(observed.shape[1]) < n_hidden[:, None]
        np.put_along_axis(hidden, order, chosen, axis=1)
        return hidden

    def __repr__(self):
        return (
            f"{type(self).__name__}({self.metric!r}, share={self.share!r}, "
            f"random_state={self.random_state!r})"
        )


_SCORERS = {
    ("neg_" if sign < 0 else "") + name: CellScorer(("neg_" if sign < 0 else "") + name)
    for name, (_, sign, _) in _METRICS.items()
}
neg_log_loss_scorer = _SCORERS["neg_log_loss"]
neg_brier_scorer = _SCORERS["neg_brier"]
neg_mae_scorer = _SCORERS["neg_mae"]
accuracy_scorer = _SCORERS["accuracy"]
auc_scorer = _SCORERS["auc"]
spearman_scorer = _SCORERS["spearman"]
kendall_scorer = _SCORERS["kendall"]


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
        codes, names = _codes(self._labels(X), self._noun)
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

    def _labels(self, X):
        return _column(X, 0)


class ItemKFold(_WholeKFold):
    """K-fold that holds out whole items (column 1 of X).

    Parameters are those of :class:`RespondentKFold`.
    """

    _noun = "item"

    def _labels(self, X):
        return _column(X, 1)


class GroupedItemKFold(_WholeKFold):
    """K-fold that holds out whole groups of items, such as benchmarks.

    Parameters
    ----------
    item_groups : mapping
        Group of each item id (dict or pandas Series).
    n_splits : int, default=5
        Number of folds, at most the number of groups.
    shuffle, random_state
        See :class:`RespondentKFold`.
    """

    _noun = "item group"

    def __init__(self, item_groups, n_splits=5, *, shuffle=True, random_state=0):
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)
        self.item_groups = item_groups

    def _labels(self, X):
        return _group_labels(X, self.item_groups)


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
        return len(_codes(self._labels(X), self._noun)[1])

    def _folds(self, n_labels):
        if n_labels < 2:
            raise ValueError("At least two item groups are needed to leave one out.")
        return np.arange(n_labels)


def _as_float(values):
    """Return a float array, NaN for None and pd.NA, keeping float32."""
    if hasattr(values, "iloc"):
        return values.to_numpy(dtype=float, na_value=np.nan)
    values = np.asarray(values)
    return values if values.dtype.kind == "f" else values.astype(float)


def _observed(y_true, y_prob, sample_weight):
    """Return checked scores, probabilities and weights of observed cells, and mask."""
    y, p = _as_float(y_true), _as_float(y_prob)
    if y.ndim == 1 and p.ndim == 2 and p.shape[1] == 2:
        p = p[:, 1]
    weight = np.ones(y.shape) if sample_weight is None else _as_float(sample_weight)
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


def _rank_agreement(statistic, y_true, y_prob, respondents, sample_weight):
    shape = np.shape(y_true)
    if respondents is None and len(shape) == 1:
        raise ValueError("respondents must be given for one-dimensional y_true.")
    if respondents is None:
        respondents = np.arange(shape[0])
    codes, _ = _codes(respondents, "respondent")
    if len(codes) != shape[0]:
        raise ValueError(f"{len(codes)} respondents given, y_true has {shape[0]} rows.")
    if len(shape) == 2:
        codes = np.repeat(codes, shape[1])
    y, p, weight, kept = _observed(y_true, y_prob, sample_weight)
    codes = codes[kept]
    totals = np.bincount(codes, weight)
    answered = totals > 0
    observed, predicted = (
        np.bincount(codes, weight * values)[answered] / totals[answered]
        for values in (y, p)
    )
    if len(observed) < 2 or np.ptp(observed) == 0 or np.ptp(predicted) == 0:
        return _undefined("Ranks need at least two respondents of differing means.")
    return float(statistic(observed, predicted).statistic)


def _report_row(y, prob, respondents, weight):
    row = {"n_cells": len(y), "n_respondents": len(set(respondents.tolist()))}
    with warnings.catch_warnings():
        # The NaN in the table says it already.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        for name, (function, _, by_respondent) in _METRICS.items():
            ids = (respondents,) if by_respondent else ()
            row[name] = function(y, prob, *ids, sample_weight=weight)
    return row


def _score(metric, y_true, y_prob, respondents=None, sample_weight=None):
    get_scorer(metric)
    function, sign, by_respondent = _METRICS[metric.removeprefix("neg_")]
    ids = (respondents,) if by_respondent else ()
    return sign * function(y_true, y_prob, *ids, sample_weight=sample_weight)


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
        return _as_float(y)
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


def _column(X, number):
    """Return one of the two id columns of a long X."""
    shape = np.shape(X)
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(f"X must have two columns, respondent and item; got {shape}.")
    if hasattr(X, "iloc"):
        return X.iloc[:, number].to_numpy()
    return np.asarray(X)[:, number]


def _codes(labels, noun):
    """Return the code of each label and the sorted distinct labels."""
    import pandas as pd

    codes, names = pd.factorize(np.asarray(labels))
    if (codes < 0).any():
        raise ValueError(f"{(codes < 0).sum()} cells have no {noun} id.")
    # Numbers and strings may meet in an object column; they sort by type first.
    order = sorted(range(len(names)), key=lambda i: _sort_key(names[i]))
    rank = np.empty(len(names), dtype=int)
    rank[order] = np.arange(len(names))
    return rank[codes], [names[i] for i in order]


def _sort_key(label):
    return (isinstance(label, str), label)


def _group_labels(X, groups):
    """Return the group of each cell of X from a mapping of items or from labels."""
    items = _column(X, 1)
    if groups is None:
        return np.full(len(items), "all", dtype=object)
    if not hasattr(groups, "keys"):
        if len(groups) != len(items):
            raise ValueError(f"{len(groups)} group labels for {len(items)} cells.")
        return np.asarray(groups, dtype=object)
    groups = dict(groups)
    codes, names = _codes(items, "item")
    unknown = [name for name in names if name not in groups]
    if unknown:
        raise ValueError(f"{len(unknown)} items have no group, such as {unknown[:3]}.")
    labels = np.empty(len(names), dtype=object)
    labels[:] = [groups[name] for name in names]
    return labels[codes]
