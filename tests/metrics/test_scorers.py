"""Scorers on long and on wide data, also within scikit-learn's searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn import metrics as reference
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from sklearn_mirt import metrics


class ItemShrinker(ClassifierMixin, BaseEstimator):
    """Item means shrunk to the grand mean; accepts NaN and fractions."""

    def __init__(self, strength=1.0, labels=(0, 1)):
        self.strength = strength
        self.labels = labels

    def fit(self, X, y):
        self.classes_ = np.asarray(self.labels)
        if self.classes_.dtype.kind in "OU":
            y = np.asarray(y) == self.classes_[1]
        y = np.asarray(y, dtype=float)
        self.mean_ = np.nanmean(y)
        frame = pd.DataFrame({"item": np.asarray(X)[:, 1], "y": y}).dropna()
        sums = frame.groupby("item")["y"].agg(["sum", "count"])
        self.items_ = (
            (sums["sum"] + self.strength * self.mean_) / (sums["count"] + self.strength)
        ).to_dict()
        return self

    def predict_proba(self, X):
        p = np.array([self.items_.get(i, self.mean_) for i in np.asarray(X)[:, 1]])
        return np.column_stack([1 - p, p])


class ColumnMeans(BaseEstimator):
    """Wide model: expects each column's training mean, shrunk by a parameter."""

    def __init__(self, strength=0.0):
        self.strength = strength

    def fit(self, X, y=None):
        self.means_ = np.nanmean(np.asarray(X, dtype=float), axis=0)
        self.means_ = self.means_ + self.strength * (0.5 - self.means_)
        return self

    def transform(self, X):
        return np.isnan(np.asarray(X, dtype=float)).mean(axis=1, keepdims=True)

    def inverse_transform(self, abilities):
        return np.tile(self.means_, (len(abilities), 1))


class Peeker(ColumnMeans):
    """Records what it is shown."""

    def expected_scores(self, X):
        self.seen_ = X
        return np.tile(self.means_, (len(X), 1))


@pytest.fixture
def cells():
    rng = np.random.default_rng(1)
    X = np.array([(f"m{i}", f"q{j:02d}") for i in range(12) for j in range(20)], object)
    y = (rng.random(240) < np.tile(np.linspace(0.1, 0.9, 20), 12)).astype(float)
    return X, y


class TestCellScorers:
    def test_names(self):
        assert metrics.get_scorer_names() == sorted(
            ["neg_log_loss", "neg_brier", "neg_mae", "accuracy", "auc"]
            + ["spearman", "kendall"]
        )
        for name in metrics.get_scorer_names():
            scorer = metrics.get_scorer(name)
            assert getattr(metrics, f"{name}_scorer") is scorer
            assert scorer.metric == name
        with pytest.raises(ValueError, match="Unknown metric 'auroc'; choose from"):
            metrics.get_scorer("auroc")

    def test_values_and_signs(self, cells):
        X, y = cells
        model = ItemShrinker().fit(X, y)
        p = model.predict_proba(X)[:, 1]
        for scorer, value in [
            (metrics.neg_log_loss_scorer, -reference.log_loss(y, p)),
            (metrics.neg_brier_scorer, -reference.brier_score_loss(y, p)),
            (metrics.neg_mae_scorer, -reference.mean_absolute_error(y, p)),
            (metrics.accuracy_scorer, reference.accuracy_score(y, np.round(p))),
            (metrics.auc_scorer, reference.roc_auc_score(y, p)),
        ]:
            assert scorer(model, X, y) == pytest.approx(value, rel=1e-12)
        half = np.append(np.tile(1.0, 120), np.zeros(120))
        assert metrics.neg_brier_scorer(
            model, X, y, sample_weight=half
        ) == pytest.approx(metrics.neg_brier_scorer(model, X[:120], y[:120]))

    def test_ranks_are_those_of_respondents(self, cells):
        X, y = cells
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        prob = 0.5 * np.random.default_rng(1).random(len(y)) + 0.3 * y
        model = _Known([0, 1], np.column_stack([1 - prob, prob]))
        for scorer, function in (
            (metrics.spearman_scorer, metrics.mean_score_spearman),
            (metrics.kendall_scorer, metrics.mean_score_kendall),
        ):
            expected = function(y, prob, X[:, 0])
            assert scorer(model, X, y) == expected
            assert expected != pytest.approx(function(y, prob, X[:, 1]))

    def test_scores_of_repeats_are_scores(self, cells):
        X, y = cells
        y = 0.25 + 0.5 * y
        model = _Known([0, 1], np.full((240, 2), 0.5))
        assert metrics.neg_mae_scorer(model, X, y) == -0.25

    def test_string_labels_go_through_classes(self, cells):
        X, y = cells
        words = np.where(y == 1, "right", "wrong")
        # Sorted classes put "right" first; the second class means a right answer.
        plain = ItemShrinker().fit(X, y)
        named = ItemShrinker(labels=("wrong", "right")).fit(X, words)
        expected = metrics.neg_log_loss_scorer(plain, X, y)
        assert metrics.neg_log_loss_scorer(named, X, words) == pytest.approx(expected)
        holed = words.astype(object)
        holed[::5] = None
        gaps = np.where(np.arange(240) % 5 == 0, np.nan, y)
        assert metrics.neg_log_loss_scorer(named, X, holed) == pytest.approx(
            metrics.neg_log_loss_scorer(plain, X, gaps)
        )
        holed[1] = "maybe"
        with pytest.raises(ValueError, match="'maybe', which is not in classes_"):
            metrics.neg_log_loss_scorer(named, X, holed)

    def test_single_class(self, cells):
        X, y = cells

        class Constant(BaseEstimator):
            classes_ = np.array([0.0])

            def predict_proba(self, X):
                return np.ones((len(X), 1))

        expected = -metrics.cell_mae(y, np.zeros(240))
        assert metrics.neg_mae_scorer(Constant(), X, y) == pytest.approx(expected)

    def test_in_cross_validate_with_gaps(self, cells):
        X, y = cells
        y = np.where(np.arange(240) % 7 == 0, np.nan, y)
        names = metrics.get_scorer_names()
        result = cross_validate(
            ItemShrinker(),
            X,
            y,
            cv=metrics.CellKFold(),
            scoring={name: metrics.get_scorer(name) for name in names},
            error_score="raise",
        )
        assert len(result["test_auc"]) == 10
        train, test = next(iter(metrics.CellKFold().split(X)))
        model = ItemShrinker().fit(X[train], y[train])
        assert result["test_neg_mae"][0] == pytest.approx(
            -metrics.cell_mae(y[test], model.predict_proba(X[test]))
        )

    def test_in_grid_search(self, cells):
        X, y = cells
        search = GridSearchCV(
            ItemShrinker(),
            {"strength": [0.5, 1e6]},
            scoring=metrics.neg_log_loss_scorer,
            cv=metrics.CellKFold(4),
            error_score="raise",
        )
        assert search.fit(X, y).best_params_ == {"strength": 0.5}

    def test_pickle_and_repr(self):
        scorer = pickle.loads(pickle.dumps(metrics.spearman_scorer))
        assert scorer.metric == "spearman"
        assert repr(scorer) == "CellScorer('spearman')"


class TestHiddenCellScorer:
    @pytest.fixture
    def wide(self):
        rng = np.random.default_rng(0)
        X = (rng.random((30, 12)) < np.linspace(0.1, 0.9, 12)).astype(float)
        X[rng.random(X.shape) < 0.3] = np.nan
        X[0], X[1] = np.nan, np.nan
        X[1, 3] = 1.0
        return X

    def test_hides_the_stated_share_of_each_row(self, wide):
        model = Peeker().fit(wide)
        before = wide.copy()
        metrics.HiddenCellScorer("neg_mae", share=0.25)(model, wide)
        assert_array_equal(wide, before)
        hidden = np.isnan(model.seen_) & ~np.isnan(wide)
        assert_array_equal(model.seen_[~hidden], wide[~hidden])
        observed = (~np.isnan(wide)).sum(axis=1)
        expected = np.maximum(np.round(0.25 * observed), 1)
        expected[observed < 2] = 0
        assert_array_equal(hidden.sum(axis=1), expected)

    def test_one_cell_of_each_row_is_always_shown(self, wide):
        model = Peeker().fit(wide)
        metrics.HiddenCellScorer("neg_mae", share=0.99)(model, wide)
        shown = (~np.isnan(model.seen_)).sum(axis=1)
        assert_array_equal(shown, np.minimum((~np.isnan(wide)).sum(axis=1), 1))

    def test_scores_only_the_hidden_cells(self, wide):
        model = Peeker().fit(wide)
        value = metrics.HiddenCellScorer("neg_brier")(model, wide)
        hidden = np.isnan(model.seen_) & ~np.isnan(wide)
        error = (wide - model.means_)[hidden] ** 2
        assert value == pytest.approx(-error.mean(), rel=1e-12)
        # Without expected_scores: inverse_transform(transform()).
        other = metrics.HiddenCellScorer("neg_brier")(ColumnMeans().fit(wide), wide)
        assert other == pytest.approx(value, rel=1e-12)

    def test_seed(self, wide):
        model = ColumnMeans().fit(wide)
        scorer = metrics.HiddenCellScorer(random_state=3)
        assert scorer(model, wide) == scorer(model, wide)
        assert scorer(model, wide) != metrics.HiddenCellScorer(random_state=4)(
            model, wide
        )

    def test_frames_stay_frames(self, wide):
        names = [f"q{j}" for j in range(12)], [f"m{i}" for i in range(30)]
        frame = pd.DataFrame(wide, columns=names[0], index=names[1])
        nullable = frame.astype("Int64")
        model = Peeker().fit(wide)
        scorer = metrics.HiddenCellScorer("accuracy")
        expected = scorer(model, wide)
        assert scorer(model, frame) == expected
        assert list(model.seen_.columns) == list(frame.columns)
        assert list(model.seen_.index) == list(frame.index)
        assert scorer(model, nullable) == expected

    @pytest.mark.parametrize("metric", metrics.get_scorer_names())
    def test_every_metric(self, wide, metric):
        model = ColumnMeans().fit(wide)
        score = metrics.HiddenCellScorer(metric)(model, wide)
        assert np.isfinite(score)
        assert score == metrics.HiddenCellScorer(metric)(model, wide)
        assert (score <= 0) == metric.startswith("neg_")

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_in_grid_search(self, wide, n_jobs):
        search = GridSearchCV(
            ColumnMeans(),
            {"strength": [0.0, 1.0]},
            scoring=metrics.HiddenCellScorer("neg_brier"),
            cv=KFold(3),
            n_jobs=n_jobs,
            error_score="raise",
        )
        # Threads spare the start of worker processes; pickling is tested below.
        with parallel_config("threading"):
            search.fit(wide)
        assert search.best_params_ == {"strength": 0.0}

    def test_pickle_and_errors(self, wide):
        scorer = pickle.loads(
            pickle.dumps(metrics.HiddenCellScorer("auc", share=0.3, random_state=1))
        )
        assert repr(scorer) == "HiddenCellScorer('auc', share=0.3, random_state=1)"
        plain = "HiddenCellScorer('neg_log_loss', share=0.2, random_state=0)"
        assert repr(metrics.HiddenCellScorer()) == plain
        model = ColumnMeans().fit(wide)
        with pytest.raises(ValueError, match=r"share must be in \(0, 1\), got 1"):
            metrics.HiddenCellScorer(share=1)(model, wide)
        with pytest.raises(ValueError, match="Unknown metric 'loss'"):
            metrics.HiddenCellScorer("loss")(model, wide)
        with pytest.raises(ValueError, match="two dimensions, got 1"):
            metrics.HiddenCellScorer()(model, wide[0])


class _Known:
    """Predicts what it is told to."""

    def __init__(self, classes, probabilities):
        self.classes_ = np.array(classes)
        self.probabilities = np.array(probabilities)

    def predict_proba(self, X):
        return self.probabilities


class TestLabelsOfScorers:
    X = [["a", "q"], ["b", "q"]]

    def test_one_class_alone_is_right_or_wrong_by_its_name(self):
        for label in (0, 1):
            model = _Known([label], [[1.0], [1.0]])
            assert metrics.accuracy_scorer(model, self.X, [label] * 2) == 1
            assert metrics.accuracy_scorer(model, self.X, [1 - label] * 2) == 0

    def test_the_larger_of_two_labels_is_a_right_answer(self):
        for labels in ([1, 2], ["no", "yes"], [False, True], [0.0, 1.0]):
            model = _Known(labels, [[0.9, 0.1], [0.2, 0.8]])
            assert metrics.accuracy_scorer(model, self.X, labels) == 1
            assert metrics.neg_mae_scorer(model, self.X, labels) == pytest.approx(-0.15)

    @pytest.mark.parametrize("labels", [["yes"], [2], [0, 1, 2], ["a", "b", "c"], []])
    def test_which_of_other_labels_are_right_is_not_guessed(self, labels):
        model = _Known(labels, np.full((2, len(labels)), 0.5))
        with pytest.raises(ValueError, match=r"classes wrong and right, got \["):
            metrics.accuracy_scorer(model, self.X, labels[:1] * 2)

    def test_a_gap_among_words_is_a_gap(self):
        model = _Known(["no", "yes"], [[0.9, 0.1], [0.2, 0.8]])
        target = ["no", float("nan")]
        assert metrics.neg_mae_scorer(model, self.X, target) == pytest.approx(-0.1)

    @pytest.mark.parametrize("share", [0, 1, -0.1, 1.1])
    def test_a_share_is_more_than_nothing_and_less_than_all(self, share):
        with pytest.raises(ValueError, match=r"share must be in \(0, 1\)"):
            metrics.HiddenCellScorer(share=share)(None, np.ones((2, 2)))
