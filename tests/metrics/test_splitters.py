"""Splitters of cells: what is held out together, and that seeds decide the folds."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold, cross_validate

from sklearn_mirt import ItemMeanClassifier, metrics


@pytest.fixture
def cells():
    rng = np.random.default_rng(1)
    X = np.array([(f"m{i}", f"q{j:02d}") for i in range(12) for j in range(20)], object)
    y = (rng.random(240) < np.tile(np.linspace(0.1, 0.9, 20), 12)).astype(float)
    return X, y


GROUPS = {f"q{j:02d}": f"bench-{j % 4}" for j in range(20)}
WHOLE_SPLITTERS = [
    (metrics.RespondentKFold(4), lambda X: X[:, 0]),
    (metrics.RespondentKFold(5, shuffle=False), lambda X: X[:, 0]),
    (metrics.ItemKFold(6), lambda X: X[:, 1]),
    (metrics.GroupedItemKFold(GROUPS, 2), lambda X: [GROUPS[q] for q in X[:, 1]]),
    (metrics.LeaveItemGroupOut(GROUPS), lambda X: [GROUPS[q] for q in X[:, 1]]),
]


class TestSplitters:
    def test_cell_folds_are_benchmirts(self, cells):
        X, _ = cells
        expected = KFold(10, shuffle=True, random_state=42).split(X)
        for ours, theirs in zip(metrics.CellKFold().split(X), expected, strict=True):
            assert_array_equal(ours[0], theirs[0])
            assert_array_equal(ours[1], theirs[1])
        assert metrics.CellKFold(3, shuffle=False).get_n_splits() == 3

    @pytest.mark.parametrize(("splitter", "labels"), WHOLE_SPLITTERS)
    @pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, np.ndarray.tolist])
    def test_whole_labels_are_held_out_once(self, splitter, labels, form, cells):
        X, _ = cells
        labels = np.asarray(labels(X))
        tested = np.zeros(len(X), dtype=int)
        folds = list(splitter.split(form(X)))
        assert len(folds) == splitter.get_n_splits(form(X))
        for train, test in folds:
            assert not set(labels[train]) & set(labels[test])
            assert_array_equal(np.sort(np.append(train, test)), np.arange(len(X)))
            assert len(test) > 0
            tested[test] += 1
        assert_array_equal(tested, 1)

    @pytest.mark.parametrize(("splitter", "labels"), WHOLE_SPLITTERS)
    def test_folds_do_not_depend_on_the_order_of_cells(self, splitter, labels, cells):
        X, _ = cells
        order = np.random.default_rng(0).permutation(len(X))
        for (_, test), (_, moved) in zip(
            splitter.split(X), splitter.split(X[order]), strict=True
        ):
            assert_array_equal(np.sort(order[moved]), test)

    def test_seeds(self, cells):
        X, _ = cells

        def first(seed):
            splitter = metrics.RespondentKFold(3, random_state=seed)
            return next(iter(splitter.split(X)))[1].tolist()

        assert first(1) == first(1)
        assert len({tuple(first(seed)) for seed in range(5)}) > 1
        sizes = [len(test) for _, test in metrics.RespondentKFold(5).split(X)]
        assert sorted(sizes) == [40, 40, 40, 60, 60]

    def test_group_out_is_in_sorted_order(self, cells):
        X, _ = cells
        splitter = metrics.LeaveItemGroupOut(GROUPS)
        held = [{GROUPS[q] for q in X[test, 1]} for _, test in splitter.split(X)]
        assert held == [{f"bench-{k}"} for k in range(4)]
        assert splitter.get_n_splits() == 4
        assert splitter.get_n_splits(X[X[:, 1] < "q03"]) == 3

    def test_integer_ids(self):
        X = np.array([[i, j] for i in range(6) for j in range(4)])
        splitter = metrics.GroupedItemKFold(pd.Series({j: j // 2 for j in range(4)}), 2)
        for train, test in splitter.split(X):
            assert not set(X[train, 1] // 2) & set(X[test, 1] // 2)

    def test_mixed_ids_sort(self):
        X = pd.DataFrame(
            {"model": ["a", 1, "b", 2] * 2, "item": [1, 1, 1, 1, 2, 2, 2, 2]}
        )
        held = [
            X["model"].iloc[test] for _, test in metrics.RespondentKFold(4).split(X)
        ]
        assert [len(set(models)) for models in held] == [1, 1, 1, 1]
        assert {models.iloc[0] for models in held} == {"a", 1, "b", 2}

    @pytest.mark.parametrize("splitter", [splitter for splitter, _ in WHOLE_SPLITTERS])
    def test_in_cross_validate(self, splitter, cells):
        X, y = cells
        result = cross_validate(
            ItemMeanClassifier(),
            X,
            y,
            cv=splitter,
            scoring=metrics.neg_log_loss_scorer,
            error_score="raise",
        )
        expected = [
            metrics.neg_log_loss_scorer(
                ItemMeanClassifier().fit(X[train], y[train]), X[test], y[test]
            )
            for train, test in splitter.split(X)
        ]
        assert_array_equal(result["test_score"], expected)

    def test_pickle(self, cells):
        X, _ = cells
        for splitter, _ in WHOLE_SPLITTERS:
            copy = pickle.loads(pickle.dumps(splitter))
            for ours, theirs in zip(splitter.split(X), copy.split(X), strict=True):
                assert_array_equal(ours[1], theirs[1])
            assert type(splitter).__name__ in repr(splitter)

    @pytest.mark.parametrize(
        ("splitter", "message"),
        [
            (metrics.RespondentKFold(13), "number of respondents, which is 12"),
            (metrics.ItemKFold(1), "n_splits=1 must be between 2"),
            (metrics.GroupedItemKFold(GROUPS, 5), "number of item groups, which is 4"),
            (metrics.LeaveItemGroupOut({"q00": "a"}), "19 items have no group"),
            (
                metrics.LeaveItemGroupOut(dict.fromkeys(GROUPS, "a")),
                "At least two item groups",
            ),
        ],
    )
    def test_bad_folds(self, splitter, message, cells):
        with pytest.raises(ValueError, match=message):
            list(splitter.split(cells[0]))

    def test_missing_ids(self, cells):
        X = cells[0].copy()
        X[3, 0] = None
        with pytest.raises(ValueError, match="1 cells have no respondent id"):
            list(metrics.RespondentKFold().split(X))
