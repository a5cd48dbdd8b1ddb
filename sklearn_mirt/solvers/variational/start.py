"""Starting abilities: leading principal components of the standardised answers.

Missing answers count as those of the average respondent. In an adaptive test the mean
score of an item is that of strong or of weak respondents, and answers standardised by
it hide ability. Where more than a quarter of the answers is missing, a fit therefore
begins with a few passes with one ability and equal slopes (a Rasch model): a fit of one
dimension goes on from there, others take its rates of the average respondent.
"""

from dataclasses import replace

import numpy as np
from scipy.special import expit

from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.solvers.kernels.item_blocks import cells_operator
from sklearn_mirt.solvers.kernels.respondent_blocks import StartTask, gram_of_items

_EXACT = 500  # respondents up to which the Gram matrix is decomposed in full
_SUBSPACE_ITERATIONS = 4  # of a start, not of an analysis
_OVERSAMPLING = 8
_MANY_MISSING = 0.25  # share; five folds of a complete table hide fewer
RASCH_PASSES = 7  # the rates are then within about 0.02 of those of the summit


def cold_start(fit, n_dims):
    """Return the first state of a fit; where many answers are missing, by a Rasch fit.

    Parameters
    ----------
    fit : ItemFit or RespondentFit
        Its state is overwritten.
    n_dims : int
    """
    problem = fit.problem
    prior = GroupPrior.vague(problem.design.n_groups, n_dims)
    rates, n_cells = None, problem.n_answered * np.count_nonzero(problem.observed)
    if problem.data.n_observed < (1 - _MANY_MISSING) * n_cells:
        fit.state = fit.rasch_state(GroupPrior.equal_slopes(problem.design.n_groups))
        for _ in range(RASCH_PASSES):
            fit.pass_(learn_prior=False)
        if n_dims == 1:
            return replace(fit.state, prior=prior, divergence=np.inf)
        items = fit.items()
        rates = items.guessing + (1 - items.guessing) * expit(items.intercepts)
    return fit.first_state(fit.principal_components(n_dims, rates), prior)


def respondent_components(blocks, n_dims, answered, rates, problem):
    """Return abilities (n_respondents, n_dims) of unit variance in each dimension.

    They are the leading left singular vectors of the answers, standardised by item, 0
    where missing. The variance is that of the respondents with answers; the others
    start at 0.

    Parameters
    ----------
    blocks : list of DenseBlock or SparseBlock
        Answers on the device.
    n_dims : int
    answered : ndarray of shape (n_respondents,)
        Whether each respondent has answers.
    rates : ndarray of shape (n_items,) or None
        Mean score of each item; None finds it from the blocks.
    problem : Problem
    """
    n, kernels, runner = len(answered), problem.kernels, problem.runner
    if rates is None:
        rates = np.concatenate(runner.map_reduce(_block_rates, blocks, n, kernels))
    standard = [
        kernels.asarray(part, dtype=problem.dtype)
        for part in (rates, _inverse_deviations(rates))
    ]
    rng = np.random.default_rng(0)

    def gram_product(table):
        table = kernels.asarray(table, dtype=problem.dtype)
        product = runner.map_reduce(_gram_block, blocks, table, *standard, kernels)
        return kernels.to_host(product)

    if n <= _EXACT:
        vectors = np.linalg.eigh(gram_product(np.eye(n)))[1][:, ::-1]
    else:
        vectors = rng.standard_normal((n, n_dims + _OVERSAMPLING))
        vectors, _, turn = _leading_subspace(gram_product, vectors)
        vectors = vectors @ turn[:, ::-1]
    vectors = vectors[:, :n_dims]
    if vectors.shape[1] < n_dims:  # fewer respondents than dimensions
        extra = rng.standard_normal((n, n_dims - vectors.shape[1]))
        vectors = np.hstack([vectors, extra])
    return _scaled(vectors, vectors[answered].std(0))


def item_components(shards, n_dims, rates, problem):
    """Return the StartTask of the same abilities for shards of respondents.

    From the right singular vectors, which are of the size of the items.
    """
    n_items = len(rates)
    inverse = _inverse_deviations(rates)
    vectors = np.random.default_rng(0).standard_normal(
        (n_items, min(n_dims + _OVERSAMPLING, n_items))
    )

    def task(vectors):
        parts = rates, inverse, vectors
        return StartTask(*(part.astype(problem.dtype) for part in parts))

    def gram_product(vectors):
        return problem.runner.map_reduce(
            gram_of_items, shards, task(vectors), problem.kernels
        )

    vectors, values, turn = _leading_subspace(gram_product, vectors)
    vectors, values = (vectors @ turn)[:, ::-1][:, :n_dims], values[::-1][:n_dims]
    spread = np.sqrt(np.maximum(values, 0) / max(problem.n_answered, 1))
    start = np.zeros((n_items, n_dims))  # fewer items than dimensions leave zeros
    start[:, : len(values)] = _scaled(vectors, spread)
    return task(start)


def _inverse_deviations(rates):
    return 1 / np.sqrt(np.maximum(rates * (1 - rates), 0.01))


def _leading_subspace(gram_product, vectors):
    """Return a basis of the leading eigenvectors, and eigenvalues and turn in it.

    Subspace iteration from `vectors`: Halko, Martinsson & Tropp 2011, algorithm 4.4.
    """
    for _ in range(_SUBSPACE_ITERATIONS):
        vectors = np.linalg.qr(gram_product(vectors))[0]
    return vectors, *np.linalg.eigh(vectors.T @ gram_product(vectors))


def _scaled(vectors, spread):
    """Return vectors over their spread, the largest entry of each positive."""
    largest = np.abs(vectors).argmax(0)
    vectors = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.where(spread > 1e-12, vectors / np.where(spread > 0, spread, 1), 0.0)


def _block_rates(block, n_respondents, kernels):
    """Return a list of one array: the mean score of each item, 0 without answers."""
    xp = kernels.xp
    cells = cells_operator(block, kernels, n_respondents)
    seen = (cells.scores >= 0).astype(np.float64)
    one = xp.ones((n_respondents, 1))
    score = cells.sum_by_item(seen * cells.scores, one)
    rates = score / xp.maximum(cells.sum_by_item(seen, one), 1)
    return [kernels.to_host(rates[:, 0])]  # lists of blocks add up to one of all items


def _gram_block(block, table, rates, inverse, kernels):
    """Return Z' Z `table` of one block of standardised answers Z."""
    cells = cells_operator(block, kernels, len(table))
    here = slice(block.start, block.stop)
    rates, inverse = (cells.spread(part[here], kernels) for part in (rates, inverse))
    standard = kernels.space("square", cells.shape, table.dtype)
    kernels.standardised(cells.scores, rates, inverse, standard)
    return cells.sum_by_respondent(standard, cells.sum_by_item(standard, table))
