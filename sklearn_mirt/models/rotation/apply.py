"""Rotation of a fit: slopes, abilities and all their covariances move together.

A matrix M of shape (n_dims, n_dims) stands for a rotation throughout:

    slopes -> slopes @ M,    abilities -> abilities @ inv(M).T,
    covariance of abilities -> inv(M) @ covariance @ inv(M).T,

so every logit a_j . theta_i + d_j, and with it every probability, stays as it was.
M is orthogonal for an orthogonal rotation. For an oblique one, inv(M) has rows of unit
length: abilities that were uncorrelated with unit variance keep unit variance and get
the correlation matrix inv(M) @ inv(M).T.
"""

from collections import Counter
from dataclasses import replace

import numpy as np

from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.rotation.criteria import (
    check_loadings,
    procrustes,
    rotate_loadings,
    signed_permutation,
    unit_rows,
)

LOGISTIC_VARIANCE = np.pi**2 / 3

_BLOCK = 8192  # items at a time, so that temporaries stay small
ALIGNMENT_METHODS = ("orthogonal", "oblique", "permutation")


def find_rotation(
    slopes,
    method="oblimin",
    *,
    target=None,
    gamma=0.0,
    kaiser=False,
    random_state=0,
    n_starts=20,
):
    """Find the rotation of slopes that makes their standardised loadings simple.

    Parameters
    ----------
    slopes : array-like of shape (n_items, n_dims)
        Slopes on uncorrelated abilities of unit variance, in logits per standard
        deviation of ability.
    method, target, gamma, kaiser, random_state, n_starts
        As in `rotate_loadings`; a target is in the metric of standardised loadings.

    Returns
    -------
    M : ndarray of shape (n_dims, n_dims)
        The rotation, to be applied to the slopes as given (see `apply_rotation`);
        inv(M) @ inv(M).T is the correlation of the rotated abilities.

    Raises
    ------
    ValueError
        As `rotate_loadings`.

    Notes
    -----
    The criterion is evaluated on a_j / sqrt(|a_j|^2 + pi^2 / 3), the loadings of the
    factor-analytic metric: pi^2 / 3 is the variance of the standard logistic residual,
    so the squared length of a loading is the share of variance explained. Without
    this step the steepest items, which enter with the fourth power, decide alone.

    References
    ----------
    Takane and de Leeuw (1987), Psychometrika 52, 393-408 (factor-analytic metric).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_mirt.models.rotation.apply import find_rotation
    >>> find_rotation(np.array([[1.0, 1.0], [2.0, -2.0]]), "varimax").round(3)
    array([[ 0.707,  0.707],
           [-0.707,  0.707]])
    """
    slopes = check_loadings(slopes)
    loadings = _standardise(slopes, np.eye(slopes.shape[1]))
    return rotate_loadings(
        loadings,
        method,
        target=target,
        gamma=gamma,
        kaiser=kaiser,
        random_state=random_state,
        n_starts=n_starts,
    )[1]


def apply_rotation(
    items, abilities, M, *, overwrite=False
) -> tuple[ItemParameters, Abilities]:
    """Move item parameters and abilities by one rotation; probabilities stay.

    Parameters
    ----------
    items : ItemParameters
        Slopes and covariances move; intercepts and guessing floors do not.
    abilities : Abilities
        Means, covariances and the prior covariance move.
    M : array-like of shape (n_dims, n_dims)
        Any invertible matrix; the prior covariance need not be the identity.
    overwrite : bool, default=False
        Whether the memory of the item covariances may be used for the result.

    Returns
    -------
    items : ItemParameters
    abilities : Abilities

    Raises
    ------
    ValueError
        If M has another shape, is not finite, or cannot be inverted.
    """
    d = items.n_dims
    M = np.asarray(M, dtype=float)
    if M.shape != (d, d) or not np.isfinite(M).all() or np.linalg.cond(M) > 1e12:
        raise ValueError(
            f"a rotation of {d} dimension(s) is an invertible ({d}, {d}) matrix of "
            f"finite numbers, got shape {M.shape}: {M.tolist()}"
        )
    inverse = np.linalg.inv(M)
    both = np.eye(d + 1)  # (a_j, d_j) -> (M' a_j, d_j)
    both[:d, :d] = M.T
    rotated_items = replace(
        items,
        slopes=items.slopes @ M,
        covariances=_sandwich(
            both, items.covariances, out=items.covariances if overwrite else None
        ),
    )
    rotated_abilities = replace(
        abilities,
        mean=abilities.mean @ inverse.T,
        covariances=_sandwich(inverse, abilities.covariances),
        prior_covariance=_sandwich(inverse, abilities.prior_covariance),
    )
    return rotated_items, rotated_abilities


def canonical_order(items, abilities, *, n_fixed=0):
    """Put dimensions and signs in the order a reader can rely on.

    Parameters
    ----------
    items : ItemParameters
    abilities : Abilities
    n_fixed : int, default=0
        Leading dimensions that keep their place (1 for a bifactor rotation); their
        signs are still set.

    Returns
    -------
    items : ItemParameters
    abilities : Abilities

    Notes
    -----
    Dimensions come by explained logit variance, sum_j a_jk^2 Phi_kk, largest first,
    where Phi is the prior covariance of the abilities. Each sign makes the mean slope
    positive, so that ability means more right answers; where the mean is zero, the
    slope of largest size is made positive.
    """
    variances = np.diag(abilities.prior_covariance)
    M = signed_permutation(items.slopes, variances, n_fixed)
    return apply_rotation(items, abilities, M)


def rotate(items, abilities, method="oblimin", **options):
    """Rotate a fit to simple structure and put its dimensions in canonical order.

    Parameters
    ----------
    items : ItemParameters
    abilities : Abilities
        Correlated abilities are made uncorrelated first, so the outcome does not
        depend on an earlier rotation.
    method : str, default="oblimin"
        As in `rotate_loadings`. "none" only orders; a target rotation only rotates,
        because the target says what order and sign are.
    **options
        `target`, `gamma`, `kaiser`, `random_state` and `n_starts` of `find_rotation`.

    Returns
    -------
    items : ItemParameters
    abilities : Abilities

    Raises
    ------
    ValueError
        As `rotate_loadings`, or if the prior covariance is not positive definite.
    """
    M = rotation_matrix(items, abilities, method, **options)
    return apply_rotation(items, abilities, M)


def rotation_matrix(items, abilities, method="oblimin", **options):
    """Return the matrix M of `rotate`, ordering and signs included.

    Parameters and errors as in `rotate`.

    Returns
    -------
    M : ndarray of shape (n_dims, n_dims)
    """
    prior = abilities.prior_covariance
    M, n_fixed = np.eye(items.n_dims), 0
    if method != "none":
        whitening = _factor(prior)
        M = whitening @ find_rotation(items.slopes @ whitening, method, **options)
        n_fixed = int(method == "bifactor")
    if method in ("target", "target_orthogonal"):
        return M
    variances = np.diag(_sandwich(np.linalg.inv(M), prior))
    return M @ signed_permutation(items.slopes @ M, variances, n_fixed)


def align(
    items, abilities, reference, reference_abilities=None, *, method="orthogonal"
):
    """Rotate a fit onto another one, joined by item id.

    Parameters
    ----------
    items : ItemParameters
    abilities : Abilities
    reference : ItemParameters or array-like of shape (n_items, n_dims)
        The fit to be met. Items are joined by id; bare slopes are read in the order of
        `items`.
    reference_abilities : Abilities, default=None
        Gives the prior covariance of the reference; the identity when None.
    method : {"orthogonal", "oblique", "permutation"}, default="orthogonal"
        See Notes.

    Returns
    -------
    items : ItemParameters
    abilities : Abilities
    congruence : ndarray of shape (n_dims,)
        Tucker's coefficient of the slopes on the common items, per dimension; above
        0.95 two dimensions are usually read as the same.

    Raises
    ------
    ValueError
        If the numbers of dimensions differ, no item is common, an id occurs twice, or
        the fits do not determine an oblique rotation.

    Notes
    -----
    "orthogonal" turns the fit rigidly (Procrustes) in the space of uncorrelated
    abilities, where every rotation of one fit, oblique ones included, is an orthogonal
    matrix, and then takes on the axes of the reference: M = C Q inv(C_ref), C and
    C_ref being Cholesky factors of the prior covariances. The aligned abilities have
    the prior covariance of the reference, and a rotated fit comes back exactly.
    "oblique" is the least squares rotation with the variances of the reference, free
    to choose the correlations: a closer fit, and correlations that can be compared.
    "permutation" only reorders and flips dimensions (best total congruence), for two
    fits rotated by the same criterion. All work on standardised loadings (see
    `find_rotation`).

    References
    ----------
    Schoenemann (1966), Psychometrika 31, 1-10 (orthogonal Procrustes).
    Lorenzo-Seva and ten Berge (2006), Methodology 2, 57-64 (congruence).
    """
    M = alignment_matrix(
        items, abilities, reference, reference_abilities, method=method
    )
    rows, reference_slopes = _join(items, reference)
    items, abilities = apply_rotation(items, abilities, M)
    return items, abilities, congruence(items.slopes[rows], reference_slopes)


def alignment_matrix(
    items, abilities, reference, reference_abilities=None, *, method="orthogonal"
):
    """Return the matrix M by which `align` turns a fit; parameters as there."""
    if method not in ALIGNMENT_METHODS:
        raise ValueError(
            f"unknown alignment {method!r}; choose one of {list(ALIGNMENT_METHODS)}"
        )
    d = items.n_dims
    rows, reference_slopes = _join(items, reference)
    prior, reference_prior = abilities.prior_covariance, np.eye(d)
    if reference_abilities is not None:
        reference_prior = reference_abilities.prior_covariance
    loadings = _standardise(items.slopes[rows], prior)
    wanted = _standardise(reference_slopes, reference_prior)
    if method == "orthogonal":
        C, C_ref = _factor(prior), _factor(reference_prior)
        M = C @ procrustes(loadings @ C, wanted @ C_ref) @ np.linalg.inv(C_ref)
    elif method == "oblique":
        M = _least_squares(loadings, wanted, prior, np.diag(reference_prior))
    else:
        M = _match_dimensions(loadings, wanted)
    return M


def congruence(a, b):
    """Return Tucker's congruence of the columns of two matrices, shape (n_dims,).

    sum_j a_jk b_jk / sqrt(sum_j a_jk^2 sum_j b_jk^2), in [-1, 1]; 0 where a column is
    zero (Tucker 1951, *A method for synthesis of factor analysis studies*).
    """
    a, b = unit_rows(np.transpose(a)), unit_rows(np.transpose(b))
    return np.clip(np.einsum("kj,kj->k", a, b), -1.0, 1.0)


def _standardise(slopes, prior_covariance):
    """Return a_j / sqrt(a_j' Phi a_j + pi^2 / 3), the factor-analytic metric."""
    explained = np.einsum("ja,ab,jb->j", slopes, prior_covariance, slopes)
    return slopes / np.sqrt(explained + LOGISTIC_VARIANCE)[:, None]


def _sandwich(B, covariance, out=None):
    """Return B @ covariance @ B.T, symmetric to the last bit."""
    if covariance.ndim == 3 and len(covariance) > _BLOCK:  # without large temporaries
        out = np.empty(covariance.shape) if out is None else out
        for start in range(0, len(out), _BLOCK):
            here = slice(start, start + _BLOCK)
            out[here] = _sandwich(B, covariance[here])
        return out
    moved = B @ covariance @ B.T
    return (moved + np.swapaxes(moved, -1, -2)) / 2


def _factor(covariance):
    """Return the Cholesky factor of a prior covariance."""
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "the prior covariance of the abilities is not positive definite, so no "
            f"uncorrelated abilities stand behind it: {covariance.tolist()}"
        ) from error


def _least_squares(loadings, wanted, prior, variances):
    """Return the M nearest in least squares that gives the wanted variances."""
    d = loadings.shape[1]
    M = np.linalg.lstsq(loadings, wanted, rcond=None)[0]
    if np.linalg.matrix_rank(loadings) < d or np.linalg.matrix_rank(M) < d:
        raise ValueError(
            f"the {len(loadings)} common item(s) do not determine an oblique rotation "
            f"of {d} dimension(s); use method='orthogonal'"
        )
    return M * np.sqrt(np.diag(_sandwich(np.linalg.inv(M), prior)) / variances)


def _match_dimensions(loadings, wanted):
    """Return the signed permutation with the largest total absolute congruence."""
    from scipy.optimize import linear_sum_assignment

    similarity = unit_rows(loadings.T) @ unit_rows(wanted.T).T
    rows, columns = linear_sum_assignment(-np.abs(similarity))
    M = np.zeros_like(similarity)
    M[rows, columns] = np.where(similarity[rows, columns] < 0, -1.0, 1.0)
    return M


def _join(items, reference):
    """Return the rows of `items` known to the reference, and its slopes for them."""
    if not hasattr(reference, "slopes"):
        slopes, rows = np.asarray(reference, dtype=float), np.arange(items.n_items)
        if slopes.shape != items.slopes.shape:
            raise ValueError(
                f"bare reference slopes are read in the order of the items and need "
                f"shape {items.slopes.shape}, got {slopes.shape}; give ItemParameters "
                "to join by item id"
            )
        return rows, slopes
    if reference.n_dims != items.n_dims:
        raise ValueError(
            f"cannot align {items.n_dims} dimension(s) with {reference.n_dims}"
        )
    place = {item: j for j, item in enumerate(reference.ids)}
    for ids in (items.ids, reference.ids):
        twice = [item for item, n in Counter(ids).items() if n > 1]
        if twice:
            raise ValueError(f"item id {twice[0]!r} occurs more than once")
    rows = np.array([j for j, item in enumerate(items.ids) if item in place])
    if not len(rows):
        raise ValueError(
            "the two fits have no item id in common, so nothing joins them; ids start "
            f"with {items.ids[:1].tolist()} and {reference.ids[:1].tolist()}"
        )
    return rows, reference.slopes[[place[item] for item in items.ids[rows]]]
