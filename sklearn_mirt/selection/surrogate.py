"""Linear Gaussian surrogate of the answers of a new respondent.

The surrogate says, on the score scale and for a respondent from the same population as
the training respondents::

    x = m + A z + e,    z ~ N(0, I),    e ~ N(0, diag(psi))

It is a kriging model (Cressie 1993, section 3.4; in machine learning, Gaussian process
regression): items play the part of places, and the covariance ``A A' + diag(psi)`` says
how much the answer to one item tells about another. The columns of ``A`` come in blocks

``ens``
    Centred probabilities of the training respondents under the item model, divided by
    sqrt(N): the covariance of the *denoised* respondents.
``res``
    Their centred residuals, divided by sqrt(N): what items share beyond the item model.
``bench``
    One column per group with the items' standard deviations: a shift of the group.
``rbf``
    Random Fourier features of the item parameters (Rahimi and Recht 2007): items with
    like parameters err alike. Not among the default blocks: chosen items were no better
    with it (docs/selection_results.md).

Each block has one variance scale, and the noise one more; they are fitted by maximum
likelihood of training respondents held out of the item model and of the blocks.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from sklearn_mirt.solvers.bifactor.fit import fit_bifactor

__all__ = [
    "DEFAULT_BLOCKS",
    "Fold",
    "LinearSurrogate",
    "SurrogateParts",
    "fit_folds",
    "fit_scales",
]

DEFAULT_BLOCKS = ("ens", "res", "bench")
MIN_VARIANCE = 0.02
_VARIANCE_WEIGHT = 10.0
_BOUNDS = (-9.0, 3.0)
_MAX_RANK = 150
_MAX_HELD_OUT = 50
_FOLD_ITERATIONS = 40
_MAX_FOLD_ITEMS = 8000
_DEFAULT_SCALES = {"noise": 0.0, "ens": 0.5, "res": -3.0, "bench": -5.0, "rbf": -4.0}


@dataclass(frozen=True, eq=False)
class LinearSurrogate:
    """Mean, loadings and noise variances of the surrogate.

    Attributes
    ----------
    mean : ndarray of shape (n_items,)
        Expected scores m.
    loadings : ndarray of shape (n_items, n_factors)
        A.
    noise : ndarray of shape (n_items,)
        psi, variances of what an item shares with no other.
    """

    mean: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray

    def covariance_with(self, targets):
        """Covariance of every item with weighted sums: A A'W + psi W."""
        return self.loadings @ (self.loadings.T @ targets) + (
            self.noise[:, None] * targets
        )

    def target_variance(self, targets):
        """Prior variance of weighted sums of items, shape (n_targets,)."""
        shared = self.loadings.T @ targets
        return (shared**2).sum(axis=0) + self.noise @ targets**2

    def expectation(self, answers):
        """Conditional expectation of all items given some answers, clipped to [0, 1].

        ``z = (I + A_S' diag(1/psi_S) A_S)^-1 A_S' diag(1/psi_S) (y - m_S)`` for the
        answered items S of each row, then ``m + A z`` (Cressie 1993, eq. 3.4.2).

        Parameters
        ----------
        answers : ndarray of shape (n_respondents, n_items)
            NaN where there is no answer.

        Returns
        -------
        scores : ndarray of shape (n_respondents, n_items)
        """
        out = np.empty(answers.shape)
        for seen, rows in answer_patterns(answers):
            a = self.loadings[seen]
            scaled = (answers[np.ix_(rows, seen)] - self.mean[seen]) / self.noise[seen]
            z = cho_solve(self._posterior(seen), (scaled @ a).T).T
            out[rows] = self.mean + z @ self.loadings.T
        return np.clip(out, 0.0, 1.0)

    def target_std(self, seen, targets):
        """Posterior standard deviation of weighted sums once items are observed.

        ``sqrt(L' H^-1 L + sum_{j not in S} psi_j W_jt^2)`` with ``L = A' W`` and ``W``
        set to zero on the observed items. It does not depend on the answers.

        Parameters
        ----------
        seen : ndarray of int
            Positions of the observed items.
        targets : ndarray of shape (n_items, n_targets)

        Returns
        -------
        std : ndarray of shape (n_targets,)
        """
        rest = targets.copy()
        rest[seen] = 0.0
        shared = self.loadings.T @ rest
        explained = (shared * cho_solve(self._posterior(seen), shared)).sum(axis=0)
        return np.sqrt(explained + self.noise @ rest**2)

    def _posterior(self, seen):
        """Cholesky factor of the posterior precision of z given the items seen."""
        a = self.loadings[seen]
        precision = (a / self.noise[seen, None]).T @ a
        precision[np.diag_indices_from(precision)] += 1.0
        return cho_factor(precision, lower=True)


def answer_patterns(answers):
    """Yield (positions of answered items, rows) for each pattern of gaps."""
    seen = ~np.isnan(answers)
    if not len(answers):
        return
    if (seen == seen[0]).all():
        yield np.flatnonzero(seen[0]), np.arange(len(answers))
        return
    _, first, which = np.unique(
        np.packbits(seen, axis=1), axis=0, return_index=True, return_inverse=True
    )
    which = which.reshape(-1)
    for k, row in enumerate(first):
        yield np.flatnonzero(seen[row]), np.flatnonzero(which == k)


# Blocks -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SurrogateParts:
    """Everything of the surrogate but its variance scales.

    Attributes
    ----------
    mean : ndarray of shape (n_items,)
    variance : ndarray of shape (n_items,)
        Unscaled noise variances s2.
    counts : ndarray of shape (n_items,)
        Number of training answers of each item.
    blocks : dict of str to ndarray of shape (n_items, k)
    """

    mean: np.ndarray
    variance: np.ndarray
    counts: np.ndarray
    blocks: dict

    @classmethod
    def from_model(cls, model, responses, *, blocks=DEFAULT_BLOCKS):
        """Build the blocks from an item model and the answers it was fitted on.

        ``m_j = (sum_i x_ij + 2 Pbar_j) / (N + 2)``, a missing cell counting as its
        probability. The noise of an item with binary scores is its binomial variance
        ``v_j = max(mean_i P (1 - P), 0.02)``; for fractional ones, see
        ``_noise_variance``.
        """
        n = len(responses)
        p = model.probability(model.abilities, model.ability_covariances)
        seen = ~np.isnan(responses)
        residual = np.where(seen, responses - p, 0.0)
        p_mean = p.mean(axis=0)
        variance = _noise_variance(p, residual, seen, model.dispersion)
        makers = {
            "ens": lambda: _thin((p - p_mean).T / np.sqrt(n)),
            "res": lambda: _thin((residual - residual.mean(axis=0)).T / np.sqrt(n)),
            "bench": lambda: _bench_block(model, variance),
            "rbf": lambda: _rbf_block(model, variance),
        }
        return cls(
            mean=((p + residual).sum(axis=0) + 2.0 * p_mean) / (n + 2.0),
            variance=variance,
            counts=seen.sum(axis=0),
            blocks={
                name: makers[name]()
                for name in blocks
                if name != "bench" or model.n_groups > 1
            },
        )

    def assemble(self, scales):
        """Return the surrogate with log variance ``scales`` (by block, and "noise")."""
        loadings = np.hstack(
            [block * np.exp(scales[name] / 2) for name, block in self.blocks.items()]
        )
        # 1/N: the expected score of the item is itself estimated from N answers.
        noise = (
            np.exp(scales["noise"])
            * self.variance
            * (1.0 + 1.0 / np.maximum(self.counts, 1))
        )
        return LinearSurrogate(self.mean, loadings, noise)


def _noise_variance(p, residual, seen, dispersion):
    """Return the noise variances of the items, before scaling.

    Binary scores: ``v_j``, the binomial variance; the mean fixes it, and squared
    residuals of few respondents would only add noise, which a greedy choice seeks out.
    Fractional scores, of dispersion phi < 1, vary less, and not all items alike: the
    mean squared residual, shrunk to ``v_j`` times the overall ratio ``rho`` of the two,
    ``(k rho v_j + sum_i r_ij^2) / (k + N_j)`` with ``k = 10 phi / (1 - phi)``.
    """
    binomial = np.maximum((p * (1.0 - p)).mean(axis=0), MIN_VARIANCE)
    if dispersion == 1.0:
        return binomial
    squares, counts = (residual**2).sum(axis=0), seen.sum(axis=0)
    ratio = max(squares.sum() / (counts * binomial).sum(), MIN_VARIANCE)
    weight = _VARIANCE_WEIGHT * dispersion / (1.0 - dispersion)
    return (weight * ratio * binomial + squares) / (weight + counts)


def _thin(block):
    """Keep the leading directions of a block with many columns."""
    if block.shape[1] <= 200:
        return np.ascontiguousarray(block)
    from sklearn.utils.extmath import randomized_svd

    rank = min(_MAX_RANK, *block.shape)
    u, s, _ = randomized_svd(block, rank, random_state=0)
    return u * s


def _bench_block(model, variance):
    block = np.zeros((len(variance), model.n_groups))
    block[np.arange(len(variance)), model.groups] = np.sqrt(variance)
    return block


def _rbf_block(model, variance, n_waves=64, seed=0):
    feature = model.beta - model.beta.mean(axis=0)
    feature /= np.maximum(feature.std(axis=0), 1e-6)
    waves = np.random.default_rng(seed).standard_normal((feature.shape[1], n_waves))
    angle = feature @ waves
    block = np.hstack([np.cos(angle), np.sin(angle)]) / np.sqrt(n_waves)
    return block * np.sqrt(variance)[:, None]


# Variance scales ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fold:
    """Item model and surrogate parts learned without some training respondents.

    Attributes
    ----------
    items : ndarray of int
        Positions, in the whole bank, of the items of the fold.
    held_out : ndarray of int
        Respondents that were left out.
    """

    model: object
    parts: SurrogateParts
    items: np.ndarray
    held_out: np.ndarray


def fit_folds(responses, groups, *, n_folds=4, blocks=DEFAULT_BLOCKS, **fit):
    """Refit the item model and the blocks without each fold of respondents.

    Rows are dealt at random, with a fixed seed: in folds of balanced scores the held
    out would be closer to the rest than new respondents are. Of large banks every k-th
    item of a group is used: with columns sorted by mean score, a sample of all
    difficulties. Items that lose all their answers keep a prior in the fold.

    Parameters
    ----------
    responses : ndarray of shape (n_respondents, n_items)
    groups : ndarray of int of shape (n_items,)
    **fit
        Passed to ``fit_bifactor``.

    Returns
    -------
    folds : list of Fold
    """
    fit = {"max_iter": _FOLD_ITERATIONS, **fit}
    fold = np.random.default_rng(0).permutation(len(responses)) % n_folds
    folds = []
    for k in range(n_folds):
        train = responses[fold != k]
        items = _fold_items(train, responses, groups)
        train = train[:, items]
        model = fit_bifactor(train, groups[items], **fit)
        parts = SurrogateParts.from_model(model, train, blocks=blocks)
        folds.append(Fold(model, parts, items, np.flatnonzero(fold == k)))
    return folds


def _fold_items(train, responses, groups):
    """Every k-th item of a group that its fold alone would keep in the bank.

    A bank is often cleared of items that nearly everyone solves, or no one. An item of
    such a bank that every respondent left in the fold solves was surely failed by one
    held out: with it, the fold would look worse than new respondents find the bank. So
    an item stays if its mean would lie in the range of all means whatever the answers
    held out. A group without such an item keeps all of them.

    Items come in random order (fixed seed): the bank's order is by mean score, and to
    take the first of equal items would prefer those that the held out failed.
    """
    total, count = _sums(responses)
    right, answered = _sums(train)
    low, high = (total / count).min(), (total / count).max()
    wrong = answered - right
    inside = (right >= low * count - 1e-9) & (wrong >= (1.0 - high) * count - 1e-9)
    step = -(-len(groups) // _MAX_FOLD_ITEMS)
    kept = []
    for g in range(groups.max() + 1):
        items = np.flatnonzero(groups == g)
        kept.append((items[inside[items]] if inside[items].any() else items)[::step])
    return np.random.default_rng(0).permutation(np.concatenate(kept))


def _sums(responses):
    """Sum of the scores and number of answers of every item."""
    return np.nansum(responses, axis=0), (~np.isnan(responses)).sum(axis=0)


def _likelihood_terms(folds, responses):
    """Sufficient statistics of the held-out likelihood, one tuple per gap pattern."""
    terms = []
    for fold in folds:
        a = np.hstack(list(fold.parts.blocks.values()))
        sizes = [block.shape[1] for block in fold.parts.blocks.values()]
        rows = fold.held_out
        step = -(-len(rows) // _MAX_HELD_OUT)
        held = responses[np.ix_(rows[::step], fold.items)]
        for seen, members in answer_patterns(held):
            inverse = 1.0 / fold.parts.variance[seen]
            r = held[np.ix_(members, seen)] - fold.parts.mean[seen]
            gram = (a[seen] * inverse[:, None]).T @ a[seen]
            cross = (r * inverse) @ a[seen]
            terms.append((gram, cross, (r**2) @ inverse, len(seen), sizes))
    return terms


def _negative_log_likelihood(point, terms):
    """Gaussian minus log likelihood per respondent (Woodbury), plus a weak penalty."""
    noise = np.exp(point[0])
    total = n_respondents = 0.0
    for gram, cross, square, n_items, sizes in terms:
        scale = np.repeat(np.exp(point[1:] / 2), sizes)
        h = scale[:, None] * gram * scale / noise
        h[np.diag_indices_from(h)] += 1.0
        lower = np.linalg.cholesky(h)
        v = solve_triangular(lower, (cross * scale).T, lower=True) / noise
        log_det = 2.0 * np.log(np.diag(lower)).sum() + n_items * point[0]
        total += 0.5 * (square.sum() / noise - (v**2).sum() + len(square) * log_det)
        n_respondents += len(square)
    return (total + ((point[1:] + 3.0) ** 2).sum() / 18.0) / n_respondents


def fit_scales(folds, responses):
    """Fit log variance scales by the likelihood of held-out training respondents.

    Pattern search (Hooke and Jeeves 1961) from noise 0, ``ens`` 0 and the others -3, in
    [-9, 3], with the penalty ``sum (l + 3)^2 / 18`` on the blocks.

    Parameters
    ----------
    folds : list of Fold
    responses : ndarray of shape (n_respondents, n_items)
        The matrix that the folds were cut from.

    Returns
    -------
    scales : dict
        "noise" and every block name to a log variance scale.
    """
    names = list(folds[0].parts.blocks)
    terms = _likelihood_terms(folds, responses)

    def objective(point):
        return _negative_log_likelihood(point, terms)

    start = np.array([0.0] + [0.0 if name == "ens" else -3.0 for name in names])
    best = _pattern_search(objective, start)
    return dict(zip(["noise", *names], best.tolist(), strict=True))


def _pattern_search(objective, point):
    """Minimise by steps along the coordinates, halved when none improves."""
    step = np.ones(len(point))
    step[0] = 0.2
    value = objective(point)
    while step[1] >= 0.2:
        moved = False
        for i in range(len(point)):
            for sign in (1.0, -1.0):
                trial = point.copy()
                trial[i] = np.clip(trial[i] + sign * step[i], *_BOUNDS)
                new = objective(trial)
                if new < value - 1e-6:
                    point, value, moved = trial, new, True
                    break
        if not moved:
            step /= 2
    return point


def default_scales(blocks):
    """Typical scales, for fewer respondents than cross-validation can use."""
    return {name: _DEFAULT_SCALES[name] for name in ("noise", *blocks)}
