"""Expected scores, averaged over the uncertainty of abilities and items.

The logit a . theta + d of a cell has the mean and variance of the two posteriors; the
item model averages its score over them.
"""

from dataclasses import replace

import numpy as np

from sklearn_mirt.models import packing

_CHUNK = 2**20  # cells in flight


def expected_scores(items, abilities):
    """Return expected scores of every cell, shape (n_respondents, n_items).

    Parameters
    ----------
    items : ItemParameters
    abilities : Abilities

    Returns
    -------
    scores : ndarray of shape (n_respondents, n_items), in [0, 1]
    """
    ability1, ability2 = _ability_moments(abilities)
    item1, item2 = _item_moments(items)
    out = np.empty((len(ability1), len(item1)))
    step = max(1, _CHUNK // max(len(ability1), 1))
    for start in range(0, len(item1), step):
        here = slice(start, start + step)
        out[:, here] = _average(
            items.take(here), ability1 @ item1[here].T, ability2 @ item2[here].T
        )
    return out


def expected_cells(items, abilities, respondent, item):
    """Return expected scores of the cells (respondent[k], item[k]).

    Parameters
    ----------
    items : ItemParameters
    abilities : Abilities
    respondent, item : integer ndarrays of shape (n_cells,)

    Returns
    -------
    scores : ndarray of shape (n_cells,)
    """
    ability1, ability2 = _ability_moments(abilities)
    item1, item2 = _item_moments(items)
    # taken once per cell below, which needs no covariances
    items = replace(items, covariances=items.covariances[:, :0, :0])
    out = np.empty(len(item))
    for start in range(0, len(out), _CHUNK // 8):
        i = respondent[start : start + _CHUNK // 8]
        j = item[start : start + _CHUNK // 8]
        out[start : start + len(i)] = _average(
            items.take(j),
            np.einsum("cp,cp->c", ability1[i], item1[j]),
            np.einsum("cp,cp->c", ability2[i], item2[j]),
        )
    return out


def log_losses(scores, probabilities, smallest):
    """Return the negative log-likelihood of each cell, in nats.

    Parameters
    ----------
    scores : ndarray of shape (n_cells,)
        In [0, 1]; a mean of repeats counts as its share of right answers.
    probabilities : ndarray of shape (n_cells,)
        Of a right answer.
    smallest : float
        Probabilities are clipped to [smallest, 1 - smallest].

    Returns
    -------
    losses : ndarray of shape (n_cells,), float64
    """
    p = np.clip(probabilities, smallest, 1 - smallest).astype(np.float64)
    return -(scores * np.log(p) + (1 - scores) * np.log1p(-p))


def _average(items, mean, second):
    variance = np.maximum(second - mean**2, 0.0)
    return items.item_model.expected_score(items, mean, variance)


def _ability_moments(abilities):
    return packing.moments_with_one(abilities.mean, packing.pack(abilities.covariances))


def _item_moments(items):
    mean = items.mean
    second = packing.second_moments(mean, items.covariances)
    return mean, second * packing.multiplicity(mean.shape[1])
