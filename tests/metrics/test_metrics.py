"""Masked metrics agree with scikit-learn where it applies, and by hand elsewhere."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn import metrics as reference
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from sklearn_mirt import metrics

CELL_METRICS = [
    metrics.cell_log_loss,
    metrics.cell_brier,
    metrics.cell_mae,
    metrics.rounded_accuracy,
    metrics.cell_auc,
]


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
def binary():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    p[:5] = 0.5
    return (rng.random(300) < p).astype(float), p, rng.integers(0, 12, 300)


@pytest.fixture
def cells():
    rng = np.random.default_rng(1)
    X = np.array([(f"m{i}", f"q{j:02d}") for i in range(12) for j in range(20)], object)
    y = (rng.random(240) < np.tile(np.linspace(0.1, 0.9, 20), 12)).astype(float)
    return X, y


class TestCellMetrics:
    def test_equal_scikit_learn_on_binary_answers(self, binary):
        y, p, _ = binary
        assert metrics.cell_log_loss(y, p) == pytest.approx(
            reference.log_loss(y, p), rel=1e-13
        )
        assert metrics.cell_brier(y, p) == pytest.approx(
            reference.brier_score_loss(y, p), rel=1e-13
        )
        assert metrics.cell_mae(y, p) == pytest.approx(
            reference.mean_absolute_error(y, p), rel=1e-13
        )
        assert metrics.rounded_accuracy(y, p) == pytest.approx(
            reference.accuracy_score(y, np.round(p)), rel=1e-13
        )
        assert metrics.cell_auc(y, p) == pytest.approx(
            reference.roc_auc_score(y, p), rel=1e-13
        )

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_log_loss_clips_at_machine_epsilon_only(self, dtype):
        p = np.array([0, 1, 1e-6], dtype=dtype)
        y = np.array([1.0, 1.0, 1.0])
        expected = -(np.log(np.finfo(dtype).eps) + np.log(float(p[2]))) / 3
        assert metrics.cell_log_loss(y, p) == pytest.approx(expected, rel=1e-6)
        assert metrics.cell_log_loss(y, p) == pytest.approx(
            reference.log_loss(y, p, labels=[0, 1]), rel=1e-6
        )

    def test_closed_forms_for_fractions(self):
        y, p = np.array([0.25, 0.5]), np.array([0.5, 0.8])
        loss = (np.log(2) - 0.5 * np.log(0.8 * 0.2)) / 2
        assert metrics.cell_log_loss(y, p) == pytest.approx(loss, rel=1e-14)
        assert metrics.cell_brier(y, p) == pytest.approx((0.0625 + 0.09) / 2)
        assert metrics.cell_mae(y, p) == pytest.approx((0.25 + 0.3) / 2)
        # 0.5 rounds to 0 (half to even), 0.8 to 1.
        assert metrics.rounded_accuracy(y, p) == pytest.approx((0.75 + 0.5) / 2)

    @pytest.mark.parametrize(
        "metric", [metrics.cell_log_loss, metrics.rounded_accuracy, metrics.cell_auc]
    )
    def test_a_fraction_is_its_repeats(self, metric):
        """A mean of 4 repeats with weight 4 scores as the 4 answers do."""
        rng = np.random.default_rng(3)
        p, right = rng.random(30), rng.integers(0, 5, 30)
        answers = np.concatenate([np.repeat([1.0, 0.0], [k, 4 - k]) for k in right])
        assert metric(right / 4, p, sample_weight=np.full(30, 4)) == pytest.approx(
            metric(answers, np.repeat(p, 4)), rel=1e-12
        )

    def test_brier_of_a_mean_lacks_the_spread_of_its_repeats(self):
        p, y = np.array([0.3, 0.8]), np.array([0.25, 0.75])
        answers = np.array([1, 0, 0, 0, 1, 1, 1, 0])
        spread = (y * (1 - y)).mean()
        assert metrics.cell_brier(y, p) + spread == pytest.approx(
            metrics.cell_brier(answers, np.repeat(p, 4)), rel=1e-12
        )

    @pytest.mark.parametrize("metric", CELL_METRICS)
    def test_weights_are_repetitions(self, metric, binary):
        y, p, _ = binary
        weight = np.random.default_rng(0).integers(0, 4, len(y))
        assert metric(y, p, sample_weight=weight) == pytest.approx(
            metric(np.repeat(y, weight), np.repeat(p, weight)), rel=1e-12
        )

    @pytest.mark.parametrize("metric", CELL_METRICS)
    def test_missing_targets_are_ignored(self, metric, binary):
        y, p, _ = binary
        gaps = np.arange(len(y)) % 3 == 0
        holed, prob = np.where(gaps, np.nan, y), np.where(gaps, np.nan, p)
        assert metric(holed, prob) == metric(y[~gaps], p[~gaps])

    @pytest.mark.parametrize("metric", CELL_METRICS)
    def test_accepted_forms(self, metric, binary):
        y, p, _ = binary
        value = metric(y, p)
        assert metric(y, np.column_stack([1 - p, p])) == value
        assert metric(y.reshape(30, 10), p.reshape(30, 10)) == value
        assert metric(y.tolist(), p.tolist()) == value
        assert metric(y.astype(bool), p) == value
        nullable = pd.Series(y).astype("Int64")
        assert metric(nullable, pd.Series(p, index=nullable.index + 7)) == value
        nullable[4] = pd.NA
        assert metric(nullable, p) == metric(np.delete(y, 4), np.delete(p, 4))

    def test_two_items_wide_is_not_predict_proba(self):
        y, p = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[0.1, 0.9], [0.8, 0.7]])
        assert metrics.cell_mae(y, p) == pytest.approx(0.175)

    @pytest.mark.parametrize("metric", CELL_METRICS)
    def test_nothing_observed_is_nan_with_a_warning(self, metric):
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(metric([np.nan, np.nan], [0.2, 0.3]))

    @pytest.mark.parametrize("answers", [0.0, 1.0])
    def test_auc_of_one_class_is_nan_with_a_warning(self, answers):
        with pytest.warns(UndefinedMetricWarning, match="both right and wrong"):
            assert np.isnan(metrics.cell_auc(np.full(4, answers), [0.1, 0.2, 0.3, 0.4]))

    @pytest.mark.parametrize(
        ("y", "p", "weight", "message"),
        [
            ([0, 1], [0.2], None, r"y_prob has shape \(1,\), y_true \(2,\)"),
            ([0, 1], [0.2, np.nan], None, r"y_prob must be in \[0, 1\].*1 are not"),
            ([0, 1], [0.2, 1.2], None, "the first is 1.2"),
            ([0, 2], [0.2, 0.3], None, r"y_true must be in \[0, 1\]"),
            ([0, 1], [0.2, 0.3], [1, -1], "sample_weight must be finite"),
            ([0, 1], [0.2, 0.3], [1], "sample_weight has shape"),
        ],
    )
    def test_bad_input(self, y, p, weight, message):
        with pytest.raises(ValueError, match=message):
            metrics.cell_brier(y, p, sample_weight=weight)

    @given(
        st.lists(
            st.tuples(st.floats(0, 1), st.floats(0.01, 0.99), st.floats(0.1, 3)),
            min_size=1,
            max_size=20,
        )
    )
    def test_no_probability_beats_the_score_itself(self, rows):
        """Log loss and Brier are proper: y itself is the best prediction of y."""
        y, p, weight = map(np.array, zip(*rows, strict=True))
        for metric in (metrics.cell_log_loss, metrics.cell_brier):
            best = metric(y, y, sample_weight=weight)
            assert metric(y, p, sample_weight=weight) >= best - 1e-12


class TestMeanScoreRanks:
    @pytest.mark.parametrize(
        ("metric", "statistic"),
        [
            (metrics.mean_score_spearman, stats.spearmanr),
            (metrics.mean_score_kendall, stats.kendalltau),
        ],
    )
    def test_ranks_of_respondent_means(self, metric, statistic, binary):
        y, p, respondents = binary
        means = pd.DataFrame({"y": y, "p": p}).groupby(respondents).mean()
        expected = statistic(means["y"], means["p"]).statistic
        assert metric(y, p, respondents) == pytest.approx(expected, rel=1e-12)
        names = [f"model-{r}" for r in respondents]
        assert metric(y, p, names) == pytest.approx(expected, rel=1e-12)

    def test_means_use_the_same_observed_cells(self):
        y = np.array([1, np.nan, 0, 0, 1, 1])
        p = np.array([0.6, 0.0, 0.3, 0.2, 0.9, 0.8])
        # Respondents a, b, c: observed 1, 0, 1; predicted 0.6, 0.25, 0.85.
        value = metrics.mean_score_kendall(y, p, list("aabbcc"))
        assert value == pytest.approx(stats.kendalltau([1, 0, 1], [0.6, 0.25, 0.85])[0])

    def test_weights_are_repetitions(self, binary):
        y, p, respondents = binary
        weight = np.random.default_rng(0).integers(0, 3, len(y))
        again = (np.repeat(v, weight) for v in (y, p, respondents))
        assert metrics.mean_score_spearman(
            y, p, respondents, sample_weight=weight
        ) == pytest.approx(metrics.mean_score_spearman(*again), rel=1e-12)

    def test_wide(self, binary):
        y, p, _ = binary
        rows = np.repeat(np.arange(20), 15)
        wide = y.reshape(20, 15), p.reshape(20, 15)
        expected = metrics.mean_score_spearman(y, p, rows)
        assert metrics.mean_score_spearman(*wide) == pytest.approx(expected)
        assert metrics.mean_score_spearman(*wide, np.arange(20)) == pytest.approx(
            expected
        )

    def test_undefined(self):
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(metrics.mean_score_spearman([0, 1], [0.2, 0.3], ["a", "a"]))
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(metrics.mean_score_kendall([1, 1], [0.2, 0.3], ["a", "b"]))

    def test_respondents_are_needed(self):
        with pytest.raises(ValueError, match="^respondents must be given"):
            metrics.mean_score_spearman([0, 1], [0.2, 0.3])
        with pytest.raises(ValueError, match="3 respondents given, y_true has 2"):
            metrics.mean_score_spearman([0, 1], [0.2, 0.3], ["a", "b", "c"])
        with pytest.raises(ValueError, match="1 cells have no respondent id"):
            metrics.mean_score_spearman([0, 1], [0.2, 0.3], ["a", None])


class TestReport:
    X = np.array([[m, q] for m in "abc" for q in ("x1", "x2", "z1")], object)
    y = np.array([1, 0, 1, 0, 0, 1, 1, 1, np.nan])
    p = np.array([0.9, 0.2, 0.6, 0.4, 0.1, 0.7, 0.8, 0.5, 0.3])
    groups = {"x1": "X", "x2": "X", "z1": "Z"}

    def test_by_hand(self):
        report = metrics.prediction_report(self.X, self.y, self.p, groups=self.groups)
        assert list(report.index) == ["X", "Z", "macro mean", "micro"]
        mae_x = (0.1 + 0.2 + 0.4 + 0.1 + 0.2 + 0.5) / 6
        mae_z = (0.4 + 0.3) / 2
        assert_allclose(
            report["mae"],
            [mae_x, mae_z, (mae_x + mae_z) / 2, (6 * mae_x + 2 * mae_z) / 8],
        )
        # The 0.5 of (c, x2) rounds to 0 and misses.
        assert_allclose(report["accuracy"], [5 / 6, 1, 11 / 12, 7 / 8])
        assert report["n_cells"].tolist() == [6, 2, 8, 8]
        assert report["n_respondents"].tolist() == [3, 2, 3, 3]
        # Z has right answers only: undefined there, and left out of the macro mean.
        assert np.isnan(report.loc["Z", "auc"])
        assert report.loc["macro mean", "auc"] == report.loc["X", "auc"]
        observed = ~np.isnan(self.y)
        assert report.loc["micro", "auc"] == pytest.approx(
            reference.roc_auc_score(self.y[observed], self.p[observed])
        )

    def test_every_column_is_its_function(self):
        report = metrics.prediction_report(self.X, self.y, self.p)
        assert list(report.index) == ["all", "macro mean", "micro"]
        for name, function in {
            "log_loss": metrics.cell_log_loss,
            "brier": metrics.cell_brier,
            "mae": metrics.cell_mae,
            "accuracy": metrics.rounded_accuracy,
            "auc": metrics.cell_auc,
        }.items():
            assert report.loc["all", name] == pytest.approx(function(self.y, self.p))
        for name, function in {
            "spearman": metrics.mean_score_spearman,
            "kendall": metrics.mean_score_kendall,
        }.items():
            expected = function(self.y, self.p, self.X[:, 0])
            assert report.loc["micro", name] == pytest.approx(expected)

    def test_forms_of_groups_and_input(self):
        by_item = metrics.prediction_report(self.X, self.y, self.p, groups=self.groups)
        by_cell = metrics.prediction_report(
            pd.DataFrame(self.X, index=range(5, 14)),
            pd.Series(self.y),
            np.column_stack([1 - self.p, self.p]),
            groups=[self.groups[q] for q in self.X[:, 1]],
        )
        by_series = metrics.prediction_report(
            self.X.tolist(), self.y, self.p, groups=pd.Series(self.groups)
        )
        pd.testing.assert_frame_equal(by_item, by_cell)
        pd.testing.assert_frame_equal(by_item, by_series)

    def test_group_without_answers(self):
        y = np.where(self.X[:, 1] == "z1", np.nan, self.y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = metrics.prediction_report(self.X, y, self.p, groups=self.groups)
        assert report.loc["Z", "n_cells"] == 0
        assert report.loc["Z"].drop(["n_cells", "n_respondents"]).isna().all()
        assert report.loc["macro mean", "mae"] == report.loc["X", "mae"]

    def test_a_gap_anywhere_is_as_if_the_cell_were_not_there(self):
        y = self.y.copy()
        y[1] = np.nan
        report = metrics.prediction_report(self.X, y, self.p, groups=self.groups)
        kept = ~np.isnan(y)
        without = metrics.prediction_report(
            self.X[kept], y[kept], self.p[kept], groups=self.groups
        )
        pd.testing.assert_frame_equal(report, without)
        assert report.loc["X", "mae"] == pytest.approx(
            (0.1 + 0.4 + 0.1 + 0.2 + 0.5) / 5
        )
        assert report.index.name == "group"

    def test_errors(self):
        no_name = self.X.copy()
        no_name[3, 0] = None
        with pytest.raises(ValueError, match="1 cells have no respondent id"):
            metrics.prediction_report(no_name, self.y, self.p)
        with pytest.raises(
            ValueError, match=r"1 items have no group, such as \['z1'\]"
        ):
            metrics.prediction_report(
                self.X, self.y, self.p, groups={"x1": "X", "x2": "X"}
            )
        with pytest.raises(ValueError, match="rename that group"):
            metrics.prediction_report(self.X, self.y, self.p, groups=["micro"] * 9)
        with pytest.raises(ValueError, match="must have two columns"):
            metrics.prediction_report(self.X[:, :1], self.y, self.p)
        with pytest.raises(ValueError, match="X has 9 cells but y has 8"):
            metrics.prediction_report(self.X, self.y[1:], self.p[1:])
        with pytest.raises(ValueError, match="2 group labels for 9 cells"):
            metrics.prediction_report(self.X, self.y, self.p, groups=["a", "b"])


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
        assert np.isfinite(metrics.HiddenCellScorer(metric)(model, wide))

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
        assert len(list(metrics.RespondentKFold(4).split(X))) == 4

    @pytest.mark.parametrize("splitter", [splitter for splitter, _ in WHOLE_SPLITTERS])
    def test_in_cross_validate(self, splitter, cells):
        X, y = cells
        result = cross_validate(
            ItemShrinker(),
            X,
            y,
            cv=splitter,
            scoring=metrics.neg_log_loss_scorer,
            error_score="raise",
        )
        assert len(result["test_score"]) == splitter.get_n_splits(X)
        assert np.isfinite(result["test_score"]).all()

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
