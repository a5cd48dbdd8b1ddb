"""Expected scores ask the item model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.prediction import expected_cells, expected_scores

N, J = 5, 6


def items_of(model="2pl", guessing=0.0, spread=0.0, **extras):
    rng = np.random.default_rng(0)
    return ItemParameters(
        rng.normal(size=(J, 2)),
        rng.normal(size=J),
        np.full(J, guessing),
        spread * np.tile(np.eye(3), (J, 1, 1)),
        np.arange(J),
        model,
        extras,
    )


def abilities_of(spread=0.0):
    rng = np.random.default_rng(1)
    covariances = spread * np.tile(np.eye(2), (N, 1, 1))
    return Abilities(rng.normal(size=(N, 2)), covariances, np.eye(2), np.arange(N))


THRESHOLDS = np.array([[-1.0, -2.5]] * J)
CEILING = np.linspace(0.8, 1.0, J)


def graded_scores(items, theta):
    eta = items.logit(theta)
    steps = [eta, *(eta + (t - items.intercepts) for t in items.extras["thresholds"].T)]
    return expit(steps).mean(0)


def test_known_parameters_give_the_probability():
    items, abilities = items_of(guessing=0.2), abilities_of()
    expected = 0.2 + 0.8 * expit(items.logit(abilities.mean))
    assert_allclose(expected_scores(items, abilities), expected)
    assert_allclose(items.probability(abilities.mean), expected)


def test_a_ceiling_is_respected():
    items, abilities = items_of("4pl", guessing=0.1, ceiling=CEILING), abilities_of()
    expected = 0.1 + (CEILING - 0.1) * expit(items.logit(abilities.mean))
    assert_allclose(expected_scores(items, abilities), expected)


def test_a_graded_score_is_the_mean_of_its_steps():
    items = items_of("graded")
    thresholds = items.intercepts[:, None] + THRESHOLDS
    items = items_of("graded", thresholds=thresholds)
    found = expected_scores(items, abilities_of())
    assert_allclose(found, graded_scores(items, abilities_of().mean), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["2pl", "graded"])
def test_scores_are_averaged_over_abilities(model):
    items = items_of(model)
    if model == "graded":
        thresholds = items.intercepts[:, None] + THRESHOLDS
        items = items_of(model, thresholds=thresholds)
    abilities = abilities_of(spread=0.25)
    draws = np.random.default_rng(2).standard_normal((40_000, 1, 2))
    theta = (abilities.mean + 0.5 * draws).reshape(-1, 2)
    mean = items.probability(theta).reshape(-1, N, J).mean(0)
    assert_allclose(expected_scores(items, abilities), mean, atol=0.01)


@pytest.mark.parametrize("model", ["2pl", "4pl", "graded"])
def test_cells_are_entries_of_the_table(model):
    extras = {"4pl": {"ceiling": CEILING}}.get(model, {})
    if model == "graded":
        extras = {"thresholds": items_of().intercepts[:, None] + THRESHOLDS}
    items = items_of(model, spread=0.1, **extras)
    i, j = np.array([0, 4, 2, 2]), np.array([5, 0, 3, 3])
    table = expected_scores(items, abilities_of(0.2))
    assert_allclose(expected_cells(items, abilities_of(0.2), i, j), table[i, j])
    assert np.all((table > 0) & (table < 1))
