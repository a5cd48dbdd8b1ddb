"""make_responses: the general simulator of response matrices with known truth."""

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch


def make_responses(
    n_respondents=100,
    n_items=1000,
    n_dims=2,
    *,
    ability_correlation=0.0,
    slopes=None,
    intercepts=None,
    guessing=0.0,
    missing=0.0,
    n_groups=1,
    as_frame=False,
    random_state=None,
):
    """Simulate responses from the multidimensional logistic model.

    ``P(y_ij = 1) = g_j + (1 - g_j) sigmoid(a_j . theta_i + d_j)`` with abilities
    from N(0, R), R the ability correlation (Reckase 2009, chapter 4).

    Parameters
    ----------
    n_respondents, n_items, n_dims : int
        Sizes.
    ability_correlation : float or array-like of shape (n_dims, n_dims), default=0.0
        Correlation of every pair of abilities, or the whole correlation matrix.
    slopes : array-like of shape (n_items, n_dims), default=None
        Slopes in logits per standard deviation of ability. None: near simple
        structure; item j loads on dimension ``j % n_dims`` with a log-normal slope
        (median 1, log standard deviation 0.35) and on the others with N(0, 0.15^2).
    intercepts : array-like of shape (n_items,), default=None
        Intercepts in logits. None: N(m_g, 1) with m_g ~ N(0, 0.5^2) for group g (0
        for a single group).
    guessing : float or array-like of shape (n_items,), default=0.0
        Guessing floor g in [0, 1).
    missing : float, default=0.0
        Probability in [0, 1) that a cell is missing, independent of all else.
    n_groups : int, default=1
        Number of item groups, contiguous and of equal size, give or take one.
    as_frame : bool, default=False
        Whether matrices and vectors are pandas objects with ids.
    random_state : int, numpy.random.Generator or None, default=None
        Seed.

    Returns
    -------
    data : Bunch
        responses (n_respondents, n_items) float, 0 / 1 and NaN where missing;
        probabilities, likewise; abilities (n_respondents, n_dims); slopes (n_items,
        n_dims); intercepts (n_items,); guessing (n_items,); ability_correlation
        (n_dims, n_dims); item_groups (n_items,); respondent_ids; item_ids.

    Raises
    ------
    ValueError
        If a size is not positive, a shape is wrong, a probability is out of range or
        the correlation matrix is not positive definite.

    Examples
    --------
    >>> from sklearn_mirt.datasets import make_responses
    >>> data = make_responses(20, 30, 2, missing=0.1, random_state=0)
    >>> data.responses.shape
    (20, 30)
    """
    sizes = {"n_respondents": n_respondents, "n_items": n_items, "n_dims": n_dims}
    _check_sizes(sizes | {"n_groups": n_groups})
    if not 0 <= missing < 1:
        raise ValueError(f"missing must be in [0, 1), got {missing!r}.")
    guessing = _checked("guessing", guessing, (n_items,), scalar=True)
    if not ((guessing >= 0) & (guessing < 1)).all():
        raise ValueError("guessing must be in [0, 1) for every item.")
    correlation = correlation_matrix(ability_correlation, n_dims)
    rng = np.random.default_rng(random_state)
    group = np.arange(n_items) * n_groups // n_items
    abilities = rng.standard_normal((n_respondents, n_dims))
    abilities = abilities @ np.linalg.cholesky(correlation).T
    if slopes is None:
        slopes = _simple_slopes(n_items, n_dims, rng)
    if intercepts is None:
        shifts = 0.5 * rng.standard_normal(n_groups) if n_groups > 1 else np.zeros(1)
        intercepts = shifts[group] + rng.standard_normal(n_items)
    slopes = _checked("slopes", slopes, (n_items, n_dims))
    intercepts = _checked("intercepts", intercepts, (n_items,))
    chance = expit(abilities @ slopes.T + intercepts)
    chance = guessing + (1 - guessing) * chance
    responses = (rng.random(chance.shape) < chance).astype(float)
    responses[rng.random(chance.shape) < missing] = np.nan
    data = Bunch(
        responses=responses,
        probabilities=chance,
        abilities=abilities,
        slopes=slopes,
        intercepts=intercepts,
        guessing=guessing,
        ability_correlation=correlation,
        item_groups=np.array([f"group-{g}" for g in group], dtype=object),
        respondent_ids=make_ids("respondent", n_respondents),
        item_ids=make_ids("item", n_items),
    )
    return _framed(data) if as_frame else data


def _check_sizes(sizes):
    for name, size in sizes.items():
        if not (isinstance(size, (int, np.integer)) and size >= 1):
            raise ValueError(f"{name} must be a positive integer, got {size!r}.")
    n_groups, n_items = sizes["n_groups"], sizes["n_items"]
    if n_groups > n_items:
        raise ValueError(f"n_groups={n_groups} exceeds n_items={n_items}.")


def _checked(name, values, shape, *, scalar=False):
    values = np.array(values, dtype=float)
    if scalar and values.ndim == 0:
        values = np.full(shape, values)
    if values.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite.")
    return values


def correlation_matrix(correlation, n_dims):
    """Return a checked correlation matrix; a number is that of every pair."""
    if np.ndim(correlation) == 0:
        correlation = np.full((n_dims, n_dims), float(correlation))
        np.fill_diagonal(correlation, 1.0)
    correlation = _checked("ability_correlation", correlation, (n_dims, n_dims))
    symmetric = np.allclose(correlation, correlation.T)
    unit = np.allclose(np.diag(correlation), 1)
    if not (symmetric and unit and np.linalg.eigvalsh(correlation)[0] > 1e-10):
        raise ValueError(
            "ability_correlation must be a positive definite correlation matrix, got "
            f"{correlation.tolist()}."
        )
    return correlation


def _simple_slopes(n_items, n_dims, rng):
    slopes = 0.15 * rng.standard_normal((n_items, n_dims))
    own = np.arange(n_items) % n_dims
    slopes[np.arange(n_items), own] = rng.lognormal(0.0, 0.35, n_items)
    return slopes


def make_ids(noun, n):
    """Return ids noun-000, noun-001... that sort in order."""
    width = max(3, len(str(n - 1)))
    return np.array([f"{noun}-{i:0{width}d}" for i in range(n)], dtype=object)


def _framed(data):
    import pandas as pd

    rows, items = data.respondent_ids, data.item_ids
    dims = [f"dim_{k}" for k in range(data.slopes.shape[1])]
    for name in ("responses", "probabilities"):
        data[name] = pd.DataFrame(data[name], index=rows, columns=items)
    data.abilities = pd.DataFrame(data.abilities, index=rows, columns=dims)
    data.slopes = pd.DataFrame(data.slopes, index=items, columns=dims)
    data.ability_correlation = pd.DataFrame(data.ability_correlation, dims, dims)
    for name in ("intercepts", "guessing", "item_groups"):
        data[name] = pd.Series(data[name], index=items, name=name)
    return data
