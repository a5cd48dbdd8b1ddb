"""Rotation of a fit: slopes, abilities and all their covariances move together.

A matrix M of shape (n_dims, n_dims) stands for a rotation throughout:

    slopes -> slopes @ M,    abilities -> abilities @ inv(M).T,
    covariance of abilities -> inv(M) @ covariance @ inv(M).T,

so every logit a_j . theta_i + d_j, and with it every probability, stays as it was.
M is orthogonal for an orthogonal rotation. For an oblique one, inv(M) has rows of unit
length: abilities that were uncorrelated with unit variance keep unit variance and get
the correlation matrix inv(M) @ inv(M).T.
"""

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

LOGISTIC_VARIANCE = np.pi**2 / 3

OBLIQUE_METHODS = ("oblimin", "quartimin", "promax", "target")
ORTHOGONAL_METHODS = (
    "varimax",
    "quartimax",
    "bifactor",
    "target_orthogonal",
    "none",
)
ROTATION_METHODS = OBLIQUE_METHODS + ORTHOGONAL_METHODS
ALIGNMENT_METHODS = ("orthogonal", "oblique", "permutation")

_BLOCK = 8192  # items at a time, so that temporaries stay in the cache
_RANK_TOL = 1e-12  # of the largest eigenvalue of loadings.T @ loadings
_GRADIENT_TOL = 1e-8  # loadings are brought to a common scale first
_MAX_ENTRY = 100.0  # of M: two abilities correlate by at most about 0.9999
_MEMORY = 10  # values the line search looks back on


class _Quartic(NamedTuple):
    """Criterion 1/4 sum_kl w_kl sum_j (l_jk^2 l_jl^2), read off the fourth moments.

    With v_k = vec(m_k m_k'), the inner sum is v_k' S v_l, where S of shape
    (n_dims^2, n_dims^2) holds sum_j of the products of four loadings. S is computed
    once; a step then costs n_dims^5, whatever the number of items.
    """

    moments: np.ndarray
    weights: np.ndarray

    def evaluate(self, M):
        """Return the criterion at loadings @ M and its gradient in M."""
        d = len(M)
        squares = (M[:, None, :] * M[None, :, :]).reshape(d * d, d)
        half = self.moments @ squares @ self.weights
        gradient = np.einsum("abk,bk->ak", half.reshape(d, d, d), M)
        return 0.25 * np.vdot(squares, half), gradient


class _TargetDistance(NamedTuple):
    """Criterion 1/2 sum_jk w_jk (l_jk - h_jk)^2, read off second moments.

    `quadratic[k]` is sum_j w_jk a_j a_j', `linear[:, k]` is sum_j w_jk h_jk a_j.
    """

    quadratic: np.ndarray
    linear: np.ndarray
    constant: float

    def evaluate(self, M):
        """Return the criterion at loadings @ M and its gradient in M."""
        product = np.einsum("kab,bk->ak", self.quadratic, M)
        value = 0.5 * (np.vdot(M, product - 2 * self.linear) + self.constant)
        return value, product - self.linear


@dataclass(frozen=True, eq=False)
class _Point:
    """One iterate: T of Jennrich (2002), M = inv(T).T (= T if orthogonal)."""

    T: np.ndarray
    M: np.ndarray
    value: float
    gradient: np.ndarray  # projected on the tangent space at T

    @property
    def norm(self):
        return np.sqrt(np.vdot(self.gradient, self.gradient))


def rotate_loadings(
    loadings,
    method="oblimin",
    *,
    target=None,
    gamma=0.0,
    kaiser=False,
    random_state=0,
    n_starts=20,
):
    r"""Rotate a loading matrix as it stands, without standardising it.

    Parameters
    ----------
    loadings : array-like of shape (n_items, n_dims)
        Loadings on uncorrelated dimensions of unit variance.
    method : str, default="oblimin"
        Oblique: "oblimin" (with `gamma`), "quartimin" (oblimin with gamma 0), "promax"
        (varimax, then least squares to the fourth powers), "target". Orthogonal:
        "varimax", "quartimax", "bifactor" (first column general, the others group
        factors), "target_orthogonal", "none" (the identity).
    target : array-like of shape (n_items, n_dims), default=None
        For "target" and "target_orthogonal": the wanted loadings, NaN where free.
    gamma : float, default=0.0
        For "oblimin": 0 is quartimin; negative values make the dimensions less
        correlated. Values above 0 may have no minimum.
    kaiser : bool, default=False
        Scale each row to unit length while the rotation is sought (Kaiser 1958). A
        target is then compared with the scaled rows.
    random_state : int, RandomState instance or None, default=0
        Of the random orthogonal starts.
    n_starts : int, default=20
        Starts of the search; the first two are the given and the principal axes.

    Returns
    -------
    rotated : ndarray of shape (n_items, n_dims)
        loadings @ M.
    M : ndarray of shape (n_dims, n_dims)
        The rotation. Columns are ordered by the sum of squares of `rotated`, largest
        first, with a positive mean; "bifactor" keeps its general dimension first, and
        a target fixes order and sign by itself.

    Raises
    ------
    ValueError
        If the method is unknown, the loadings are not a finite matrix, or a target is
        missing or has another shape.

    Warns
    -----
    ConvergenceWarning
        If the best start was still improving when the search ended.

    Notes
    -----
    Minimises, with :math:`L` the rotated loadings and :math:`n` items,

    .. math::

        \text{oblimin:}\ & \tfrac14 \sum_{k \ne l} \Big(\sum_j l_{jk}^2 l_{jl}^2
            - \tfrac{\gamma}{n} \sum_j l_{jk}^2 \sum_j l_{jl}^2\Big) \\
        \text{varimax:}\ & -\tfrac14 \sum_k \Big(\sum_j l_{jk}^4
            - \tfrac1n \big(\sum_j l_{jk}^2\big)^2\Big) \\
        \text{bifactor:}\ & \tfrac14 \sum_{k \ne l,\ k, l > 1} \sum_j l_{jk}^2 l_{jl}^2
            \\
        \text{target:}\ & \tfrac12 \sum_{h_{jk}\ \text{given}} (l_{jk} - h_{jk})^2

    by gradient projection with step halving. All are polynomials of M whose
    coefficients are moments of the loadings; these cost n_items * n_dims^4 / 4 once,
    and a step does not depend on the number of items. Directions in which the loadings
    have no extent (zero or duplicate columns, more dimensions than items) stay out of
    the search and come last. "bifactor" needs three dimensions: with two, the
    criterion is zero everywhere.

    References
    ----------
    Jennrich (2001), Psychometrika 66, 289-306 (orthogonal gradient projection).
    Jennrich (2002), Psychometrika 67, 7-19 (oblique).
    Bernaards and Jennrich (2005), Educ. Psychol. Meas. 65, 676-696 (criteria).
    Jennrich and Bentler (2011), Psychometrika 76, 537-549 (bi-quartimin).
    Hendrickson and White (1964), Br. J. Stat. Psychol. 17, 65-70 (promax).
    Browne (1972), Br. J. Math. Stat. Psychol. 25, 207-212 (partial target).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_mirt.rotation import rotate_loadings
    >>> loadings = np.array([[0.6, 0.6], [0.5, 0.5], [0.6, -0.6], [0.5, -0.5]])
    >>> np.abs(rotate_loadings(loadings, "varimax")[0]).round(2)
    array([[0.85, 0.  ],
           [0.71, 0.  ],
           [0.  , 0.85],
           [0.  , 0.71]])
    """
    loadings = _check_loadings(loadings)
    target = _check_method(method, target, loadings.shape)
    d = loadings.shape[1]
    if d == 1 or method == "none":
        return loadings.copy(), np.eye(d)
    work = _unit_rows(loadings) if kaiser else loadings
    rng = check_random_state(random_state)
    if target is not None:
        M = _rotate_to_target(work, target, method == "target", rng, n_starts)
        return loadings @ M, M
    M = _rotate_in_range(work, method, gamma, rng, n_starts)
    n_fixed = int(method == "bifactor")
    M = M @ _signed_permutation(loadings @ M, np.ones(d), n_fixed)
    return loadings @ M, M


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
    >>> from sklearn_mirt.rotation import find_rotation
    >>> find_rotation(np.array([[1.0, 1.0], [2.0, -2.0]]), "varimax").round(3)
    array([[ 0.707,  0.707],
           [-0.707,  0.707]])
    """
    slopes = _check_loadings(slopes)
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


def apply_rotation(items, abilities, M):
    """Move item parameters and abilities by one rotation; probabilities stay.

    Parameters
    ----------
    items : ItemParameters
        Slopes and covariances move; intercepts and guessing floors do not.
    abilities : Abilities
        Means, covariances and the prior covariance move.
    M : array-like of shape (n_dims, n_dims)
        Any invertible matrix; the prior covariance need not be the identity.

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
        covariances=_sandwich(both, items.covariances),
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
    M = _signed_permutation(items.slopes, variances, n_fixed)
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
    if method == "none":
        return canonical_order(items, abilities)
    whitening = _factor(abilities.prior_covariance)
    M = whitening @ find_rotation(items.slopes @ whitening, method, **options)
    items, abilities = apply_rotation(items, abilities, M)
    if method in ("target", "target_orthogonal"):
        return items, abilities
    return canonical_order(items, abilities, n_fixed=int(method == "bifactor"))


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
        M = C @ _procrustes(loadings @ C, wanted @ C_ref) @ np.linalg.inv(C_ref)
    elif method == "oblique":
        M = _least_squares(loadings, wanted, prior, np.diag(reference_prior))
    else:
        M = _match_dimensions(loadings, wanted)
    items, abilities = apply_rotation(items, abilities, M)
    return items, abilities, congruence(items.slopes[rows], reference_slopes)


def congruence(a, b):
    """Return Tucker's congruence of the columns of two matrices, shape (n_dims,).

    sum_j a_jk b_jk / sqrt(sum_j a_jk^2 sum_j b_jk^2), in [-1, 1]; 0 where a column is
    zero (Tucker 1951, *A method for synthesis of factor analysis studies*).
    """
    a, b = _unit_rows(np.transpose(a)), _unit_rows(np.transpose(b))
    return np.clip(np.einsum("kj,kj->k", a, b), -1.0, 1.0)


def _check_loadings(loadings):
    """Return loadings as a finite float matrix with at least one column."""
    loadings = np.asarray(loadings, dtype=float)
    if loadings.ndim != 2 or loadings.shape[1] == 0:
        raise ValueError(
            "a rotation needs a matrix of shape (n_items, n_dims) with at least one "
            f"dimension, got shape {loadings.shape}"
        )
    if not np.isfinite(loadings).all():
        row = int(np.flatnonzero(~np.isfinite(loadings).all(axis=1))[0])
        raise ValueError(
            f"row {row} of the matrix to rotate is not finite: {loadings[row]}; "
            "leave such items out"
        )
    return loadings


def _check_method(method, target, shape):
    """Return the target as an array, or None where the method has none."""
    if method not in ROTATION_METHODS:
        raise ValueError(
            f"unknown rotation {method!r}; choose one of {list(ROTATION_METHODS)}"
        )
    if method not in ("target", "target_orthogonal"):
        return None
    target = None if target is None else np.asarray(target, dtype=float)
    if target is None or target.shape != shape or np.isinf(target).any():
        raise ValueError(
            f"rotation {method!r} needs a target of shape {shape}, NaN where free, "
            f"got {'none' if target is None else f'shape {target.shape}'}"
        )
    return target


def _standardise(slopes, prior_covariance):
    """Return a_j / sqrt(a_j' Phi a_j + pi^2 / 3), the factor-analytic metric."""
    explained = np.einsum("ja,ab,jb->j", slopes, prior_covariance, slopes)
    return slopes / np.sqrt(explained + LOGISTIC_VARIANCE)[:, None]


def _unit_rows(matrix):
    """Return rows scaled to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(lengths > 0, lengths, 1.0)


def _sandwich(B, covariance):
    """Return B @ covariance @ B.T, symmetric to the last bit."""
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


def _signed_permutation(slopes, variances, n_fixed):
    """Return the signed permutation matrix of `canonical_order`."""
    d = slopes.shape[1]
    explained = np.einsum("jk,jk->k", slopes, slopes) * variances
    # Rounded, so that dimensions equal but for rounding error keep their order.
    keys = np.round(explained / max(explained.max(), np.finfo(float).tiny), 12)
    rest = n_fixed + np.argsort(-keys[n_fixed:], kind="stable")
    order = np.concatenate([np.arange(n_fixed), rest]).astype(int)
    sums, sizes = slopes.sum(axis=0), np.abs(slopes)
    signs = np.sign(sums)
    tied = np.abs(sums) <= 1e-12 * sizes.sum(axis=0)
    if tied.any() and len(slopes):
        largest = slopes[sizes.argmax(axis=0), np.arange(d)]
        signs = np.where(tied, np.where(largest < 0, -1.0, 1.0), signs)
    return np.eye(d)[:, order] * np.where(signs == 0, 1.0, signs)[order]


def _rotate_in_range(loadings, method, gamma, rng, n_starts):
    """Rotate within the row space of the loadings; null directions come after it."""
    d = loadings.shape[1]
    values, basis = np.linalg.eigh(loadings.T @ loadings)
    values, basis = values[::-1], basis[:, ::-1]
    rank = int(np.sum(values > _RANK_TOL * max(values[0], 0.0)))
    if rank == 0:
        return np.eye(d)
    # The criteria are of degree four; so is the scale on which they converge.
    scale = np.mean(np.einsum("jk,jk->j", loadings, loadings) ** 2) ** 0.25
    starts = [np.eye(rank)]
    if rank == d:
        starts.insert(0, basis.T)  # the axes as given
    starts += [_random_orthogonal(rng, rank) for _ in range(n_starts - len(starts))]
    principal = loadings @ (basis[:, :rank] / scale)
    block = _rotate_principal(principal, method, gamma, starts)
    return np.hstack([basis[:, :rank] @ block, basis[:, rank:]])


def _rotate_principal(loadings, method, gamma, starts):
    """Rotate loadings of full column rank by one of the quartic criteria."""
    n_items, d = loadings.shape
    if method == "promax":
        orthogonal = _rotate_principal(loadings, "varimax", gamma, starts)
        return orthogonal @ _promax(loadings @ orthogonal)
    if method in ("varimax", "quartimax"):
        weights, gamma = -np.eye(d), float(method == "varimax")
    else:
        weights, gamma = 1.0 - np.eye(d), gamma * (method == "oblimin")
    if method == "bifactor":
        weights[0] = weights[:, 0] = 0.0
    criterion = _Quartic(_fourth_moments(loadings, gamma) / n_items, weights)
    return _best_of(criterion, starts, method in OBLIQUE_METHODS)


def _rotate_to_target(loadings, target, oblique, rng, n_starts):
    """Rotate towards a target, NaN where it is free."""
    d = loadings.shape[1]
    given = np.isfinite(target)
    wanted = np.where(given, target, 0.0)
    scale = np.linalg.norm(loadings) + np.linalg.norm(wanted)
    if scale == 0.0:
        return np.eye(d)
    loadings, wanted = loadings / scale, wanted / scale
    quadratic = np.stack([(loadings * w[:, None]).T @ loadings for w in given.T])
    criterion = _TargetDistance(quadratic, loadings.T @ wanted, np.vdot(wanted, wanted))
    # The Procrustes start is the minimum itself when all of the target is given.
    starts = [np.eye(d), _procrustes(loadings, wanted)]
    starts += [_random_orthogonal(rng, d) for _ in range(n_starts - len(starts))]
    return _best_of(criterion, starts, oblique)


def _fourth_moments(loadings, gamma):
    """Return sum_j of products of four loadings, less gamma times that of the means.

    Only the n_dims (n_dims + 1) / 2 distinct products of two are formed, and those for
    a block of items at a time.
    """
    n_items, d = loadings.shape
    first, second = np.triu_indices(d)
    sums, moments = np.zeros(len(first)), np.zeros((len(first), len(first)))
    for start in range(0, n_items, _BLOCK):
        rows = loadings[start : start + _BLOCK]
        products = rows[:, first] * rows[:, second]
        sums += products.sum(axis=0)
        moments += products.T @ products
    moments -= gamma / n_items * np.outer(sums, sums)
    position = np.zeros((d, d), dtype=int)
    position[first, second] = position[second, first] = np.arange(len(first))
    return moments[np.ix_(position.ravel(), position.ravel())]


def _random_orthogonal(rng, d):
    """Return an orthogonal matrix drawn from the uniform (Haar) distribution."""
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)


def _procrustes(loadings, wanted):
    """Return the orthogonal Q that minimises |loadings @ Q - wanted|."""
    U, _, Vt = np.linalg.svd(loadings.T @ wanted)
    return U @ Vt


def _promax(loadings):
    """Return the promax step from varimax loadings: least squares to sign(l) l^4."""
    powers = loadings * np.abs(loadings) ** 3
    M = np.linalg.solve(loadings.T @ loadings, loadings.T @ powers)
    M /= np.linalg.norm(M, axis=0)
    if np.linalg.cond(M) > _MAX_ENTRY:
        warnings.warn(
            "the promax target does not determine an oblique rotation; the varimax "
            "rotation is returned",
            ConvergenceWarning,
            stacklevel=5,
        )
        return np.eye(len(M))
    return M * np.linalg.norm(np.linalg.inv(M), axis=1)


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

    similarity = _unit_rows(loadings.T) @ _unit_rows(wanted.T).T
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
        if len(set(ids)) < len(ids):
            seen = set()
            twice = next(item for item in ids if item in seen or seen.add(item))
            raise ValueError(f"item id {twice!r} occurs more than once")
    rows = np.array([j for j, item in enumerate(items.ids) if item in place], dtype=int)
    if not len(rows):
        raise ValueError(
            "the two fits have no item id in common, so nothing joins them; ids start "
            f"with {items.ids[:1].tolist()} and {reference.ids[:1].tolist()}"
        )
    return rows, reference.slopes[[place[item] for item in items.ids[rows]]]


def _best_of(criterion, starts, oblique):
    """Search shortly from every start, then to the end from the best one."""
    best = None
    for T in starts:
        point, _ = _descend(criterion, _point_at(criterion, T, oblique), oblique, 200)
        # Symmetric copies of one minimum differ by rounding: the first one stays.
        if best is None or point.value < best.value - 1e-9 * abs(best.value):
            best = point
    best, converged = _descend(criterion, best, oblique, 5000)
    if not converged:
        warnings.warn(
            f"the rotation did not converge (norm of the projected gradient "
            f"{best.norm:.1e}); the loadings have little simple structure to find",
            ConvergenceWarning,
            stacklevel=5,
        )
    return best.M


def _descend(criterion, point, oblique, max_iter):
    """Follow the projected gradient; return the last point and whether it is a minimum.

    The trial step is the secant step of Barzilai and Borwein (1988), which needs a
    third of the iterations of doubling; it is halved until the criterion falls
    enough below the largest of its last values (Grippo, Lampariello and Lucidi 1986).
    """
    step, values, checkpoint = 1.0, [point.value], point.value
    for iteration in range(max_iter):
        if point.norm <= _GRADIENT_TOL:
            return point, True
        following = _line_search(criterion, point, step, max(values), oblique)
        if following is None:
            break
        moved, turned = following.T - point.T, following.gradient - point.gradient
        curvature = np.vdot(moved, turned)
        step = np.vdot(moved, moved) / curvature if curvature > 0 else 2 * step
        step = min(max(step, 1e-3), 1e3)
        point = following
        values = [*values[1 - _MEMORY :], point.value]
        if iteration % 100 == 99:
            # A valley so flat that the gradient cannot be made smaller by going on.
            if checkpoint - min(values) <= 1e-13 * abs(checkpoint):
                break
            checkpoint = min(values)
    return point, point.norm <= 1e3 * _GRADIENT_TOL


def _line_search(criterion, point, step, ceiling, oblique):
    """Return the first point of sufficient decrease, or None after 40 halvings."""
    slack = 1e-15 * abs(point.value) + 1e-17  # rounding error of the criterion
    for _ in range(40):
        X = point.T - step * point.gradient
        if oblique:
            T = X / np.linalg.norm(X, axis=0)
        else:
            U, _, Vt = np.linalg.svd(X)
            T = U @ Vt
        candidate = _point_at(criterion, T, oblique)
        enough = ceiling - 1e-3 * step * point.norm**2 + slack
        if candidate is not None and candidate.value <= enough:
            return candidate
        step /= 2
    return None


def _point_at(criterion, T, oblique):
    """Evaluate the criterion at T; None where two dimensions all but coincide.

    Orthogonal: the tangent part of G is G - T sym(T' G) (Jennrich 2001, eq. 9).
    Oblique: the gradient in T is -(M G' M), and its tangent part takes from each
    column its component along the unit column of T (Jennrich 2002, eqs. 8 and 11).
    """
    if not oblique:
        value, G = criterion.evaluate(T)
        inner = T.T @ G
        return _Point(T, T, value, G - T @ ((inner + inner.T) / 2))
    try:
        M = np.linalg.inv(T).T
    except np.linalg.LinAlgError:
        return None
    if np.abs(M).max() > _MAX_ENTRY:
        return None
    value, G = criterion.evaluate(M)
    G = -M @ G.T @ M
    return _Point(T, M, value, G - T * np.einsum("ab,ab->b", T, G))
