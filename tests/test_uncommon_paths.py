"""Refusals and branches that the tests of their modules do not come past."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import (
    ExactModel,
    InformativeItemSelector,
    MIRTTransformer,
    ResponseData,
    fit_quadrature,
)
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models.item_design import ItemDesign
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.selection.strategies import DiscriminationStrategy
from sklearn_mirt.solvers.bifactor.fit import fit_bifactor
from sklearn_mirt.solvers.quadrature.ability_distribution import LatentNormal
from sklearn_mirt.solvers.quadrature.fit import ExactSettings
from sklearn_mirt.solvers.quadrature.respondent_scores import score_respondents
from sklearn_mirt.solvers.quadrature.start import choose_anchors
from sklearn_mirt.solvers.variational.acceleration import Extrapolation
from sklearn_mirt.solvers.variational.solver import VariationalSolver

pytestmark = pytest.mark.filterwarnings("ignore")
X = make_responses(12, 6, 1, random_state=0).responses
FRAME = pd.DataFrame(X, columns=list("abcdef"))


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"target_weights": np.zeros(6)}, "zero for every item"),
        ({"target_weights": {"overall": -1.0}}, "at least 0, and not all 0"),
        ({"target_weights": {"overall": 0.0}}, "at least 0, and not all 0"),
        ({"costs": {"a": 1.0}, "max_cost": 1}, "no value for item 'b'"),
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


def test_another_start_in_one_dimension_is_no_worse():
    table = make_responses(200, 6, 1, random_state=1).responses
    one, three = (
        fit_quadrature(table, settings=ExactSettings(n_starts=n)) for n in (1, 3)
    )
    assert three.log_likelihood >= one.log_likelihood - 1e-6


def test_a_second_exact_fit_starts_where_the_first_ended():
    table = make_responses(300, 8, 2, random_state=0).responses
    mirt = MIRTTransformer(2, solver="quadrature", warm_start=True).fit(table)
    first, passes = mirt.expected_scores(table), mirt.n_iter_
    mirt.fit(table)
    np.testing.assert_allclose(mirt.expected_scores(table), first, atol=1e-3)
    assert mirt.n_iter_ <= passes


def test_items_without_slope_cannot_hold_the_axes():
    slopes = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_array_equal(choose_anchors(slopes), [5, 4])
    slopes[4:] = 0
    chosen = choose_anchors(slopes)
    assert len(set(chosen)) == 2 and max(chosen) < 4
    assert abs(np.linalg.det(slopes[chosen][:, :2])) > 0 or slopes[chosen].any(1).all()


def test_latent_parameters_are_named_and_valued_alike():
    z = np.log([2.0, 3.0])
    free = LatentNormal(2, free_variances=True)
    assert free.names == ["variance1", "variance2"]
    np.testing.assert_allclose(free.natural(z), [4.0, 9.0])
    tied = LatentNormal(2, free_correlations=True)
    assert tied.names == ["correlation12"]
    np.testing.assert_allclose(tied.natural(np.arctanh([0.5])), [0.5])


@dataclass(frozen=True)
class _State:
    mean: np.ndarray
    prior: GroupPrior
    jumped: bool = False
    divergence: float = 0.0


def _state(value, variance=1.0):
    prior = GroupPrior(np.zeros((1, 2)), variance * np.eye(2)[None])
    return _State(np.full((3, 1), value), prior)


def test_no_jump_where_steps_turn_round_or_the_prior_would_be_none():
    turning = [_state(v) for v in (0.0, 1.0, 0.1)]
    falling = [_state(0.0, v) for v in (1.0, 0.6, 0.25)]
    for states in (turning, falling):
        jumps = Extrapolation()
        assert [jumps.propose(state) for state in states] == states
        assert jumps.landing is None
    shrinking = [_state(v) for v in (0.0, 1.0, 1.5)]
    jumps = Extrapolation()
    jumped = [jumps.propose(state) for state in shrinking][-1]
    assert jumped.jumped and jumps.landing is shrinking[-1]
    np.testing.assert_allclose(jumped.mean, 2.0)  # where halving steps end


def test_a_fit_that_ends_on_a_jump_goes_back_to_firm_ground():
    table = make_responses(400, 300, 2, random_state=0).responses
    bounds = [
        MIRTTransformer(2, max_iter=n, tol=0.0).fit(table).lower_bounds_
        for n in range(6, 12)
    ]
    for trace in bounds:
        assert (np.diff(trace) >= -1e-9 * np.abs(trace[-1])).all()
    assert all(a[-1] <= b[-1] + 1e-9 for a, b in pairwise(bounds))


def test_more_dimensions_than_respondents_have_a_start():
    data = ResponseData.from_wide(make_responses(2, 30, 1, random_state=0).responses)
    design = ItemDesign(np.zeros(30, int), np.array(["all"]), np.zeros(30))
    mean = VariationalSolver().solve(data, 3, design).abilities.mean
    assert mean.shape == (2, 3) and np.isfinite(mean).all()


def test_one_step_of_scoring_goes_most_of_the_way():
    answers = make_responses(60, 40, 1, random_state=0).responses
    model = fit_bifactor(answers, np.arange(40) % 2, n_dims=1)
    one, many = (model.fold_in(answers, max_iter=n)[0] for n in (1, 50))
    assert 0 < np.abs(one - many).max() < np.abs(many).max()
