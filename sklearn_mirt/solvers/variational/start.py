"""Starting abilities: leading principal components of the standardised answers.

Missing answers count as those of the average respondent. In an adaptive test the mean
score of an item is that of strong or of weak respondents, and answers standardised by
it hide ability. Where more than a quarter of the answers is missing, a fit therefore
begins with a few passes with one ability and equal slopes (a Rasch model): a fit of one
dimension goes on from there, others take its rates of the average respondent.
"""

import numpy as np

from sklearn_mirt.solvers.kernels.item_blocks import cells_operator

_EXACT = 500  # respondents up to which the Gram matrix is decomposed in full
SUBSPACE_ITERATIONS = 4  # of a start, not of an analysis
OVERSAMPLING = 8
MANY_MISSING = 0.25  # share; five folds of a complete table hide fewer
RASCH_PASSES = 7  # the rates are then within about 0.02 of those of the summit


def spectral_start(blocks, n_dims, answered, kernels, runner, dtype, rate=None):
    """Return abilities (n_respondents, n_dims) of unit variance in each dimension.

    They are the leading left singular vectors of the answers, standardised by item, 0
    where missing. With many respondents by subspace iteration (Halko, Martinsson &
    Tropp 2011, algorithm 4.4), whose start is seeded. The variance is that of the
    respondents with answers, the boolean array `answered`; the others start at 0. The
    blocks of answers are on the device; `dtype` is that of the products; `rate`, the
    mean score of each item, is found from the blocks where it is not given.
    """
    n = len(answered)
    if rate is None:
        parts = runner.map(_rate_block, blocks, n, kernels)
        rate = np.concatenate(list(parts))
    inverse = 1 / np.sqrt(np.maximum(rate * (1 - rate), 0.01))
    standard = [kernels.asarray(part, dtype=dtype) for part in (rate, inverse)]
    rng = np.random.default_rng(0)

    def gram_product(table):
        table = kernels.asarray(table, dtype=dtype)
        product = runner.map_reduce(_gram_block, blocks, table, *standard, kernels)
        return kernels.to_host(product)

    if n <= _EXACT:
        vectors = np.linalg.eigh(gram_product(np.eye(n)))[1][:, ::-1]
    else:
        vectors = rng.standard_normal((n, n_dims + OVERSAMPLING))
        for _ in range(SUBSPACE_ITERATIONS):
            vectors = np.linalg.qr(gram_product(vectors))[0]
        product = gram_product(vectors)
        order = np.linalg.eigh(vectors.T @ product)[1][:, ::-1]
        vectors = vectors @ order
    vectors = vectors[:, :n_dims]
    if vectors.shape[1] < n_dims:  # fewer respondents than dimensions
        extra = rng.standard_normal((n, n_dims - vectors.shape[1]))
        vectors = np.hstack([vectors, extra])
    largest = np.abs(vectors).argmax(0)
    vectors = vectors * np.sign(vectors[largest, np.arange(n_dims)])
    spread = vectors[answered].std(0)
    return np.where(spread > 1e-12, vectors / np.where(spread > 0, spread, 1), 0.0)


def _rate_block(block, n_respondents, kernels):
    """Return the mean score of each item of a block, 0 without answers."""
    xp = kernels.xp
    cells = cells_operator(block, kernels, n_respondents)
    seen = (cells.scores >= 0).astype(np.float64)
    one = xp.ones((n_respondents, 1))
    score = cells.sum_by_item(seen * cells.scores, one)
    rate = score / xp.maximum(cells.sum_by_item(seen, one), 1)
    return kernels.to_host(rate[:, 0])


def _gram_block(block, table, rate, inverse, kernels):
    """Return Z' Z `table` of one block of standardised answers Z."""
    cells = cells_operator(block, kernels, len(table))
    here = slice(block.start, block.stop)
    rate, inverse = (cells.spread(part[here], kernels) for part in (rate, inverse))
    standard = kernels.space("square", cells.shape, table.dtype)
    kernels.standardised(cells.scores, rate, inverse, standard)
    return cells.sum_by_respondent(standard, cells.sum_by_item(standard, table))
