"""Sums of a logistic model with two additive effects, compiled with numba."""

import math

import numpy as np

from sklearn_mirt.solvers.kernels.compiling import jit


def logistic_sums(cells, effects, intercept, side):
    """Sum gradient and curvature of a logistic model with two additive effects.

    Parameters
    ----------
    cells : tuple of ndarrays
        Respondent index, item index, score and weight of each answer.
    effects : pair of ndarrays
        Effects of respondents and of items, in logits.
    intercept : float
    side : {0, 1}
        Whether sums are over the answers of each respondent or to each item.

    Returns
    -------
    gradient, curvature : ndarrays
        Sums of w (y - p) and of w p (1 - p).
    """
    gradient, curvature = np.zeros((2, len(effects[side])))
    _logistic_sums(*cells, *effects, intercept, side == 0, gradient, curvature)
    return gradient, curvature


@jit
def _logistic_sums(
    respondent, item, score, weight, r, d, intercept, by_respondent, gradient, curvature
):
    for cell in range(score.shape[0]):
        i, j = respondent[cell], item[cell]
        p = 1.0 / (1.0 + math.exp(-(intercept + r[i] + d[j])))
        k = i if by_respondent else j
        gradient[k] += weight[cell] * (score[cell] - p)
        curvature[k] += weight[cell] * p * (1.0 - p)
