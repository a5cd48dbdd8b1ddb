"""Fisher's information of items and tests."""

import numpy as np
import pytest

from sklearn_mirt.models.information import item_information, total_information
from sklearn_mirt.models.items import ItemParameters

RNG = np.random.default_rng(3)
THETA = RNG.normal(size=(6, 2))


def items_of(model="2pl", n_items=5, guessing=0.0, **extras):
    rng = np.random.default_rng(0)
    return ItemParameters(
        rng.normal(size=(n_items, 2)),
        rng.normal(size=n_items),
        np.full(n_items, guessing),
        np.zeros((n_items, 3, 3)),
        np.arange(n_items),
        model,
        extras,
    )


def curvature(items, theta, step=1e-4):
    """Return -E[second derivative of log P] on a . theta, by differences."""
    # a single dimension along the item: t + h is a . theta + h
    moved = [items.logit(theta) + h for h in (-step, 0.0, step)]
    p = [items.item_model.expected_score(items, logit) for logit in moved]
    log_p, log_q = np.log(p), np.log1p(-np.array(p))
    second = [(x[0] - 2 * x[1] + x[2]) / step**2 for x in (log_p, log_q)]
    return -(p[1] * second[0] + (1 - p[1]) * second[1])


def test_information_of_a_test_is_minus_the_expected_curvature():
    items = items_of()
    p = items.probability(THETA)
    expected = np.einsum("nj,jp,jq->npq", p * (1 - p), items.slopes, items.slopes)
    np.testing.assert_allclose(total_information(items, THETA), expected)


@pytest.mark.parametrize(
    ("model", "guessing", "extras"),
    [("2pl", 0.0, {}), ("2pl", 0.2, {}), ("4pl", 0.2, {"ceiling": np.full(5, 0.9)})],
)
def test_information_asks_the_item_model(model, guessing, extras):
    items = items_of(model, guessing=guessing, **extras)
    weight = items.item_model.predictor_information(items, THETA)
    np.testing.assert_allclose(weight, curvature(items, THETA), atol=1e-6)


def test_graded_items_of_two_categories_inform_as_logistic_ones():
    two = items_of()
    graded = items_of("graded", thresholds=np.empty((5, 0)))
    np.testing.assert_allclose(
        total_information(graded, THETA), total_information(two, THETA)
    )


def test_information_along_a_direction():
    items, direction = items_of(), np.array([0.6, 0.8])
    full = total_information(items, THETA)
    np.testing.assert_allclose(
        total_information(items, THETA, direction), full @ direction @ direction
    )


def test_item_information_is_the_trace_averaged_over_abilities():
    items = items_of()
    parts = [total_information(items.take([j]), THETA) for j in range(items.n_items)]
    expected = [np.trace(part, axis1=1, axis2=2).mean() for part in parts]
    np.testing.assert_allclose(item_information(items, THETA), expected)
