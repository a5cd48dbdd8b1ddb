"""Plain NumPy reference of the variational solver: the oracle, not the product.

Model (binomial two-parameter logistic, D abilities, optional known guessing floor)
    eta_ij = a_j . theta_i + d_j = beta_j . (theta_i, 1),   beta_j = (a_j, d_j)
    P(correct) = g_j + (1 - g_j) * sigmoid(eta_ij),         K = D + 1
    theta_i ~ N(0, I_D),   beta_j ~ N(mu_g, Sigma_g), g the group (benchmark) of item j

Every cell holds a score y in [0, 1] and a weight w (0 = missing, 1 = one answer,
n = mean of n repeats). Polya-Gamma augmentation makes both conditionals Gaussian, so
each update is closed form and the evidence lower bound never falls. All heavy work is
three matrix products and one elementwise function per pass.

References: Polson, Scott & Windle 2013 (Polya-Gamma); Jaakkola & Jordan 2000 (the same
bound); Cho, Wang, Zhang & Xu 2021 (Gaussian variational EM for MIRT); Liu, Rubin & Wu
1998 (parameter expansion).
"""

import numpy as np


def fit_variational(
    y,
    weight,
    n_dims,
    groups=None,
    guessing=0.0,
    max_iter=100,
    tol=1e-4,
    start=None,
    held_prior=None,
):
    """Fit abilities and items.

    y, weight : (n_respondents, n_items); y is ignored where weight is 0.
    groups : (n_items,) integers, or None for one group.
    start : dict as returned, to start from, or None.
    held_prior : mean (K,) and covariance (K, K) of all items, or None to learn them.
    Returns a dict: ability_mean (N, D), ability_cov (N, D, D), item_mean (J, K),
    item_cov (J, K, K),
    prior_mean (G, K), prior_cov (G, K, K), bounds (list of float).
    """
    n, j = y.shape
    d, k = n_dims, n_dims + 1
    groups = np.zeros(j, int) if groups is None else np.asarray(groups)
    n_groups = groups.max() + 1
    if start is None:
        start = _start(y, weight, d, guessing)
    names = "ability_mean", "ability_cov", "item_mean", "item_cov"
    ability_mean, ability_cov, item_mean, item_cov = (start[name] for name in names)
    prior_mean = np.zeros((n_groups, k))
    prior_cov = np.tile(np.diag([1.0] * d + [4.0]), (n_groups, 1, 1))
    if held_prior is not None:
        prior_mean, prior_cov = (np.array([part] * n_groups) for part in held_prior)
    bounds = []
    for _ in range(max_iter):
        # items given abilities
        theta2 = _second_moment(*_append_one(ability_mean, ability_cov))  # (N, K, K)
        item2 = item_cov + item_mean[:, :, None] * item_mean[:, None, :]  # (J, K, K)
        theta1 = np.column_stack([ability_mean, np.ones(n)])
        omega, kappa = _cells(y, weight, theta1, theta2, item_mean, item2, guessing)
        prior_precision = np.linalg.inv(prior_cov)
        precision = np.tensordot(omega, theta2, (0, 0)) + prior_precision[groups]
        linear = (
            kappa.T @ theta1
            + np.einsum("gpq,gq->gp", prior_precision, prior_mean)[groups]
        )
        item_cov = np.linalg.inv(precision)
        item_mean = np.einsum("jpq,jq->jp", item_cov, linear)
        # abilities given items
        item2 = item_cov + item_mean[:, :, None] * item_mean[:, None, :]
        omega, kappa = _cells(y, weight, theta1, theta2, item_mean, item2, guessing)
        moment = np.tensordot(omega, item2, (1, 0))  # (N, K, K)
        ability_cov = np.linalg.inv(moment[:, :d, :d] + np.eye(d))
        ability_mean = np.einsum(
            "npq,nq->np", ability_cov, kappa @ item_mean[:, :d] - moment[:, :d, d]
        )
        # parameter expansion: move the abilities to mean 0, average second moment I;
        # carry items and their prior along
        center = ability_mean.mean(0)
        scale = np.linalg.cholesky(
            np.cov(ability_mean.T, bias=True).reshape(d, d) + ability_cov.mean(0)
        )
        inverse = np.linalg.inv(scale)
        ability_mean = (ability_mean - center) @ inverse.T
        ability_cov = inverse @ ability_cov @ inverse.T
        carry = np.zeros((k, k))
        carry[:d, :d], carry[d, :d], carry[d, d] = scale.T, center, 1.0
        item_mean, item_cov = item_mean @ carry.T, carry @ item_cov @ carry.T
        # empirical Bayes: one Gaussian per group, shrunk to the pooled covariance
        if held_prior is None:
            prior_mean, prior_cov = _group_priors(item_mean, item_cov, groups, n_groups)
        else:
            prior_mean, prior_cov = prior_mean @ carry.T, carry @ prior_cov @ carry.T
        bounds.append(
            _bound(
                y,
                weight,
                ability_mean,
                ability_cov,
                item_mean,
                item_cov,
                prior_mean[groups],
                prior_cov[groups],
                guessing,
            )
        )
        if len(bounds) > 1 and bounds[-1] - bounds[-2] < tol * abs(bounds[-2]) / 100:
            break
    return dict(
        ability_mean=ability_mean,
        ability_cov=ability_cov,
        item_mean=item_mean,
        item_cov=item_cov,
        prior_mean=prior_mean,
        prior_cov=prior_cov,
        bounds=bounds,
    )


def predict(fit, guessing=0.0):
    """(N, J) probability of a correct answer, averaged over the posterior of
    abilities and items (MacKay's probit
    approximation: sigmoid(m / sqrt(1 + pi v / 8)))."""
    theta, beta = (
        _append_one(fit["ability_mean"], fit["ability_cov"]),
        (fit["item_mean"], fit["item_cov"]),
    )
    mean = theta[0] @ beta[0].T
    second = np.tensordot(
        _second_moment(*theta), _second_moment(*beta), ((1, 2), (1, 2))
    )
    variance = np.maximum(second - mean**2, 0.0)
    return guessing + (1 - guessing) * _sigmoid(
        mean / np.sqrt(1 + np.pi * variance / 8)
    )


def fold_in(y, weight, item_mean, item_cov, guessing=0.0, n_iter=30):
    """Abilities (mean, cov) of new respondents with the items held fixed."""
    n, d = len(y), item_mean.shape[1] - 1
    mean, cov = np.zeros((n, d)), np.tile(np.eye(d), (n, 1, 1))
    item2 = _second_moment(item_mean, item_cov)
    for _ in range(n_iter):
        theta = _append_one(mean, cov)
        omega, kappa = _cells(
            y, weight, theta[0], _second_moment(*theta), item_mean, item2, guessing
        )
        moment = np.tensordot(omega, item2, (1, 0))
        cov = np.linalg.inv(moment[:, :d, :d] + np.eye(d))
        mean = np.einsum("npq,nq->np", cov, kappa @ item_mean[:, :d] - moment[:, :d, d])
    return mean, cov


def _cells(y, weight, theta1, theta2, item_mean, item2, guessing):
    """Expected Polya-Gamma weight omega and linear term kappa of every cell (N, J);
    both 0 where missing."""
    c = np.sqrt(np.tensordot(theta2, item2, ((1, 2), (1, 2))) + 1e-12)
    omega = weight * np.tanh(c / 2) / (2 * c)
    knows = np.nan_to_num(y)
    if np.any(guessing):
        sig = _sigmoid(theta1 @ item_mean.T)
        knows = (
            knows * sig / (guessing + (1 - guessing) * sig)
        )  # a correct answer may be a lucky one
    return omega, weight * (knows - 0.5)


def _bound(
    y,
    weight,
    ability_mean,
    ability_cov,
    item_mean,
    item_cov,
    prior_mean,
    prior_cov,
    guessing,
):
    theta = _append_one(ability_mean, ability_cov)
    second = np.tensordot(
        _second_moment(*theta), _second_moment(item_mean, item_cov), ((1, 2), (1, 2))
    )
    c = np.sqrt(second + 1e-12)
    eta = theta[0] @ item_mean.T
    right = np.nan_to_num(y)
    knows, extra = right, 0.0
    if np.any(guessing):  # entropy and prior of "knew it" against "guessed it"
        sig = _sigmoid(eta)
        share = np.clip(sig / (guessing + (1 - guessing) * sig), 1e-12, 1 - 1e-12)
        lucky = (1 - share) * np.log(np.maximum(guessing, 1e-300))
        entropy = -share * np.log(share) - (1 - share) * np.log1p(-share)
        knows, extra = (
            right * share,
            right * (lucky + entropy) + (1 - right) * np.log1p(-guessing),
        )
    cell = weight * ((knows - 0.5) * eta - c / 2 - np.log1p(np.exp(-c)) + extra)
    d = ability_mean.shape[1]
    return (
        cell.sum()
        - _kl(ability_mean, ability_cov, np.zeros(d), np.eye(d)[None])
        - _kl(item_mean, item_cov, prior_mean, prior_cov)
    )


def _kl(mean, cov, mean0, cov0):
    precision = np.linalg.inv(cov0)
    delta = mean - mean0
    trace = np.einsum("...pq,...qp->...", precision, cov)
    square = np.einsum(
        "...p,...pq,...q->...", delta, np.broadcast_to(precision, cov.shape), delta
    )
    return 0.5 * np.sum(
        trace
        + square
        - mean.shape[1]
        + np.linalg.slogdet(cov0)[1]
        - np.linalg.slogdet(cov)[1]
    )


def _group_priors(item_mean, item_cov, groups, n_groups, strength=20.0):
    k = item_mean.shape[1]
    means, scatters, counts = (
        np.zeros((n_groups, k)),
        np.zeros((n_groups, k, k)),
        np.bincount(groups, minlength=n_groups),
    )
    for g in range(n_groups):
        rows = groups == g
        means[g] = item_mean[rows].mean(0)
        delta = item_mean[rows] - means[g]
        scatters[g] = delta.T @ delta + item_cov[rows].sum(0)
    pooled = scatters.sum(0) / counts.sum()
    return means, (scatters + strength * pooled) / (counts + strength)[
        :, None, None
    ] + 1e-4 * np.eye(k)


def _start(y, weight, d, guessing):
    seen = weight > 0
    rate = np.where(seen, y, 0).sum(0) / np.maximum(seen.sum(0), 1)
    if seen.mean() < 0.75:  # who was asked may depend on ability
        held = [1.0, 0.0], np.diag([1e-6, 4.0])
        still = _unknown(np.zeros((len(y), 1)), y.shape[1])
        rasch = fit_variational(y, weight, 1, None, guessing, 7, -1.0, still, held)
        if d == 1:
            return rasch
        rate = guessing + (1 - guessing) * _sigmoid(rasch["item_mean"][:, 1])
    return _unknown(_components(y, seen, rate, d), y.shape[1])


def _unknown(ability_mean, j):
    n, d = ability_mean.shape
    return dict(
        ability_mean=ability_mean,
        ability_cov=np.tile(0.05 * np.eye(d), (n, 1, 1)),
        item_mean=np.zeros((j, d + 1)),
        item_cov=np.tile(0.5 * np.eye(d + 1), (j, 1, 1)),
    )


def _components(y, seen, rate, d):
    z = np.where(seen, y - rate, 0.0) / np.sqrt(np.maximum(rate * (1 - rate), 0.01))
    if len(z) <= z.shape[1]:
        vectors = np.linalg.eigh(z @ z.T)[1][:, ::-1][:, :d]
    else:
        vectors = z @ np.linalg.eigh(z.T @ z)[1][:, ::-1][:, :d]
    return vectors / vectors.std(0)


def _append_one(mean, cov):
    n, d = mean.shape
    full = np.zeros((n, d + 1, d + 1))
    full[:, :d, :d] = cov
    return np.column_stack([mean, np.ones(n)]), full


def _second_moment(mean, cov):
    return cov + mean[:, :, None] * mean[:, None, :]


def _sigmoid(x):
    return 0.5 * (1 + np.tanh(x / 2))
