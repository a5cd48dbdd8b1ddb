"""Fisher's information of items and tests on ability.

An item j tells about a_j . theta alone, so its information on ability is I_j a_j a_j',
with I_j the item model's information on a_j . theta.
"""

import numpy as np

# items at a time, so that temporaries stay small
_CHUNK = 4096
_CHUNK_OUTER = 1024  # where each has n_dims^2 products


def item_information(items, abilities):
    """Return the information of each item, averaged over abilities.

    The trace of Fisher's information, I_j |a_j|^2: the squared logits per unit of
    ability that one answer is worth, summed over directions.

    Parameters
    ----------
    items : ItemParameters
    abilities : ndarray of shape (n_abilities, n_dims)

    Returns
    -------
    information : ndarray of shape (n_items,)
    """
    out = np.empty(items.n_items)
    for here, part, weight in _parts(items, abilities, _CHUNK):
        out[here] = weight.mean(0) * part.mdisc**2
    return out


def total_information(items, abilities, direction=None):
    """Return the information of all items together: of a test.

    Parameters
    ----------
    items : ItemParameters
    abilities : ndarray of shape (n_abilities, n_dims)
    direction : ndarray of shape (n_dims,), default=None
        Unit vector; then the information along it.

    Returns
    -------
    information : ndarray of shape (n_abilities, n_dims, n_dims)
        sum_j I_j a_j a_j', or with a direction u, of shape (n_abilities,),
        sum_j I_j (a_j . u)^2.

    References
    ----------
    Reckase (2009), *Multidimensional Item Response Theory*, eq. 5.13.
    """
    n, d = abilities.shape
    total = np.zeros((n, d * d))
    for _, part, weight in _parts(items, abilities, _CHUNK_OUTER):
        outer = part.slopes[:, :, None] * part.slopes[:, None, :]
        total += weight @ outer.reshape(-1, d * d)
    total = total.reshape(n, d, d)
    if direction is None:
        return total
    return np.einsum("nde,d,e->n", total, direction, direction)


def _parts(items, abilities, size):
    """Yield runs of items: their places, the items, and I_j of shape (n, size)."""
    for start in range(0, items.n_items, size):
        here = slice(start, start + size)
        part = items.take(here)
        yield here, part, part.item_model.predictor_information(part, abilities)
