"""Metrics, scorers and splitters for held-out responses.

Conventions shared by every metric: ``y_true`` holds scores in [0, 1] (0 / 1
answers, or the mean of repeats) and NaN where there is no answer; such cells are
ignored. ``y_prob`` is the probability of a right answer, either of the shape of
``y_true`` or, for one-dimensional ``y_true``, the two columns of ``predict_proba``.
A metric that is not defined (no observed cell, one class, constant means) is NaN
with an :class:`~sklearn.exceptions.UndefinedMetricWarning`.
"""

from sklearn_mirt.metrics.functions import (
    cell_auc,
    cell_brier,
    cell_log_loss,
    cell_mae,
    mean_score_kendall,
    mean_score_spearman,
    prediction_report,
    rounded_accuracy,
)
from sklearn_mirt.metrics.scorers import (
    CellScorer,
    HiddenCellScorer,
    accuracy_scorer,
    auc_scorer,
    get_scorer,
    get_scorer_names,
    kendall_scorer,
    neg_brier_scorer,
    neg_log_loss_scorer,
    neg_mae_scorer,
    spearman_scorer,
)
from sklearn_mirt.metrics.splitters import (
    CellKFold,
    GroupedItemKFold,
    ItemKFold,
    LeaveItemGroupOut,
    RespondentKFold,
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
