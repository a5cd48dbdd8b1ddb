"""Held-out answers: whether a model predicts answers that it has not seen.

Cells are held out at random, the model is refitted to the rest from a cold start, and
both the model and the baselines predict the cells left out. A model that does not beat
the additive baseline (respondent + item) has no use for its dimensions.
"""

from dataclasses import dataclass

import numpy as np

from sklearn_mirt.data.resampling import with_cells
from sklearn_mirt.diagnostics.refit import Refitter
from sklearn_mirt.estimators import baselines
from sklearn_mirt.models.prediction import expected_cells, log_losses

_BINS = 10
_SMALLEST = 1e-6  # no prediction of a baseline is taken for certain


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of answers left out of a fit; see :func:`held_out_predictions`.

    Attributes
    ----------
    scores : DataFrame, index model
        log_loss (nats per answer), accuracy (of the rounded probability), brier; one
        row for the model, the others for the baselines.
    calibration : DataFrame, index bin
        predicted, observed (means of predicted probability and score), se (binomial
        error of the observed mean), n_answers; ten bins of equal width.
    n_answers : int
        Number of answers held out.
    share : float
        Share of the answers that was held out.
    """

    scores: object
    calibration: object
    n_answers: int
    share: float


def held_out_predictions(
    estimator,
    responses,
    *,
    share=0.1,
    max_iter=50,
    tol=1e-5,
    random_state=0,
    n_jobs=None,
):
    """Hold out cells, refit the model to the rest and predict them, as do baselines.

    Parameters
    ----------
    estimator : fitted MIRTTransformer or MIRTClassifier
    responses : ResponseData, DataFrame or array-like
        The answers of the fit.
    share : float in (0, 1), default=0.1
        Share of the answers to hold out, drawn at random.
    max_iter, tol : int, float
        Of the fit, which starts cold.
    random_state : int, default=0
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    result : HeldOut

    Raises
    ------
    ValueError
        `share` is not in (0, 1), or nothing would be held out.
    """
    refitter = Refitter(estimator, responses, max_iter=max_iter, tol=tol, n_jobs=n_jobs)
    return refit_held_out(refitter, share=share, random_state=random_state)


def refit_held_out(refitter, *, share=0.1, random_state=0):
    """Return the HeldOut of a Refitter; see :func:`held_out_predictions`."""
    if not 0 < share < 1:
        raise ValueError(f"share must be in (0, 1), got {share!r}")
    data = refitter.data
    item, respondent, scores, _ = data.cells()
    out = np.random.default_rng(random_state).random(len(item)) < share
    if not out.any():
        raise ValueError(f"A share of {share!r} of {len(item)} answers is none at all")
    kept = with_cells(data, ~out)
    i, j, y = respondent[out], item[out], scores[out].astype(float)
    fit = refitter.fit_data(kept)
    predicted = {"this model": expected_cells(fit.items, fit.abilities, i, j)}
    for name, baseline in _baselines(data, refitter.estimator.item_groups_).items():
        predicted[name] = baseline.fit_cells(kept).predict_cells(i, j)
    return HeldOut(
        _score_table(y, predicted),
        calibration_table(y, predicted["this model"]),
        len(y),
        share,
    )


def _baselines(data, groups):
    found = {
        "respondent + item": baselines.AdditiveClassifier(),
        "item's mean score": baselines.ItemMeanClassifier(),
        "respondent's mean score": baselines.MeanScoreClassifier(),
    }
    if len(set(groups)) > 1:
        by_item = dict(zip(data.items, groups, strict=True))
        found["respondent's mean score by benchmark"] = (
            baselines.GroupMeanScoreClassifier(by_item)
        )
    return found


def _score_table(y, predicted):
    import pandas as pd

    rows = {
        name: {
            "log_loss": log_losses(y, p, _SMALLEST).mean(),
            "accuracy": (1 - np.abs(np.round(p) - y)).mean(),
            "brier": ((p - y) ** 2).mean(),
        }
        for name, p in predicted.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def calibration_table(y, p):
    """Return predicted and observed means in ten bins of the prediction.

    Parameters
    ----------
    y, p : ndarrays of shape (n_answers,)
        Scores and predicted probabilities.

    Returns
    -------
    table : DataFrame, index bin
        predicted, observed, se, n_answers; empty bins are left out.
    """
    import pandas as pd

    code = np.minimum((p * _BINS).astype(int), _BINS - 1)
    n = np.bincount(code, minlength=_BINS)
    seen = n > 0
    n = n[seen]
    observed = np.bincount(code, y, _BINS)[seen] / n
    columns = {
        "predicted": np.bincount(code, p, _BINS)[seen] / n,
        "observed": observed,
        "se": np.sqrt(observed * (1 - observed) / n),
        "n_answers": n,
    }
    return pd.DataFrame(columns, pd.Index(np.flatnonzero(seen), name="bin"))
