"""What the report says of single items: information, backwards, saturated."""

import numpy as np

_MOST_RESPONDENTS = 100
_CHUNK = 4096
SATURATED = 0.05
BEYOND = 1.96  # standard errors


def item_information(estimator):
    """Return the information of each item, averaged over the respondents.

    The trace of Fisher's information on ability, |a|^2 (P - g)^2 (1 - P) / ((1 - g)^2
    P), the squared logits per ability unit that one answer is worth (Reckase 2009, eq.
    5.13, summed over directions), at up to 100 respondents evenly along the first
    dimension.

    Parameters
    ----------
    estimator : fitted estimator

    Returns
    -------
    information : ndarray of shape (n_items,)
    """
    items, theta = estimator.item_parameters_, estimator.abilities_
    order = np.argsort(theta[:, 0], kind="stable")
    step = max(1, -(-len(order) // _MOST_RESPONDENTS))
    theta = theta[order[::step]]
    out = np.empty(items.n_items)
    for start in range(0, items.n_items, _CHUNK):
        part = items.take(slice(start, start + _CHUNK))
        p = part.probability(theta)
        g = part.guessing
        weight = (p - g) ** 2 * (1 - p) / ((1 - g) ** 2 * np.maximum(p, 1e-12))
        out[start : start + _CHUNK] = weight.mean(0) * part.mdisc**2
    return out


def is_backwards(items, dims):
    """Return which items the more able get wrong, beyond error.

    The slope on the item's leading dimension is negative by more than 1.96 standard
    errors.
    """
    slopes = items[[f"slope_{d}" for d in dims]].to_numpy(dtype=float)
    errors = items[[f"se_slope_{d}" for d in dims]].to_numpy(dtype=float)
    leading = np.abs(slopes).argmax(1)
    row = np.arange(len(slopes))
    return slopes[row, leading] < -BEYOND * errors[row, leading]


def is_saturated_item(items):
    """Return which items nearly all respondents get right, or wrong."""
    mean = items["mean_score"].to_numpy(dtype=float)
    return (mean <= SATURATED) | (mean >= 1 - SATURATED)
