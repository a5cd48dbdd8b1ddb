"""Scorers of fitted models on held-out cells, usable as ``scoring=``."""

import numpy as np

from sklearn_mirt.metrics.functions import METRICS, as_float, evaluate
from sklearn_mirt.metrics.ids import id_column


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


def _score(metric, y_true, y_prob, respondents=None, sample_weight=None):
    get_scorer(metric)  # raises for an unknown name
    name = metric.removeprefix("neg_")
    sign = METRICS[name][1]
    return sign * evaluate(name, y_true, y_prob, respondents, sample_weight)


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
