"""Exact models and tables that are refused."""

import numpy as np
import pytest

from sklearn_mirt import ExactModel, fit_quadrature
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.solvers.quadrature.respondent_scores import score_respondents

pytestmark = pytest.mark.filterwarnings("ignore")


X = make_responses(12, 6, 1, random_state=0).responses


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


@pytest.mark.parametrize(
    "model, message",
    [
        (ExactModel(["2pl"] * 5), "names 5 models for 6 items"),
        (ExactModel(guessing=1.0), r"guessing must lie in \[0, 1\), got 1"),
        (ExactModel("graded", guessing=0.2), "Item 0 .* cannot have guessing"),
        (ExactModel("rasch", guessing=0.2), "Item 0 .* guessing floor"),
        (ExactModel("rasch", n_dims=2), "more than one dimension needs a q_matrix"),
    ],
)
def test_more_exact_models_that_cannot_be(model, message):
    with pytest.raises(ValueError, match=message):
        fit_quadrature(X, model=model)


def test_what_is_no_table_and_what_is_not_known_is_refused():
    with pytest.raises(ValueError, match=r"must be a table.* got 1 dimension"):
        fit_quadrature(X[0])
    fit = fit_quadrature(X)
    with pytest.raises(ValueError, match="method='best' is not one of"):
        score_respondents(fit, X, method="best")
    with pytest.raises(ValueError, match="must have 6 columns"):
        score_respondents(fit, X[:, :5])
