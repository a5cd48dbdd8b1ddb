"""Other data from the same answers: some of the cells, or cells dealt out anew."""

import numpy as np

from sklearn_mirt.cells import store
from sklearn_mirt.data import ResponseData


def permuted_within_items(data, rng):
    """Return the data with the answers to each item dealt out anew among those it has.

    Margins of items and the pattern of missing cells stay; respondents become alike.

    Parameters
    ----------
    data : ResponseData
    rng : numpy.random.Generator

    Returns
    -------
    data : ResponseData
    """
    item, respondent, scores, weights = data.cells()
    # cells come item after item: sorting random numbers within items deals anew
    order = np.lexsort((rng.random(len(item)), item))
    weights = None if weights is None else weights[order]
    return _stored(data, item, respondent, scores[order], weights)


def with_cells(data, keep):
    """Return the data with the cells of a mask only, in the order of `data.cells()`."""
    item, respondent, scores, weights = data.cells()
    weights = None if weights is None else weights[keep]
    return _stored(data, item[keep], respondent[keep], scores[keep], weights)


def _stored(data, item, respondent, scores, weights):
    shape = (data.n_respondents, data.n_items)
    cells = store(respondent, item, scores, weights, shape)
    return ResponseData(cells, data.respondents, data.items)
