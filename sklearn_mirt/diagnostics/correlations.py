"""Correlations of scores with abilities: errors, tests, and many tests at once."""

import numpy as np
from scipy import stats


class Scales:
    """Mean scores on sets of items: benchmarks, and the subsets of each.

    Parameters
    ----------
    parts : ndarray of int of shape (n_items,)
        The finest part that each item belongs to, from 0.
    members : boolean ndarray of shape (n_scales, n_parts)
        Which parts make up each scale.
    names : list
        Name of each scale.
    """

    def __init__(self, parts, members, names):
        self.parts, self.members, self.names = parts, members, names

    @classmethod
    def from_labels(cls, labels):
        """Return one scale for each distinct label of the items, sorted."""
        from sklearn_mirt.models.item_design import sorted_codes

        names, parts = sorted_codes(labels)
        return cls(parts, np.eye(len(names), dtype=bool), list(names))

    @classmethod
    def of(cls, scales, estimator):
        """Return Scales from a label for each item; None for the groups of the fit."""
        if isinstance(scales, cls):
            return scales
        labels = estimator.item_groups_ if scales is None else scales
        return cls.from_labels(np.asarray(labels, dtype=object))

    def take(self, items):
        """Return the scales of some items."""
        return Scales(self.parts[items], self.members, self.names)

    def means(self, data):
        """Return mean scores (n_respondents, n_scales), NaN without answers."""
        weight, score = data.group_sums(self.parts, self.members.shape[1])
        weight, score = weight @ self.members.T, score @ self.members.T
        with np.errstate(invalid="ignore"):
            return np.where(weight > 0, score / weight, np.nan)


def pearson(abilities, means):
    """Return Pearson r of each mean score with each ability over respondents.

    Parameters
    ----------
    abilities : ndarray of shape (n_respondents, n_dims)
    means : ndarray of shape (n_respondents, n_scales)
        NaN where a respondent has no score; left out.

    Returns
    -------
    r : ndarray of shape (n_scales, n_dims)
        NaN with under three respondents or without variation.
    """
    seen = ~np.isnan(means)
    n = seen.sum(0)[:, None].astype(float)
    # centred first: the sums of squares of scores near 1 would lose digits
    filled = np.where(seen, means - mean_of_known(means), 0.0)
    theta = abilities - abilities.mean(0)
    weight = seen.T.astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = weight @ theta / n
        cross = filled.T @ theta
        spread = weight @ theta**2 - n * centre**2
        scatter = (filled**2).sum(0)[:, None]
        r = cross / np.sqrt(spread * scatter)
    usable = (n >= 3) & (scatter > 1e-12 * n) & (spread > 1e-12 * n)
    return np.where(usable, np.clip(r, -1, 1), np.nan)


def mean_of_known(values):
    """Return the mean over the first axis of what is not NaN."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(0) / known.sum(0)


def fisher_influences(abilities, means) -> tuple[np.ndarray, np.ndarray]:
    """Return the influence of each respondent on atanh(r), and who has a score.

    Parameters
    ----------
    abilities : ndarray of shape (n_respondents, n_dims)
    means : ndarray of shape (n_respondents, n_scales)
        NaN where a respondent has no score.

    Returns
    -------
    influences : ndarray of shape (n_respondents, n_scales, n_dims)
        Divided by the number of scores: atanh(r) moves by their sum. Zero without a
        score, NaN where r is not defined.
    seen : boolean ndarray of shape (n_respondents, n_scales)

    Notes
    -----
    With standard scores u, v the influence on r is u v - r (u^2 + v^2) / 2, that on
    atanh(r) is 1 / (1 - r^2) times it (Efron & Tibshirani 1993, *An Introduction to the
    Bootstrap*, section 21). Abilities are taken as known.
    """
    seen = ~np.isnan(means)
    influences = np.zeros((*means.shape, abilities.shape[1]))
    r = pearson(abilities, means)
    for g in range(means.shape[1]):
        here = seen[:, g]
        if not here.any():
            influences[:, g] = np.nan
            continue
        u, v = _standard(abilities[here]), _standard(means[here, g])[:, None]
        slope = np.maximum(1 - r[g] ** 2, 1e-12) * here.sum()
        influences[here, g] = (u * v - r[g] * (u**2 + v**2) / 2) / slope
    influences[:, np.isnan(r)] = np.nan
    return influences, seen


def clustered_errors(influences, seen, clusters=None):
    """Return standard errors of the sums of influences, and degrees of freedom.

    Influences are summed over clusters of respondents first: related respondents, such
    as checkpoints of one model, do not count as independent.

    Parameters
    ----------
    influences : ndarray of shape (n_respondents, n_scales, n_dims)
    seen : boolean ndarray of shape (n_respondents, n_scales)
    clusters : ndarray of int of shape (n_respondents,), default=None
        Each respondent by itself when None.

    Returns
    -------
    errors : ndarray of shape (n_scales, n_dims)
    dof : ndarray of shape (n_scales,)
        Number of clusters with a score, less one.

    Notes
    -----
    The sum of squares over C clusters has the factor C / (C - 1) and, as three moments
    are estimated, C / (C - 3).
    """
    if clusters is None:
        clusters = np.arange(len(seen))
    present, code = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(present), *influences.shape[1:]))
    np.add.at(sums, code, influences)
    with_score = np.zeros((len(present), seen.shape[1]), dtype=bool)
    np.logical_or.at(with_score, code, seen)
    count = with_score.sum(0)
    factor = count / np.maximum(count - 1, 1) * count / np.maximum(count - 3, 1)
    return np.sqrt(factor[:, None] * (sums**2).sum(0)), count - 1.0


def fisher_errors(abilities, means, clusters=None):
    """Return standard errors of atanh(r), and their degrees of freedom.

    The delta method over respondents or clusters of them; see `fisher_influences` and
    `clustered_errors`.
    """
    return clustered_errors(*fisher_influences(abilities, means), clusters)


def _standard(values):
    return (values - values.mean(0)) / np.maximum(values.std(0), 1e-300)


def fisher_interval(r, error, dof, level=0.95):
    """Return ends of the interval of r from a standard error of atanh(r)."""
    reach = _t_quantile(dof, level) * error
    z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
    return np.tanh(z - reach), np.tanh(z + reach)


def _t_quantile(dof, level):
    dof = np.broadcast_to(np.maximum(np.nan_to_num(dof, nan=1.0), 1.0), np.shape(dof))
    return stats.t.ppf(0.5 + level / 2, dof)


def fisher_p_values(r, error, dof):
    """Return two-sided p-values of r = 0 from a standard error of atanh(r)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) / error
    return 2 * stats.t.sf(np.abs(t), np.maximum(dof, 1.0))


def adjusted(p):
    """Return p-values adjusted for all tests of a table (Benjamini & Yekutieli 2001).

    Valid whatever the dependence of the tests. NaN stays and does not count.
    """
    p = np.asarray(p, dtype=float)
    known, out = ~np.isnan(p), np.full(p.shape, np.nan)
    if known.any():
        out[known] = stats.false_discovery_control(p[known], method="by")
    return out
