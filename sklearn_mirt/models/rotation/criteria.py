"""Rotation of a loading matrix to simple structure, by gradient projection.

Criteria are polynomials of the rotation M whose coefficients are moments of the
loadings, so that a step costs the same for any number of items. Nothing here knows of
items or abilities; see ``sklearn_mirt.models.rotation.apply`` for those.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

OBLIQUE_METHODS = ("oblimin", "quartimin", "promax", "target")
ROTATION_METHODS = (
    *OBLIQUE_METHODS,
    *("varimax", "quartimax", "bifactor", "target_orthogonal", "none"),
)

_BLOCK = 8192  # items at a time, so that temporaries stay in the cache
_NEGLIGIBLE = 0.02  # of the longest row: a smaller loading is no loading
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
    and a step does not depend on the number of items. Principal directions on which no
    item loads more than 0.02 of the longest row (zero or duplicate columns, more
    dimensions than items, a dimension the fit has shrunk away) stay out of the search
    and uncorrelated: an oblique criterion would blow them up into near-copies of the
    others. They come last. "bifactor" needs three dimensions: with two, the
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
    >>> from sklearn_mirt.models.rotation.criteria import rotate_loadings
    >>> loadings = np.array([[0.6, 0.6], [0.5, 0.5], [0.6, -0.6], [0.5, -0.5]])
    >>> np.abs(rotate_loadings(loadings, "varimax")[0]).round(2)
    array([[0.85, 0.  ],
           [0.71, 0.  ],
           [0.  , 0.85],
           [0.  , 0.71]])
    """
    loadings = check_loadings(loadings)
    target = _check_method(method, target, loadings.shape)
    d = loadings.shape[1]
    if d == 1 or method == "none":
        return loadings.copy(), np.eye(d)
    work = unit_rows(loadings) if kaiser else loadings
    rng = check_random_state(random_state)
    if target is not None:
        M = _rotate_to_target(work, target, method == "target", rng, n_starts)
        return loadings @ M, M
    M = _rotate_in_range(work, method, gamma, rng, n_starts)
    n_fixed = int(method == "bifactor")
    M = M @ signed_permutation(loadings @ M, np.ones(d), n_fixed)
    return loadings @ M, M


def check_loadings(loadings):
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


def unit_rows(matrix):
    """Return rows scaled to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(lengths > 0, lengths, 1.0)


def signed_permutation(slopes, variances, n_fixed):
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
    """Rotate among the directions on which items load; the others come after."""
    d = loadings.shape[1]
    lengths = np.linalg.norm(loadings, axis=1)
    if not lengths.any():
        return np.eye(d)
    basis = np.linalg.eigh(loadings.T @ loadings)[1][:, ::-1]
    # By the largest loading, not the sum: few items can make a dimension that counts.
    kept = np.abs(loadings @ basis).max(axis=0) > _NEGLIGIBLE * lengths.max()
    basis, rank = np.hstack([basis[:, kept], basis[:, ~kept]]), int(kept.sum())
    # The criteria are of degree four; so is the scale on which they converge.
    scale = np.mean(lengths**4) ** 0.25
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
    starts = [np.eye(d), procrustes(loadings, wanted)]
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


def procrustes(loadings, wanted):
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
