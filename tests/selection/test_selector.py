"""Strategies, constraints and properties of the item selector."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_mirt import RawMeanScorer, ResponseData
from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.selection import (
    AnchorStrategy,
    DiscriminationStrategy,
    InformationStrategy,
    InformativeItemSelector,
    KrigingStrategy,
    RandomStrategy,
    StratifiedStrategy,
)
from sklearn_mirt.selection.error_calibration import _useful_length, calibration_of
from sklearn_mirt.selection.problem import SelectionProblem, TrainingModels
from sklearn_mirt.selection.ranking import Constraints, greedy_ranking
from sklearn_mirt.selection.surrogate import LinearSurrogate
from sklearn_mirt.selection.training_answers import score_targets

STRATEGIES = {
    "kriging": KrigingStrategy(),
    "random": RandomStrategy(),
    "stratified": StratifiedStrategy(),
    "discrimination": DiscriminationStrategy(n_bins=10),
    "by_dimension": DiscriminationStrategy("dimension", per="group", n_bins=5),
    "c_optimal": InformationStrategy("c"),
    "d_optimal": InformationStrategy("D"),
    "a_optimal": InformationStrategy("A"),
    "anchors": AnchorStrategy(),
}
every_strategy = pytest.mark.parametrize(
    "strategy", STRATEGIES.values(), ids=STRATEGIES
)


def simulate(n=24, n_groups=3, per_group=16, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), per_group)
    theta, s = rng.normal(size=(n, 1)), rng.normal(size=(n, n_groups))
    slopes = rng.uniform(0.3, 1.8, len(groups))
    eta = theta * slopes + 0.7 * s[:, groups] + rng.normal(size=len(groups))
    return (rng.random(eta.shape) < expit(eta)) * 1.0, np.array(list("abc"))[groups]


def problem_of(X, labels, *, n_items, n_dims=1):
    """A problem with all scores of equal weight."""
    targets = score_targets(labels, labels.max() + 1)
    models = TrainingModels(X, labels, n_dims=n_dims)
    return SelectionProblem(models, targets, np.ones(targets.shape[1]), n_items=n_items)


@pytest.fixture(scope="module")
def data():
    return simulate()


def ranking(X, groups, n=12, **options):
    options = {"n_dims": 1, "item_groups": groups, **options}
    return InformativeItemSelector(n, **options).fit(X).ranking_


@pytest.fixture(scope="module")
def base(data):
    """The default ranking of 20 items."""
    return ranking(*data, n=20)


# The kriging steps, against the covariance matrix written out -------------------------


def test_kriging_takes_the_best_item_of_the_full_covariance():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 6)
    surrogate = LinearSurrogate(
        np.full(12, 0.5), rng.normal(size=(12, 5)), rng.uniform(0.1, 1, 12)
    )
    targets, weights = score_targets(groups, 2), np.array([0.9, 0.05, 0.05])
    models = TrainingModels(np.zeros((1, 12)), groups)
    models.surrogate = surrogate
    problem = SelectionProblem(models, targets, weights, n_items=6)
    got = greedy_ranking(problem, KrigingStrategy(), Constraints.none(12, 2))
    c = surrogate.loadings @ surrogate.loadings.T + np.diag(surrogate.noise)
    importance = weights / np.diag(targets.T @ c @ targets)

    def left(chosen):
        k = np.array(chosen)
        gain = targets.T @ c[:, k] @ np.linalg.solve(c[np.ix_(k, k)], c[k] @ targets)
        return importance @ np.diag(targets.T @ c @ targets - gain)

    want = []
    for _ in range(6):
        rest = [j for j in range(12) if j not in want]
        want.append(min(rest, key=lambda j: left([*want, j])))
    assert got.tolist() == want
    std = surrogate.target_std(got, targets)
    np.testing.assert_allclose(importance @ std**2, left(want), rtol=1e-10)


def test_d_optimal_design_takes_the_best_determinant(data):
    X, groups = data
    labels = np.unique(groups, return_inverse=True)[1]
    problem = problem_of(X, labels, n_items=5, n_dims=2)
    strategy = InformationStrategy("D", n_points=4)
    got = greedy_ranking(problem, strategy, Constraints.none(48, 3))
    model, state = problem.models.plain_model, strategy.begin(problem)
    want = []
    for _ in range(5):
        value = np.full(48, -np.inf)
        for j in np.setdiff1d(np.arange(48), want):
            k = [*want, j]
            a = model.slopes[k]
            value[j] = sum(
                np.linalg.slogdet(np.eye(2) + (a * w[k, None]).T @ a)[1]
                for w in state.weights
            )
        want.append(int(value.argmax()))
    assert got.tolist() == want


def test_c_and_a_optimal_running_sums_equal_fresh_ones(data):
    X, groups = data
    labels = np.unique(groups, return_inverse=True)[1]
    problem = problem_of(X, labels, n_items=5, n_dims=1)
    for criterion in ("c", "A"):
        state = InformationStrategy(criterion, n_points=3).begin(problem)
        slopes, start = state.slopes.toarray(), state.cross.copy()
        for item in (3, 20, 41):
            state.add(item)
        k = [3, 20, 41]
        for r, w in enumerate(state.weights):
            p = np.linalg.inv(
                np.eye(slopes.shape[1]) + (slopes[k] * w[k, None]).T @ slopes[k]
            )
            np.testing.assert_allclose(state.posterior[r], p, atol=1e-10)
            np.testing.assert_allclose(
                state.quadratic[r], ((slopes @ p) * slopes).sum(axis=1), atol=1e-10
            )
            # cross = a' P gradient, and at the start P = I: solve for the gradient.
            gradient = np.linalg.lstsq(slopes, start[r], rcond=None)[0]
            np.testing.assert_allclose(state.cross[r], slopes @ p @ gradient, atol=1e-8)


def test_long_kriging_lists_go_on_with_stratified_items(data):
    X, groups = data
    labels = np.unique(groups, return_inverse=True)[1]
    free = Constraints.none(48, 3)
    problem = problem_of(X, labels, n_items=20)
    short = replace(calibration_of(problem), useful_length=7)
    problem.derived["calibration"] = short
    pure = greedy_ranking(problem, KrigingStrategy(fill=False), free)
    mixed = greedy_ranking(problem, KrigingStrategy(), free)
    all_items = problem_of(X, labels, n_items=48)
    order = greedy_ranking(all_items, StratifiedStrategy(), free)
    rest = order[~np.isin(order, pure[:7])]
    assert mixed.tolist() == [*pure[:7], *rest[:13]]


def test_a_problem_with_another_seed_fits_no_model_again(data):
    X, groups = data
    labels = np.unique(groups, return_inverse=True)[1]
    problem = problem_of(X, labels, n_items=5)
    other = problem.with_seed(3)  # before anything is fitted
    assert (problem.seed, other.seed) == (0, 3)
    assert other.models.surrogate is problem.models.surrogate
    assert calibration_of(other) is calibration_of(problem)


def test_useful_length_is_the_last_size_at_which_chosen_items_win():
    sizes = np.array([0, 10, 40])
    error = np.ones((2, 3, 5, 2))  # random and kriging, sizes, respondents, targets
    error[0, 1:], error[1, 1], error[1, 2] = 0.5, 0.4, 0.6
    assert _useful_length(sizes, error, np.array([0.9, 0.1])) == 10
    error[1, 2, :, 1] = 0.1
    assert _useful_length(sizes, error, np.array([0.9, 0.1])) == 10
    assert _useful_length(sizes, error, np.array([0.1, 0.9])) == np.inf


def test_stratified_prefixes_are_proportional():
    groups = np.repeat(["a", "b", "c"], [40, 20, 10])
    X = np.random.default_rng(0).integers(0, 2, (12, 70)).astype(float)
    order = ranking(X, groups, n=70, strategy="stratified")
    for n in range(1, 71):
        counts = np.array([(groups[order[:n]] == g).sum() for g in "abc"])
        assert np.abs(counts - n * np.array([40, 20, 10]) / 70).max() < 1.0


def test_discrimination_takes_the_same_share_of_every_bin(data):
    X, groups = data
    labels = np.unique(groups, return_inverse=True)[1]
    problem = problem_of(X, labels, n_items=16, n_dims=1)
    order = greedy_ranking(
        problem, DiscriminationStrategy(n_bins=8), Constraints.none(48, 3)
    )
    model = problem.models.plain_model
    size = np.abs(model.slopes[:, 0])
    bins = np.array_split(np.argsort(-model.intercepts / size, kind="stable"), 8)
    best = {int(j) for b in bins for j in b[np.argsort(-size[b])][:2]}
    assert set(order.tolist()) == best


def test_discrimination_by_dimension_avoids_items_that_better_respondents_fail(data):
    X, groups = data
    turned = np.where(np.arange(48) % 6 == 0, 1.0 - X, X)
    strategy = DiscriminationStrategy("dimension", n_bins=4)
    chosen = ranking(turned, groups, n=24, strategy=strategy)
    assert (chosen % 6 == 0).sum() <= 1
    size = DiscriminationStrategy("overall", n_bins=4)
    assert (ranking(turned, groups, n=24, strategy=size) % 6 == 0).sum() >= 2


def test_discrimination_tolerates_ties_in_difficulty():
    X = np.tile(np.tril(np.ones((6, 6)))[:, :1], (1, 20))
    X[3:, 5] = 0.0
    X[:2, 7] = 0.0
    order = ranking(X, None, n=20, strategy="discrimination")
    assert sorted(order) == list(range(20))


# Properties of every strategy ---------------------------------------------------------


@every_strategy
def test_order_and_names_do_not_matter(data, strategy):
    X, groups = data
    want = ranking(X, groups, strategy=strategy)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    names = [f"item {k}" for k in rng.permutation(X.shape[1])]
    frame = pd.DataFrame(X[np.ix_(rows, columns)], columns=names)
    got = ranking(frame, groups[columns], strategy=strategy)
    assert columns[got].tolist() == want.tolist()


@every_strategy
def test_a_prefix_is_the_choice_for_a_smaller_budget(data, strategy):
    X, groups = data
    large = ranking(X, groups, n=20, strategy=strategy)
    small = ranking(X, groups, n=7, strategy=strategy)
    assert small.tolist() == large[:7].tolist()


@every_strategy
def test_all_items_are_all_items(data, strategy):
    X, groups = data
    assert sorted(ranking(X, groups, n=1.0, strategy=strategy)) == list(range(48))


def test_all_items_as_a_count(data):
    order = ranking(*data, n=48, strategy="random")
    assert sorted(order) == list(range(48))


@every_strategy
def test_empty_rows_and_columns_change_nothing(data, strategy):
    X, groups = data
    want = ranking(X, groups, n=0.25, strategy=strategy)
    padded = np.full((26, 50), np.nan)
    padded[1:25, 1:49] = X
    with pytest.warns(ResponseDataWarning, match="2 item"):
        labels = np.concatenate([["a"], groups, ["z"]])
        got = ranking(padded, labels, n=0.25, strategy=strategy)
    assert (got - 1).tolist() == want.tolist()


@every_strategy
def test_equal_costs_are_no_costs(data, strategy):
    X, groups = data
    want = ranking(X, groups, strategy=strategy)
    got = ranking(X, groups, strategy=strategy, costs=np.full(48, 3.0))
    assert got.tolist() == want.tolist()


def test_equal_items_are_taken_by_position():
    X = np.tile(np.array([[0.0], [1.0], [1.0], [0.0]]), (1, 5))
    order = ranking(X, None, n=3)
    assert order.tolist() == [0, 1, 2]


# Constraints --------------------------------------------------------------------------


def test_include_opens_the_ranking_and_exclude_stays_out(data, base):
    X, groups = data
    best = base[:12]
    order = ranking(X, groups, include=[40, 3], exclude=best[:2])
    assert order[:2].tolist() == [40, 3]
    assert not np.isin(best[:2], order).any()


def test_include_by_name_and_mask(data):
    X, groups = data
    frame = pd.DataFrame(X, columns=[f"q{k}" for k in range(48)])
    mask = np.zeros(48, bool)
    mask[[3, 40]] = True
    by_name = ranking(frame, groups, include=["q3", "q40"])
    assert by_name.tolist() == ranking(X, groups, include=mask).tolist()


def test_quotas_bound_the_groups_at_every_budget(data):
    X, groups = data
    quotas = {"a": (4, 5), "b": 2}
    order = ranking(X, groups, n=20, quotas=quotas)
    counts = {g: int((groups[order] == g).sum()) for g in "abc"}
    assert 4 <= counts["a"] <= 5 and counts["b"] <= 2 and sum(counts.values()) == 20
    assert (groups[order[:4]] == "a").all()
    small = ranking(X, groups, n=6, quotas=quotas)
    assert small.tolist() == order[:6].tolist()


def test_random_share_spreads_over_the_ranking(data, base):
    X, groups = data
    plain, mixed = base[:12], ranking(X, groups, random_share=0.25)
    assert mixed[:3].tolist() == plain[:3].tolist()
    other = ranking(X, groups, random_share=0.25, random_state=5)
    assert mixed[3] != other[3]
    everything = ranking(X, groups, n=48, random_share=1.0)
    assert everything.tolist() == ranking(X, groups, n=48, strategy="random").tolist()


def test_costs_turn_the_choice_to_cheap_items(data, base):
    X, groups = data
    best = base[:12][0]
    costs = np.ones(48)
    costs[best] = 1000.0
    assert best not in ranking(X, groups, costs=costs)
    order = ranking(X, groups, n=None, costs=np.full(48, 2.0), max_cost=11.0)
    assert order.tolist() == base[:5].tolist()


def test_items_that_do_not_fit_are_skipped(data):
    X, groups = data
    costs = np.random.default_rng(0).uniform(1.0, 9.0, 48)
    order = ranking(X, groups, n=None, costs=costs, max_cost=30.0)
    left = 30.0 - costs[order].sum()
    assert 0.0 <= left < np.delete(costs, order).min()
    assert ranking(X, groups, n=4, costs=costs, max_cost=30.0).tolist() == (
        order[:4].tolist()
    )
    tenths = ranking(X, groups, n=None, costs=np.full(48, 0.1), max_cost=1.0)
    assert len(tenths) == 10


def test_own_target_weights_move_the_choice(data, base):
    X, groups = data
    only_b = ranking(X, groups, target_weights={"b": 1.0})
    own = ranking(X, groups, target_weights=(groups == "b") / 16)
    assert only_b.tolist() == own.tolist()
    assert (groups[only_b] == "b").sum() > (groups[base[:12]] == "b").sum()


def test_a_strategy_of_your_own(data):
    class First:
        def begin(self, problem):
            self.seen = []
            return self

        def gains(self):
            return problem_free

        def add(self, item):
            self.seen.append(item)

    X, groups = data
    problem_free = -np.arange(48.0)
    strategy = First()
    ranking(X, groups, n=4, strategy=strategy)
    assert strategy.seen == [0, 1, 2]


# Bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_items": 0}, "n_items=0 must be between 1 and the 48"),
        ({"n_items": -2}, "n_items=-2"),
        ({"n_items": 49}, "n_items=49"),
        ({"n_items": 1.2}, r"share, n_items must be in \(0, 1\]; got 1.2"),
        ({"n_items": 0.0}, "share"),
        ({"n_items": True}, "count, a share or None"),
        ({"n_items": None}, "Give n_items, max_cost or both"),
        ({"strategy": "best"}, "strategy must be one of"),
        ({"quotas": {"z": 3}}, "quotas names unknown group.*'z'"),
        ({"quotas": {"a": (3, 2)}}, "quota of group 'a'"),
        ({"quotas": {"a": (8, 9), "b": (8, 9)}}, "make 16 items; the budget is 12"),
        ({"quotas": {"a": 0, "b": 0, "c": 3}}, "leave 3"),
        ({"target_weights": {"z": 1.0}}, "unknown group.*'z'"),
        ({"target_weights": 1.5}, r"in \[0, 1\]"),
        ({"target_weights": np.ones(3)}, "48 items"),
        ({"include": range(13)}, "make 13 items; the budget is 12"),
        ({"include": [3], "exclude": [3]}, "both name 3"),
        ({"include": [48]}, "names column.* 48"),
        ({"include": [1, 1]}, "twice"),
        ({"random_share": 2}, "random_share"),
        ({"costs": np.ones(3)}, "48 items"),
        ({"costs": np.zeros(48)}, "positive"),
        ({"max_cost": 3.0}, "max_cost needs costs"),
        ({"costs": np.ones(48), "max_cost": 1.0, "include": [0, 1]}, "cost 2"),
        (
            {"costs": np.ones(48), "max_cost": 2.0, "quotas": {"b": (3, 9)}},
            "max_cost=2 is too small for the smallest quota of group.*'b'",
        ),
        ({"item_groups": ["a", "b"]}, "2 values for 48 items"),
        ({"item_groups": {0: "a"}}, "no value for item 1; it has 1 values"),
    ],
)
def test_bad_settings_are_named(data, options, message):
    X, groups = data
    options = {"n_items": 12, "item_groups": groups, "n_dims": 1, **options}
    with pytest.raises(ValueError, match=message):
        InformativeItemSelector(**options).fit(X)


@pytest.mark.parametrize("estimator", [InformativeItemSelector(2), RawMeanScorer()])
def test_a_repeated_id_or_a_missing_label_was_taken_for_a_group(estimator):
    X = pd.DataFrame(np.eye(3), columns=["q1", "q2", "q3"])
    repeated = pd.Series(["a", "b", "a", "b"], index=["q1", "q2", "q3", "q2"])
    with pytest.raises(ValueError, match="more than one value for item 'q2'"):
        clone(estimator).set_params(item_groups=repeated).fit(X)
    unlabelled = pd.Series(["a", np.nan, "b"], index=X.columns)
    with pytest.raises(ValueError, match="has no group for item 'q2'"):
        clone(estimator).set_params(item_groups=unlabelled).fit(X)


def test_costs_in_a_series_were_taken_by_position(data):
    X, groups = data
    frame = pd.DataFrame(X, columns=[f"q{k}" for k in range(48)])
    costs = pd.Series(np.arange(1.0, 49.0), index=frame.columns)
    options = {"n": None, "max_cost": 100.0}
    want = ranking(frame, groups, costs=costs, **options)
    got = ranking(frame, groups, costs=costs[::-1], **options)
    assert got.tolist() == want.tolist()


def test_sparse_tables_and_response_data_are_those_of_the_dense_table(data):
    X, groups = data
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    i, j = np.nonzero(~np.isnan(holes))
    stored = coo_array((holes[i, j], (i, j)), shape=X.shape)  # zeros stay stored
    names = [f"q{k}" for k in range(48)]
    data = ResponseData.from_wide(holes, items=names)
    want = ranking(holes, groups).tolist()
    assert ranking(stored.tocsr(), groups).tolist() == want
    assert ranking(data, groups).tolist() == want
    scorer = RawMeanScorer(item_groups=groups)
    scores = scorer.fit(holes).predict(holes)
    np.testing.assert_array_equal(scorer.fit(stored).predict(stored), scores)
    # joined by name: a part of the items, in another order
    some = data.take(items=np.array([30, 2, 7]))
    shown = np.where(np.isin(np.arange(48), [30, 2, 7]), holes, np.nan)
    answered = ~np.isnan(shown).all(axis=1)
    got = scorer.fit(data).predict(some.take(respondents=answered))
    np.testing.assert_array_equal(got, scorer.predict(shown[answered]))


def test_items_with_numbers_for_names_are_joined_by_name(data):
    X, groups = data
    frame = pd.DataFrame(X, columns=np.arange(48)[::-1])
    scorer = RawMeanScorer(item_groups=groups).fit(frame)
    np.testing.assert_array_equal(scorer.items_, frame.columns)
    want = scorer.predict(frame)
    np.testing.assert_array_equal(scorer.predict(frame[range(48)]), want)


def test_scores_out_of_range_are_named(data):
    X = data[0].copy()
    X[4, 7] = 2.0
    with pytest.raises(ValueError, match="respondent 4, item 7 is 2; scores must lie"):
        InformativeItemSelector(5).fit(X)
    with pytest.raises(ValueError, match="nothing to learn"):
        InformativeItemSelector(1).fit(np.full((3, 4), np.nan))


def test_unknown_included_name(data):
    X, groups = data
    frame = pd.DataFrame(X, columns=[f"q{k}" for k in range(48)])
    with pytest.raises(ValueError, match="Unknown item.*include.*'q99'"):
        ranking(frame, groups, include=["q99"])


# scikit-learn -------------------------------------------------------------------------


@pytest.mark.slow
def test_works_in_a_pipeline_and_a_grid_search(data):
    X, groups = data
    y = X.mean(axis=1)
    pipe = make_pipeline(
        InformativeItemSelector(6, item_groups=groups, n_dims=1), Ridge()
    )
    grid = {
        "informativeitemselector__n_items": [4, 0.25],
        "informativeitemselector__strategy": ["kriging", DiscriminationStrategy()],
    }
    search = GridSearchCV(pipe, grid, cv=2).fit(X, y)
    assert np.isfinite(search.best_score_)
    nested = {"strategy__n_bins": [5, 10]}
    selector = InformativeItemSelector(6, strategy=DiscriminationStrategy(), n_dims=1)
    assert clone(selector).set_params(strategy__n_bins=5).strategy.n_bins == 5
    assert set(nested) <= set(selector.get_params())


def test_selector_contract(data):
    X, groups = data
    frame = pd.DataFrame(X, columns=[f"q{k}" for k in range(48)])
    frame.iloc[0, 0] = np.nan
    before = frame.copy()
    table = pd.Series(groups, index=frame.columns)
    selector = InformativeItemSelector(6, item_groups=table, n_dims=1)
    selector.set_output(transform="pandas").fit(frame)
    out = selector.transform(frame)
    pd.testing.assert_frame_equal(frame, before)
    chosen = frame.columns[selector.get_support()]
    assert list(out.columns) == list(chosen) == list(selector.get_feature_names_out())
    assert set(frame.columns[selector.ranking_]) == set(chosen)
    assert selector.inverse_transform(out).shape == (24, 48)
    with pytest.raises(ValueError, match="feature"):
        selector.transform(frame.iloc[:, :5])


def test_missing_answers_are_welcome(data):
    X, groups = data
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    for strategy in STRATEGIES.values():
        chosen = ranking(holes, groups, strategy=strategy)
        assert len(set(chosen.tolist())) == len(chosen) == 12


def test_few_respondents_use_typical_scales(data):
    X, groups = data
    chosen = ranking(X[:5], groups)
    assert len(set(chosen.tolist())) == 12
    assert chosen.tolist() == ranking(X[:5][::-1], groups).tolist()


def test_read_only_and_other_types(data, base):
    X, groups = data
    want = base[:12].tolist()
    frozen = np.asfortranarray(X.astype(np.int8))
    frozen.setflags(write=False)
    assert ranking(frozen, groups).tolist() == want
    assert ranking(X.astype(bool), groups).tolist() == want


def test_chosen_items_beat_random_ones_on_new_respondents():
    X, groups = simulate(n=120, per_group=60, seed=3)
    train, test = X[:60], X[60:]
    truth = test.mean(axis=1)
    options = {"item_groups": groups, "n_dims": 1}
    error = {}
    for strategy in ("kriging", "random"):
        selector = InformativeItemSelector(15, strategy=strategy, **options).fit(train)
        answers = np.where(selector.get_support(), test, np.nan)
        scores = selector.scorer().predict(answers)[:, 0]
        error[strategy] = np.abs(scores - truth).mean()
    assert error["kriging"] < 0.85 * error["random"]
