"""Item models: probabilities, derivatives, reported parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from sklearn_mirt.models.item_models import (
    FourPL,
    GeneralizedPartialCredit,
    GradedResponse,
    ThreePL,
    TwoPL,
    get_item_model,
)

CASES = [
    (TwoPL(), 2),
    (ThreePL(), 2),
    (FourPL(), 2),
    (GradedResponse(), 2),
    (GradedResponse(), 4),
    (GeneralizedPartialCredit(), 4),
]
IDS = [f"{model.name}-{k}" for model, k in CASES]


def draw(model, n_categories, seed=0, n_items=3, n_dims=2, n_nodes=7):
    rng = np.random.default_rng(seed)
    params = rng.normal(size=(n_items, n_dims + model.n_extras(n_categories)))
    nodes = rng.normal(size=(n_nodes, n_dims))
    return params, nodes, rng.random((n_items, n_categories, n_nodes))


@pytest.mark.parametrize(("model", "n_categories"), CASES, ids=IDS)
def test_probabilities_sum_to_one(model, n_categories):
    params, nodes, _ = draw(model, n_categories)
    p = np.exp(model.log_table(params, nodes))
    np.testing.assert_allclose(p.sum(1), 1.0, atol=1e-13)


@pytest.mark.parametrize(("model", "n_categories"), CASES, ids=IDS)
def test_derivatives_agree_with_finite_differences(model, n_categories):
    params, nodes, counts = draw(model, n_categories)

    def value(x):
        return (model.log_table(x, nodes) * counts).sum((1, 2))

    def gradient(x):
        return model.gradient(model.tables(x, nodes)[1], nodes, counts)

    first, second = gradient(params), model.hessian(params, nodes, counts)
    for p in range(params.shape[1]):
        step = np.zeros(params.shape[1])
        step[p] = 1e-5
        slope = (value(params + step) - value(params - step)) / 2e-5
        bend = (gradient(params + step) - gradient(params - step)) / 2e-5
        np.testing.assert_allclose(slope, first[:, p], atol=1e-7)
        np.testing.assert_allclose(bend, second[:, p], atol=1e-7)


@pytest.mark.parametrize(("model", "n_categories"), CASES, ids=IDS)
def test_expected_information_is_minus_the_expected_hessian(model, n_categories):
    params, nodes, counts = draw(model, n_categories)
    totals = counts.sum(1)
    log_p, first = model.tables(params, nodes)
    information = model.information(log_p, first, nodes, totals)
    hessian = model.hessian(params, nodes, np.exp(log_p) * totals[:, None])
    np.testing.assert_allclose(information, -hessian, atol=1e-10)


@pytest.mark.parametrize(("model", "n_categories"), CASES, ids=IDS)
def test_natural_parameters_round_trip_and_jacobian(model, n_categories):
    params, _, _ = draw(model, n_categories)
    extras = params[:, 2:]
    np.testing.assert_allclose(model.from_natural(model.natural(extras)), extras)
    jacobian = model.natural_jacobian(extras)
    for m in range(extras.shape[1]):
        step = np.zeros(extras.shape[1])
        step[m] = 1e-6
        change = (model.natural(extras + step) - model.natural(extras - step)) / 2e-6
        np.testing.assert_allclose(change, jacobian[:, :, m], atol=1e-8)


def test_closed_forms():
    nodes = np.array([[0.7]])
    two = TwoPL().log_table(np.array([[1.3, -0.4]]), nodes)[0, 1, 0]
    np.testing.assert_allclose(np.exp(two), expit(1.3 * 0.7 - 0.4))
    extras = np.log([0.2 / 0.8, 0.9 / 0.1])
    four = FourPL().log_table(np.array([[1.3, -0.4, *extras]]), nodes)[0, 1, 0]
    np.testing.assert_allclose(np.exp(four), 0.2 + 0.7 * expit(1.3 * 0.7 - 0.4))
    natural = np.array([[2.0, 0.5, -1.0]])
    graded = GradedResponse()
    params = np.concatenate([[[1.3]], graded.from_natural(natural)], axis=1)
    p = np.exp(graded.log_table(params, nodes))[0, :, 0]
    above = expit(1.3 * 0.7 + natural[0])
    np.testing.assert_allclose(p, -np.diff([1.0, *above, 0.0]))
    credit = GeneralizedPartialCredit()
    p = np.exp(credit.log_table(np.array([[1.3, 0.2, -0.5]]), nodes))[0, :, 0]
    terms = np.exp([0.0, 1.3 * 0.7 + 0.2, 2 * 1.3 * 0.7 - 0.5])
    np.testing.assert_allclose(p, terms / terms.sum())


@given(
    t=st.floats(-300, 300),
    d=st.floats(-50, 50),
    model=st.sampled_from([m for m, k in CASES if k == 2]),
)
def test_extreme_logits_stay_finite(t, d, model):
    extras = np.full((1, model.n_extras(2)), d)
    at = np.array([[t]])
    logarithms = model.log_probabilities(at, extras)
    assert np.isfinite(logarithms).all()
    np.testing.assert_allclose(np.exp(logarithms).sum(axis=1), 1)
    assert np.isfinite(model.first(at, extras)).all()
    assert np.isfinite(model.second(at, extras)).all()


def test_unknown_name_lists_the_models():
    with pytest.raises(ValueError, match="graded"):
        get_item_model("5pl")
