"""How many dimensions: the rule, its table, and n_dims="auto"."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from sklearn_mirt import MIRTClassifier, MIRTTransformer, ResponseData
from sklearn_mirt.data.resampling import permuted_within_items, resampled, with_cells
from sklearn_mirt.datasets import make_benchmark_suite, make_responses
from sklearn_mirt.estimators.dimensions import choose_dimensions, shared_folds


def choose(data, **options):
    options = {"n_permutations": 0, "n_dims": range(1, 6), **options}
    return choose_dimensions(
        data.responses, item_groups=data.item_groups, max_cells=30_000, **options
    )


@pytest.mark.parametrize("n_groups", [1, 8])
@pytest.mark.parametrize("n_dims", [1, 4])
def test_the_number_of_simulated_dimensions_is_found(n_dims, n_groups):
    data = make_responses(70, 240, n_dims, n_groups=n_groups, random_state=1)
    choice = choose(data)
    assert choice.recommended == n_dims
    assert choice.by == ("cells" if n_groups == 1 else "groups")
    assert choice.table["excess"].min() == 0


def test_effects_of_single_benchmarks_are_not_dimensions():
    suite = make_benchmark_suite(scale=0.03, random_state=1)
    groups = suite.item_table["benchmark"].to_numpy()
    choice = choose_dimensions(
        suite.responses, item_groups=groups, n_permutations=2, max_cells=40_000
    )
    assert choice.recommended == 2
    assert choice.n_parallel >= 2
    assert (
        choice.table["slope_variance"].iloc[2]
        < 0.2 * (choice.table["slope_variance"].iloc[1])
    )


def test_held_out_cells_see_the_effects_of_benchmarks():
    # the same data and the other question: every benchmark has an ability of its own
    suite = make_benchmark_suite(60, scale=0.05, random_state=0)
    groups = suite.item_table["benchmark"].to_numpy()
    choice = choose_dimensions(
        suite.responses,
        item_groups=groups,
        by="cells",
        n_dims=(2, 3),
        n_permutations=0,
    )
    assert choice.recommended == 3


def test_parallel_analysis_finds_nothing_in_permuted_answers():
    data = make_responses(60, 300, 2, random_state=0)
    permuted = permuted_within_items(
        ResponseData.from_wide(data.responses), np.random.default_rng(0)
    )
    choice = choose_dimensions(permuted, n_dims=(1, 2), n_permutations=3)
    assert choice.n_parallel == 0


def test_a_grid_search_by_hand_gives_the_same_losses():
    data = make_responses(30, 40, 2, n_groups=6, random_state=0)
    rows, columns = np.indices(data.responses.shape)
    X = np.column_stack([rows.ravel(), columns.ravel()])
    group = data.item_groups[columns.ravel()]
    # the folds of choose_dimensions: its cells run item after item
    order = np.lexsort((X[:, 0], X[:, 1]))
    X, group, y = X[order], group[order], data.responses.ravel()[order]
    folds = shared_folds(X[:, 0], group, 5, np.random.default_rng(0))
    search = GridSearchCV(
        MIRTClassifier(
            item_groups=dict(enumerate(data.item_groups)), max_iter=60, tol=1e-5
        ),
        {"n_dims": [1, 2]},
        scoring="neg_log_loss",
        cv=PredefinedSplit(folds),
    ).fit(X, y)
    sizes = np.bincount(folds)
    splits = [search.cv_results_[f"split{k}_test_score"] for k in range(5)]
    by_hand = -np.average(splits, axis=0, weights=sizes)
    choice = choose(data, n_dims=(1, 2))
    np.testing.assert_allclose(choice.table["log_loss"], by_hand, rtol=1e-6)
    assert search.best_params_["n_dims"] == choice.table["log_loss"].idxmin()


def test_shared_folds_hold_out_blocks():
    respondents, groups = (a.ravel() for a in np.indices((10, 7)))
    folds = shared_folds(respondents, groups, 5)
    for fold in range(5):
        held = folds == fold
        for r in range(10):
            # each respondent keeps other groups, and some are held out for everyone
            assert 0 < held[respondents == r].sum() <= 2
    assert len(np.unique(folds)) == 5


@pytest.mark.parametrize("n_dims", [1, 3])
def test_auto_takes_the_recommendation(n_dims):
    data = make_responses(60, 200, n_dims, n_groups=6, random_state=3)
    model = MIRTTransformer("auto", item_groups=data.item_groups).fit(data.responses)
    assert model.n_dims_ == model.slopes_.shape[1] == n_dims
    assert model.n_dims == "auto"
    assert MIRTTransformer(2).fit(data.responses).n_dims_ == 2


def test_wrong_numbers_of_dimensions_are_refused():
    X = make_responses(20, 30, random_state=0).responses
    with pytest.raises(ValueError, match="'n_dims' .* or 'auto'"):
        MIRTTransformer("many").fit(X)
    with pytest.raises(ValueError, match="positive integers"):
        choose_dimensions(X, n_dims=())
    with pytest.raises(ValueError, match="by must be"):
        choose_dimensions(X, by="rows")
    with pytest.raises(ValueError, match="needs item_groups"):
        choose_dimensions(X, by="groups")
    with pytest.raises(ValueError, match="n_folds must be between"):
        choose_dimensions(X, n_folds=21)


def test_thinning_keeps_every_group_and_bounds_the_size(monkeypatch):
    from sklearn_mirt.estimators import dimensions
    from sklearn_mirt.models.item_design import make_design

    groups = np.repeat(["a", "b"], [10, 490])
    data = ResponseData.from_wide(np.ones((600, 500)))
    thin, design = dimensions._thinned(
        data,
        make_design(data.items, groups, None, False),
        50_000,
        np.random.default_rng(0),
    )
    assert thin.n_respondents == 500
    assert np.bincount(design.groups).tolist() == [10, 98]


# ---- resampling


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_permuted_answers_keep_margins_and_gaps(share):
    rng = np.random.default_rng(0)
    X = (rng.random((30, 40)) < 0.6).astype(float)
    X[rng.random(X.shape) < share] = np.nan
    data = ResponseData.from_wide(X)
    permuted = permuted_within_items(data, rng)
    np.testing.assert_array_equal(np.isnan(permuted.to_wide()), np.isnan(X))
    np.testing.assert_array_equal(permuted.item_means(), data.item_means())
    assert not np.array_equal(permuted.to_wide(), X, equal_nan=True)


@pytest.mark.parametrize("share", [0.0, 0.9])
def test_resampled_rows_and_columns_are_those_of_the_index(share):
    rng = np.random.default_rng(1)
    X = (rng.random((12, 15)) < 0.6).astype(float)
    X[rng.random(X.shape) < share] = np.nan
    rows, columns = np.sort(rng.choice(12, 20)), rng.choice(15, 9)
    data = ResponseData.from_wide(X)
    if share:
        data = with_cells(data, np.ones(data.n_observed, dtype=bool))
        assert data.is_sparse
    np.testing.assert_array_equal(
        resampled(data, respondents=rows, items=columns).to_wide(),
        X[rows][:, columns],
    )


def test_progress_is_told_after_each_number():
    table = make_responses(40, 60, n_dims=1, random_state=0).responses
    told = []
    choose_dimensions(
        table,
        n_dims=(1, 2),
        n_permutations=0,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 2), (2, 2)]
