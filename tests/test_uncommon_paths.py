"""Refusals and branches that the tests of their modules do not come past."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import (
    ExactModel,
    InformativeItemSelector,
    ItemParameters,
    fit_quadrature,
    rotation,
)
from sklearn_mirt.abilities import Abilities
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.selection.strategies import DiscriminationStrategy

pytestmark = pytest.mark.filterwarnings("ignore")
X = make_responses(12, 6, 1, random_state=0).responses
FRAME = pd.DataFrame(X, columns=list("abcdef"))


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"target_weights": np.zeros(6)}, "zero for every item"),
        ({"target_weights": {"overall": -1.0}}, "at least 0, and not all 0"),
        ({"target_weights": {"overall": 0.0}}, "at least 0, and not all 0"),
        ({"costs": {"a": 1.0}, "max_cost": 1}, r"no cost for item\(s\) 'b', 'c'"),
        ({"costs": np.ones(6), "max_cost": 0}, "max_cost must be positive; got 0"),
        ({"strategy": DiscriminationStrategy(by="x")}, "by must be .* got 'x'"),
        ({"strategy": DiscriminationStrategy(per="x")}, "per must be .* got 'x'"),
    ],
)
def test_settings_of_the_selector_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        InformativeItemSelector(2, n_dims=1, **settings).fit(FRAME)


def test_costs_by_name_are_costs_in_order():
    costs = dict(zip("fedcba", range(1, 7), strict=True))
    by_name, in_order = (
        InformativeItemSelector(None, n_dims=1, costs=c, max_cost=7.0).fit(FRAME)
        for c in (costs, [6, 5, 4, 3, 2, 1])
    )
    np.testing.assert_array_equal(by_name.ranking_, in_order.ranking_)
    assert sum(costs[name] for name in FRAME.columns[by_name.support_]) <= 7


def test_a_generator_of_numpy_seeds_a_choice():
    one, two = (
        InformativeItemSelector(
            3, strategy="random", n_dims=1, random_state=np.random.RandomState(5)
        )
        .fit(X)
        .ranking_
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "model, table, message",
    [
        (ExactModel("graded"), X + 0.5, "Item 0 has the score 0.5; .*whole-numbered"),
        (ExactModel("graded"), X * 0, "Item 0 has 1 observed category; .*at least two"),
        (ExactModel(q_matrix=np.full((6, 1), 2)), X, "q_matrix must hold 0"),
        (ExactModel(q_matrix=np.zeros((6, 1))), X, "all-zero row for items 0, 1"),
        (
            ExactModel(n_dims=2, q_matrix=np.tile([1, 0], (6, 1))),
            X,
            r"q_matrix gives dimension\(s\) .*2.* no item",
        ),
        (ExactModel(n_dims=2), X[:, :1], "n_dims=2 dimensions needs at least as many"),
    ],
)
def test_exact_models_that_cannot_be(model, table, message):
    with pytest.raises(ValueError, match=message):
        fit_quadrature(table, model=model)


def test_many_covariances_are_turned_block_by_block(monkeypatch):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(7, 3, 3))
    items = ItemParameters(
        rng.normal(size=(7, 2)),
        rng.normal(size=7),
        np.zeros(7),
        roots @ roots.transpose(0, 2, 1),
        np.arange(7),
    )
    people = Abilities(
        rng.normal(size=(7, 2)), np.tile(np.eye(2), (7, 1, 1)), np.eye(2), np.arange(7)
    )
    M = np.array([[1.0, 0.4], [0.0, 1.2]])
    whole = rotation.apply_rotation(items, people, M)
    monkeypatch.setattr(rotation, "_BLOCK", 2)
    parts = rotation.apply_rotation(items, people, M)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one.covariances, other.covariances)


def test_errors_of_discrimination_and_difficulty_by_hand():
    table = make_responses(300, 5, 1, random_state=0).responses
    fit = fit_quadrature(table, model=ExactModel())
    a, d = fit.slopes[:, 0], fit.intercepts
    np.testing.assert_allclose(fit.mdisc, np.abs(a))
    np.testing.assert_allclose(fit.mdiff, -d / np.abs(a))
    np.testing.assert_array_equal(fit.ceiling, 1)
    errors = fit.derived_standard_errors()
    covariances = np.array(fit.item_covariances())
    np.testing.assert_allclose(errors["mdisc"], np.sqrt(covariances[:, 0, 0]))
    change = np.column_stack([d / a**2, -1 / a])
    variance = np.einsum("jp,jpq,jq->j", change, covariances, change)
    np.testing.assert_allclose(errors["mdiff"], np.sqrt(variance))
