"""Metrics of cells agree with scikit-learn where it applies, by hand elsewhere."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn import metrics as reference
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_mirt import metrics

CELL_METRICS = [
    metrics.cell_log_loss,
    metrics.cell_brier,
    metrics.cell_mae,
    metrics.rounded_accuracy,
    metrics.cell_auc,
]


@pytest.fixture
def binary():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    p[:5] = 0.5
    return (rng.random(300) < p).astype(float), p, rng.integers(0, 12, 300)


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


UNDEFINED = {
    metrics.cell_log_loss: "No cell is observed.",
    metrics.cell_brier: "No cell is observed.",
    metrics.cell_auc: "The AUC needs both right and wrong answers.",
    metrics.mean_score_spearman: "Ranks need at least two respondents of differing",
    metrics.mean_score_kendall: "Ranks need at least two respondents of differing",
}


@pytest.mark.parametrize("metric", UNDEFINED, ids=lambda metric: metric.__name__)
def test_an_undefined_metric_warns_why(metric):
    nothing = np.full((1, 2), np.nan)
    with pytest.warns(UndefinedMetricWarning, match=UNDEFINED[metric]):
        assert np.isnan(metric(nothing, np.full((1, 2), 0.5)))


def test_one_right_and_one_wrong_answer_have_an_auc_whatever_their_weight():
    for weight in (1e-3, 1.0):
        auc = metrics.cell_auc([1, 0], [0.2, 0.7], sample_weight=[weight, weight])
        assert auc == 0.0


@pytest.mark.parametrize(
    "metric", [metrics.mean_score_spearman, metrics.mean_score_kendall]
)
def test_two_respondents_are_in_the_right_or_the_wrong_order(metric):
    y = np.array([[1, 0], [1, 1]])
    assert metric(y, [[0.2, 0.3], [0.5, 0.7]]) == pytest.approx(1)
    assert metric(y, [[0.5, 0.7], [0.2, 0.3]]) == pytest.approx(-1)


@pytest.mark.parametrize(
    "metric", [metrics.mean_score_spearman, metrics.mean_score_kendall]
)
def test_weights_decide_the_order_of_respondents(metric):
    """The means observed are 3/4 and 1/3, or 1/4 and 2/3."""
    y, p = [[1, 0], [0, 1]], [[0.9, 0.9], [0.1, 0.1]]
    for weight, order in (([[3, 1], [2, 1]], 1), ([[1, 3], [1, 2]], -1)):
        assert metric(y, p, sample_weight=weight) == pytest.approx(order)


def test_cells_of_weight_two_are_cells_that_come_twice():
    rng = np.random.default_rng(0)
    X = np.array([(f"m{i}", f"q{j}") for i in range(6) for j in range(8)], object)
    y, p = rng.integers(0, 2, 48).astype(float), rng.random(48)
    weight = rng.integers(1, 3, 48)
    weighted = metrics.prediction_report(X, y, p, sample_weight=weight)
    twice = metrics.prediction_report(
        *(np.repeat(v, weight, axis=0) for v in (X, y, p))
    )
    columns = weighted.columns.drop(["n_cells", "n_respondents"])
    pd.testing.assert_frame_equal(weighted[columns], twice[columns])
