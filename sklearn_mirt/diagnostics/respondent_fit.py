"""How likely the answers of each respondent are under an exact fit.

References
----------
Drasgow, Levine and Williams (1985), British Journal of Mathematical and Statistical
Psychology 38, 67-86 (Zh).
"""

from __future__ import annotations

import numpy as np

from sklearn_mirt.solvers.quadrature.fit_result import ExactFit
from sklearn_mirt.solvers.quadrature.respondent_scores import (
    item_log_tables,
    recode,
    score_respondents,
)


def person_zh(fit: ExactFit, responses, *, method: str = "eap") -> np.ndarray:
    """Return Zh of each respondent: large negative values are unlikely patterns.

    Zh = (l - E l) / sd l of the respondent's log-likelihood at the estimated ability.

    Parameters
    ----------
    fit : ExactFit
    responses : array-like of shape (n_respondents, n_items)
    method : {"eap", "map", "ml"}, default="eap"
        How abilities are estimated.

    Returns
    -------
    zh : ndarray of shape (n_respondents,)
    """
    value, mean, variance = log_likelihood_moments(fit, responses, method)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (value - mean).sum(1) / np.sqrt(variance.sum(1))


def log_likelihood_moments(fit, responses, method):
    """Return each cell's log-probability, its mean and variance; 0 where missing."""
    responses = np.asarray(responses, dtype=float)
    theta = score_respondents(fit, responses, method=method).mean
    coded = recode(fit, responses)
    value, mean, variance = np.zeros((3, *coded.shape))
    for item, log_p in enumerate(item_log_tables(fit, theta)):
        answered = np.flatnonzero(~np.isnan(coded[:, item]))
        y = coded[answered, item]
        log_p = log_p[:, answered]
        if len(log_p) == 2:
            value[answered, item] = (1.0 - y) * log_p[0] + y * log_p[1]
        else:
            value[answered, item] = log_p[y.astype(int), np.arange(len(y))]
        p = np.exp(log_p)
        mean[answered, item] = (p * log_p).sum(0)
        variance[answered, item] = (p * log_p**2).sum(0) - mean[answered, item] ** 2
    return value, mean, variance
