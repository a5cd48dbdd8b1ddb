"""What the user says of items, joined to them by id: groups and guessing floors."""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sklearn_mirt.data.checks import is_missing, object_array


@dataclass(frozen=True, eq=False)
class ItemDesign:
    """What is fixed about the items before a fit.

    Parameters
    ----------
    groups : ndarray of shape (n_items,)
        Item group of each item, an integer from 0.
    group_labels : ndarray of shape (n_groups,)
        Names of the groups.
    guessing : ndarray of shape (n_items,)
        Known guessing floor, 0 where there is none.
    positive_slopes : bool
        Whether slopes are kept at or above zero.
    """

    groups: np.ndarray
    group_labels: np.ndarray
    guessing: np.ndarray
    positive_slopes: bool = False

    @property
    def n_groups(self):
        """Return the number of item groups."""
        return len(self.group_labels)

    def take(self, index):
        """Return the design of the items at an index or mask."""
        return replace(self, groups=self.groups[index], guessing=self.guessing[index])


def make_design(items, item_groups, guessing, positive_slopes):
    """Return the ItemDesign of the items.

    Parameters
    ----------
    items : ndarray of shape (n_items,)
        Item ids.
    item_groups : mapping, Series or array-like, or None
        Group of each item, by id or in the order of `items`; None for one group.
    guessing : float, mapping, Series or array-like, or None
        Floor of the probability of a right answer: one for all, by item id, by group,
        or in the order of `items`.
    positive_slopes : bool

    Returns
    -------
    design : ItemDesign

    Raises
    ------
    ValueError
        An item without group or floor, a wrong length, a floor outside [0, 1).
    """
    labels = group_labels(items, item_groups)
    unique, groups = sorted_codes(labels)
    return ItemDesign(
        groups, unique, _guessing(items, labels, guessing), positive_slopes
    )


def group_labels(ids, groups, noun="item"):
    """Return the group label of each item; "all" where no groups are given.

    `noun` names in messages what else the ids may be of, such as "respondent".
    """
    if groups is None:
        return object_array(["all"] * len(ids))
    labels = values_by_item(ids, groups, f"{noun}_groups", noun)
    for name, label in zip(ids, labels, strict=True):
        if is_missing(label) or label != label:
            raise ValueError(f"{noun}_groups has no group for {noun} {name!r}")
    return labels


def known_labels(items, item_groups):
    """Return the group of each item, None where `item_groups` does not tell by id.

    For items outside the fit: a group that is given in item order says nothing of them.
    """
    if not hasattr(item_groups, "keys"):
        return [None] * len(items)
    groups = dict(item_groups)  # once: a look-up in a Series is slow
    labels = [groups.get(item) for item in items]
    return [None if is_missing(v) or v != v else v for v in labels]


def known_floors(items, labels, guessing):
    """Return the floor of each item outside the fit, 0 where nothing tells it."""
    if guessing is None or isinstance(guessing, numbers.Real):
        return np.full(len(items), float(guessing or 0.0))
    if not hasattr(guessing, "keys"):
        return np.zeros(len(items))
    floors: dict = dict(guessing)
    return np.array(
        [
            float(floors.get(item, floors.get(label, 0.0)))
            for item, label in zip(items, labels, strict=True)
        ]
    )


def values_by_item(ids, values, parameter, noun="item"):
    """Return one value per item, from a mapping by id or an array in item order."""
    if hasattr(values, "to_dict"):  # Series
        if not values.index.is_unique:
            repeated = values.index[values.index.duplicated()][0]
            raise ValueError(
                f"{parameter} has more than one value for {noun} {repeated!r}"
            )
        values = values.to_dict()
    if isinstance(values, Mapping):
        for name in ids:
            if name not in values:
                raise ValueError(
                    f"{parameter} has no value for {noun} {name!r}; it has "
                    f"{len(values)} values, give one for every {noun}"
                )
        return object_array([values[name] for name in ids])
    if isinstance(values, str) or np.ndim(values) != 1:
        raise ValueError(
            f"{parameter} must be a mapping from {noun} id, a Series, or one value per "
            f"{noun}, got {type(values).__name__}"
        )
    if len(values) != len(ids):
        raise ValueError(
            f"{parameter} has {len(values)} values for {len(ids)} {noun}s; a mapping "
            f"from {noun} id fits any subset of {noun}s"
        )
    return object_array(list(values))


def _guessing(items, labels, guessing):
    if guessing is None:
        return np.zeros(len(items))
    if isinstance(guessing, numbers.Real):
        floors = np.full(len(items), float(guessing))
    else:
        by_name = dict(guessing) if hasattr(guessing, "keys") else {}
        if by_name and all(label in by_name for label in set(labels)):
            guessing = by_name
            floors = np.array([guessing[label] for label in labels], dtype=float)
        else:
            floors = values_by_item(items, guessing, "guessing").astype(float)
    bad = ~((floors >= 0) & (floors < 1))
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"The guessing floor of item {items[k]!r} is {floors[k]:g}; it must be at "
            "least 0 and under 1"
        )
    return floors


def sorted_codes(labels):
    """Return the distinct labels, sorted, and the code of each label."""
    unique = list(dict.fromkeys(labels))
    try:
        unique.sort()
    except TypeError:  # labels of several types
        unique.sort(key=lambda label: (str(type(label)), str(label)))
    code = {label: k for k, label in enumerate(unique)}
    return object_array(unique), np.array(
        [code[label] for label in labels], dtype=np.int64
    )
