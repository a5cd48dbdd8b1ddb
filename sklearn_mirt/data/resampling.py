"""Other data from the same answers: some of the cells, or cells dealt out anew."""

import numpy as np

from sklearn_mirt.data.cells import store
from sklearn_mirt.data.responses import ResponseData


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


def resampled(data, *, respondents=None, items=None):
    """Return the data of some respondents and items, which may repeat.

    Parameters
    ----------
    data : ResponseData
    respondents, items : ndarray of int, default=None
        All when None. Each repetition counts as another respondent or item; where an
        index is given, ids are positions in it.

    Returns
    -------
    data : ResponseData
    """
    cells, rows, columns = data._cells, data.respondents, data.items
    if items is not None:
        cells, columns = cells.take_items(items), np.arange(len(items)).astype(object)
    if respondents is not None:
        rows = np.arange(len(respondents)).astype(object)
        if data.is_sparse:
            cells = _repeated_respondents(cells, respondents, len(columns))
        else:
            cells = cells.take_respondents(respondents)
    return ResponseData(cells, rows, columns)


def _repeated_respondents(cells, index, n_items):
    """Sparse cells of respondents who may repeat."""
    item, respondent, scores, weights = cells.cells()
    order = np.argsort(respondent, kind="stable")
    counts = np.bincount(respondent, minlength=cells.n_respondents)
    starts = np.cumsum(counts) - counts
    sizes = counts[index]
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    taken = order[np.repeat(starts[index], sizes) + place]
    row = np.repeat(np.arange(len(index)), sizes)
    by_item = np.argsort(item[taken], kind="stable")
    taken, row = taken[by_item], row[by_item]
    weights = None if weights is None else weights[taken]
    return store(row, item[taken], scores[taken], weights, (len(index), n_items))


def _stored(data, item, respondent, scores, weights):
    shape = (data.n_respondents, data.n_items)
    cells = store(respondent, item, scores, weights, shape)
    return ResponseData(cells, data.respondents, data.items)
