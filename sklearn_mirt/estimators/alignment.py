"""Brings several fits to the axes of one of them."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_mirt.models.abilities import dimension_names
from sklearn_mirt.models.rotation.apply import alignment_matrix, congruence


def align_fits(reference, *others, method="orthogonal"):
    """Turn fits onto a reference, so that dimension k is the same in all.

    Parameters
    ----------
    reference : fitted MIRTTransformer or MIRTClassifier
    *others : fitted estimators
        With as many dimensions as the reference and items in common with it, which are
        joined by id.
    method : {"orthogonal", "oblique", "permutation"}, default="orthogonal"
        As in :func:`sklearn_mirt.models.rotation.apply.align`.

    Returns
    -------
    aligned : list of estimators
        Copies of the others; their probabilities are as they were.
    congruence : DataFrame of shape (n_others, n_dims)
        Tucker's coefficient of the slopes on the common items; above 0.95 two
        dimensions are usually read as the same (Lorenzo-Seva & ten Berge 2006).

    Raises
    ------
    ValueError
        The fits have different numbers of dimensions, or no item in common.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_mirt import MIRTTransformer
    >>> from sklearn_mirt import align_fits
    >>> from sklearn_mirt.datasets import make_responses
    >>> X = make_responses(40, 200, random_state=0).responses
    >>> fit = MIRTTransformer(2).fit(X)
    >>> aligned, congruence = align_fits(fit, fit.rotate("varimax"))
    >>> bool(np.allclose(aligned[0].slopes_, fit.slopes_))
    True
    """
    import pandas as pd

    check_is_fitted(reference, "slopes_")
    items, abilities = reference.item_parameters_, reference.ability_posteriors_
    aligned, rows = [], []
    for other in others:
        check_is_fitted(other, "slopes_")
        M = alignment_matrix(
            other.item_parameters_,
            other.ability_posteriors_,
            items,
            abilities,
            method=method,
        )
        moved = other._moved(M)
        aligned.append(moved)
        rows.append(_common_congruence(moved.item_parameters_, items))
    names = dimension_names(items.n_dims)
    return aligned, pd.DataFrame(np.reshape(rows, (-1, items.n_dims)), columns=names)


def _common_congruence(items, reference):
    place = {item: j for j, item in enumerate(reference.ids)}
    rows = [j for j, item in enumerate(items.ids) if item in place]
    theirs = [place[item] for item in items.ids[rows]]
    return congruence(items.slopes[rows], reference.slopes[theirs])
