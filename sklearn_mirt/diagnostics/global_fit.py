"""How well an exact fit describes its data as a whole, and against a nested model.

References
----------
Maydeu-Olivares and Joe (2006), Psychometrika 71, 713-732 (M2). Cai and Monroe (2014),
CRESST Report 839 (C2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from sklearn_mirt.diagnostics.item_fit import complete_answers
from sklearn_mirt.diagnostics.margins import Margins
from sklearn_mirt.solvers.quadrature.fit import fit_quadrature
from sklearn_mirt.solvers.quadrature.fit_result import ExactFit
from sklearn_mirt.solvers.quadrature.model import ExactModel
from sklearn_mirt.solvers.quadrature.respondent_scores import (
    item_log_tables,
    node_weights,
    recode,
)

_TYPES = ("M2", "M2*", "C2")


@dataclass(frozen=True)
class LikelihoodRatio:
    """Likelihood-ratio comparison of nested models."""

    statistic: float
    df: int
    p_value: float
    aic_difference: float
    bic_difference: float


def likelihood_ratio(restricted: ExactFit, general: ExactFit) -> LikelihoodRatio:
    """Compare two nested fits of the same data.

    Parameters
    ----------
    restricted, general : ExactFit
        The first must be a special case of the second; this is the caller's to know.

    Returns
    -------
    LikelihoodRatio
        Twice the gain in log-likelihood, with its chi-squared p-value; differences of
        criteria are restricted minus general, so positive ones favour the general fit.

    Raises
    ------
    ValueError
        If the fits have different data, or ``general`` has no more parameters.
    """
    same_items = len(restricted.items) == len(general.items)
    if not same_items or restricted.n_respondents != general.n_respondents:
        raise ValueError("The two fits are not of the same respondents and items.")
    df = general.n_parameters - restricted.n_parameters
    if df <= 0:
        raise ValueError(
            "The general fit must have more parameters: it has "
            f"{general.n_parameters}, the restricted one "
            f"{restricted.n_parameters}. Swap them?"
        )
    statistic = 2.0 * (general.log_likelihood - restricted.log_likelihood)
    return LikelihoodRatio(
        statistic=statistic,
        df=df,
        p_value=float(chi2.sf(max(statistic, 0.0), df)),
        aic_difference=restricted.aic - general.aic,
        bic_difference=restricted.bic - general.bic,
    )


@dataclass(frozen=True)
class GlobalFit:
    """Limited-information fit of a model to its first two margins.

    ``rmsea_low`` and ``rmsea_high`` bound a 90% interval; ``srmsr`` is the root mean
    squared residual correlation; ``cfi`` and ``tli`` compare with independence.
    """

    type: str
    statistic: float
    df: int
    p_value: float
    rmsea: float
    rmsea_low: float
    rmsea_high: float
    srmsr: float
    cfi: float
    tli: float


def global_fit(fit: ExactFit, responses, *, type: str | None = None) -> GlobalFit:
    """Test a fit on the univariate and bivariate margins.

    With residual margins e, their covariance Xi / N and derivatives Delta,

        M2 = N e' [Xi^-1 - Xi^-1 Delta (Delta' Xi^-1 Delta)^-1 Delta' Xi^-1] e.

    Parameters
    ----------
    fit : ExactFit
    responses : array-like of shape (n_respondents, n_items)
        The data of the fit; without missing answers.
    type : {"M2", "M2*", "C2"}, optional
        Margins used for ordinal items: all category indicators (M2), item means and
        products of scores (M2*), or category indicators and products of scores (C2).
        All are the same for dichotomous items. Default: M2 if all items are
        dichotomous, else C2.

    Returns
    -------
    GlobalFit

    Raises
    ------
    ValueError
        If answers are missing, or no degrees of freedom are left.
    """
    dichotomous = all(block.n_categories == 2 for block in fit.spec.blocks)
    type = type or ("M2" if dichotomous else "C2")
    if type not in _TYPES:
        raise ValueError(f"type={type!r} is not one of {_TYPES}.")
    coded = complete_answers(fit, responses, "M2")
    statistic, df, margins = _limited_information(fit, coded, type)
    if df <= 0:
        raise ValueError(
            f"{margins.n_margins} margins leave no degrees of freedom for "
            f"{fit.n_parameters} parameters."
        )
    null, null_df = _independence(fit, responses, type)
    n = len(coded)
    rmsea, low, high = _rmsea(statistic, df, n)
    excess, null_excess = max(statistic - df, 0.0), max(null - null_df, 1e-12)
    return GlobalFit(
        type=type,
        statistic=statistic,
        df=df,
        p_value=float(chi2.sf(statistic, df)),
        rmsea=rmsea,
        rmsea_low=low,
        rmsea_high=high,
        srmsr=_srmsr(fit, coded),
        cfi=1.0 - excess / null_excess,
        tli=(null / null_df - statistic / df) / (null / null_df - 1.0),
    )


def _limited_information(fit, coded, type):
    margins = Margins(fit, type)
    residual = margins.observed(coded) - margins.expected
    delta = margins.derivatives()
    factor = cho_factor(margins.covariance())
    solved_residual = cho_solve(factor, residual)
    solved_delta = cho_solve(factor, delta)
    inner = np.linalg.pinv(delta.T @ solved_delta, hermitian=True)
    projected = solved_delta.T @ residual
    quadratic = residual @ solved_residual - projected @ inner @ projected
    df = margins.n_margins - int(np.linalg.matrix_rank(delta))
    return float(len(coded) * quadratic), df, margins


def _independence(fit, responses, type):
    """Return the statistic of the model without any ability."""
    models = ["2pl"] * fit.spec.n_items
    for block in fit.spec.blocks:
        for item in block.items:
            if not block.model.dichotomous:
                models[item] = block.model.name
    zeros = np.zeros((fit.spec.n_items, 1))
    null = fit_quadrature(
        responses,
        model=ExactModel(item_model=models, fixed={"slopes": zeros}),
        items=fit.items,
    )
    coded = recode(null, np.asarray(responses, dtype=float))
    statistic, df, _ = _limited_information(null, coded, type)
    return statistic, df


def _rmsea(statistic: float, df: int, n: int):
    """Return RMSEA with a 90% interval from the noncentral chi-squared distribution."""
    scale = df * (n - 1)

    def bound(probability):
        if chi2.cdf(statistic, df) < probability:
            return 0.0

        def excess(noncentrality):
            return ncx2.cdf(statistic, df, noncentrality) - probability

        high = max(statistic, 1.0)
        while excess(high) > 0:
            high *= 2.0
        return np.sqrt(brentq(excess, 1e-10, high) / scale)

    point = np.sqrt(max(statistic - df, 0.0) / scale)
    return float(point), float(bound(0.95)), float(bound(0.05))


def _srmsr(fit, coded) -> float:
    """Return the root mean square of observed less implied correlations of scores."""
    probabilities = [np.exp(table) for table in item_log_tables(fit)]
    weights = node_weights(fit)
    scores = [np.arange(len(p)) for p in probabilities]
    pairs = list(zip(scores, probabilities, strict=True))
    first = np.array([s @ p for s, p in pairs])
    second = np.array([s**2 @ p for s, p in pairs])
    product = (first * weights) @ first.T
    np.fill_diagonal(product, second @ weights)
    mean = first @ weights
    implied = product - np.outer(mean, mean)
    spread = np.sqrt(np.diag(implied))
    implied /= np.outer(spread, spread)
    lower = np.tril_indices(len(implied), -1)
    residual = np.corrcoef(coded.T)[lower] - implied[lower]
    return float(np.sqrt((residual**2).mean()))
