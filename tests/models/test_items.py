"""ItemParameters by hand."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_mirt import ItemParameters
from sklearn_mirt.models.items import item_coordinates


@pytest.fixture
def items():
    return ItemParameters(
        np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]),
        np.array([10.0, 1.0, 0.5]),
        np.array([0.25, 0.0, 0.0]),
        np.arange(27.0).reshape(3, 3, 3),
        np.array(["a", "b", "c"], dtype=object),
    )


def test_sizes(items):
    assert (items.n_items, items.n_dims) == (3, 2)


def test_parameters_of_an_item_in_one_row(items):
    assert_array_equal(items.mean, [[3, 4, 10], [0, 0, 1], [-1, 0, 0.5]])


def test_discrimination_is_the_length_of_the_slopes(items):
    assert_array_equal(items.mdisc, [5, 0, 1])


def test_difficulty_is_where_the_logit_is_zero_along_the_slopes(items):
    assert_array_equal(items.mdiff, [-2, np.nan, -0.5])


def test_logits_and_probabilities(items):
    theta = [[1.0, -1.0], [0.0, 0.5]]
    eta = [[9, 1, -0.5], [12, 1, 0.5]]
    assert_array_equal(items.logit(theta), eta)
    p = 1 / (1 + np.exp(-np.array(eta)))
    p[:, 0] = 0.25 + 0.75 * p[:, 0]
    assert_allclose(items.probability(theta), p, rtol=1e-15)


def test_items_do_not_change_and_are_equal_to_themselves_alone(items):
    with pytest.raises(dataclasses.FrozenInstanceError):
        items.slopes = np.zeros((3, 2))
    assert items == items
    assert items != dataclasses.replace(items)


def test_some_items(items):
    for index in ([2, 0], np.array([2, 0])):
        part = items.take(index)
        assert part.ids.tolist() == ["c", "a"]
        assert_array_equal(part.slopes, [[-1, 0], [3, 4]])
        assert_array_equal(part.intercepts, [0.5, 10])
        assert_array_equal(part.guessing, [0, 0.25])
        assert_array_equal(part.covariances, items.covariances[[2, 0]])
    assert items.take(np.array([True, False, True])).ids.tolist() == ["a", "c"]


def test_an_item_with_neither_slope_nor_intercept_has_no_difficulty(items):
    flat = dataclasses.replace(items, intercepts=np.zeros(3))
    with np.errstate(all="raise"):
        assert_array_equal(flat.mdiff, [0, np.nan, 0])


def test_some_items_keep_their_further_parameters(items):
    ceilings = {"ceiling": np.array([0.9, 1.0, 0.8])}
    four = dataclasses.replace(items, model="4pl", extras=ceilings)
    assert_array_equal(four.take([2, 0]).extras["ceiling"], [0.8, 0.9])


@pytest.mark.parametrize("center", [None, np.array([0.5, -2.0])])
def test_a_change_of_coordinates_keeps_every_logit(items, center):
    M = np.array([[1.0, 2.0], [0.5, -1.0]])
    old = np.array([[1.0, -1.0], [0.0, 0.5]])
    mean = items.mean @ item_coordinates(M, center).T
    changed = dataclasses.replace(items, slopes=mean[:, :-1], intercepts=mean[:, -1])
    new = np.linalg.solve(M, (old - (0 if center is None else center)).T).T
    assert_allclose(changed.logit(new), items.logit(old))
