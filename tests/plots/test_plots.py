"""Displays draw what the tables say."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
pytest.importorskip("matplotlib.pyplot")

from sklearn_mirt import (  # noqa: E402
    MIRTTransformer,
    audit_benchmarks,
    compare_respondents,
    plots,
)
from sklearn_mirt.datasets import make_benchmark_suite  # noqa: E402
from sklearn_mirt.plots import (  # noqa: E402
    BenchmarkHeatmapDisplay,
    DiscriminationDisplay,
    significance_stars,
)
from sklearn_mirt.plots.abilities import tie_sets  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def fake_audit(n_benchmarks=3, n_dims=2, n_items=60, seed=0):
    rng = np.random.default_rng(seed)
    names = [f"bench{k}" for k in range(n_benchmarks)]
    dims = [f"dim{d + 1}" for d in range(n_dims)]
    r = rng.uniform(-1, 1, (n_benchmarks, n_dims))
    table = pd.DataFrame(r, index=names, columns=[f"r_{d}" for d in dims])
    for dim in dims:
        table[f"p_{dim}"] = 0.02
    slopes = rng.normal(size=(n_items, n_dims))
    items = pd.DataFrame(slopes, columns=[f"slope_{d}" for d in dims])
    items["benchmark"] = rng.choice(names, n_items)
    return SimpleNamespace(benchmarks=table, items=items)


def test_heat_map_shows_every_correlation_with_its_stars():
    audit = fake_audit()
    audit.benchmarks.loc["bench0", ["r_dim1", "p_dim1"]] = [-0.5, 0.0004]
    audit.benchmarks.loc["bench1", ["r_dim1", "p_dim1"]] = [np.nan, np.nan]
    display = BenchmarkHeatmapDisplay.from_audit(audit)
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts[0] == "\N{MINUS SIGN}0.50***"
    assert texts[2] == "n/a"
    assert texts[1].endswith("*") and not texts[1].endswith("**")
    rows = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert rows == ["bench0", "bench1", "bench2"]
    columns = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert columns == ["dimension 1", "dimension 2"]
    assert display.image_.get_clim() == (-1, 1)


@pytest.mark.parametrize(
    ("p", "stars"),
    [(0.0005, "***"), (0.001, "**"), (0.01, "*"), (0.05, ""), (np.nan, "")],
)
def test_stars(p, stars):
    assert significance_stars(p) == stars


def test_heat_map_draws_on_given_axes_and_without_p_values():
    figure, ax = matplotlib.pyplot.subplots()
    audit = fake_audit()
    audit.benchmarks = audit.benchmarks[["r_dim1", "r_dim2"]]
    display = BenchmarkHeatmapDisplay.from_audit(audit, ax=ax)
    assert display.ax_ is ax and display.figure_ is figure


def test_scatter_draws_all_items_of_a_small_audit_and_names_the_benchmarks():
    audit = fake_audit()
    display = DiscriminationDisplay.from_audit(audit)
    assert display.n_shown_ == len(audit.items)
    points = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(
        np.sort(points[:, 0]), np.sort(audit.items["slope_dim1"])
    )
    labels = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert labels == {"bench0", "bench1", "bench2"}
    means = {c.get_label(): c.get_offsets()[0] for c in display.ax_.collections[1:]}
    expected = audit.items.groupby("benchmark")[["slope_dim1", "slope_dim2"]].mean()
    for name, mean in means.items():
        np.testing.assert_allclose(mean, expected.loc[name])


def test_scatter_of_many_items_draws_part_of_each_benchmark_the_same_each_time():
    audit = fake_audit(n_items=80_000)
    audit.items.loc[:24, "benchmark"] = "tiny"
    displays = [DiscriminationDisplay.from_audit(audit) for _ in range(2)]
    drawn = [d.ax_.collections[0].get_offsets() for d in displays]
    np.testing.assert_array_equal(*drawn)
    assert 6000 <= displays[0].n_shown_ <= 6100
    tiny = audit.items.query("benchmark == 'tiny'")["slope_dim1"]
    assert np.isin(tiny, drawn[0][:, 0]).sum() == 20
    assert displays[0].ax_.collections[0].get_rasterized()


def test_scatter_joins_the_smallest_of_very_many_benchmarks():
    display = DiscriminationDisplay.from_audit(
        fake_audit(n_benchmarks=45, n_items=2000)
    )
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert len(labels) == 30 and labels[-1] == "16 smaller ones"


def test_scatter_of_one_dimension_has_a_line_for_each_benchmark():
    display = DiscriminationDisplay.from_audit(fake_audit(n_dims=1))
    labels = {label.get_text() for label in display.ax_.get_yticklabels()}
    assert labels == {"bench0", "bench1", "bench2"}


def test_scatter_without_an_item_table_has_one_group():
    audit = fake_audit()
    audit.items = audit.items.drop(columns="benchmark")
    assert DiscriminationDisplay.from_audit(audit).ax_.get_legend() is None


def test_a_table_without_the_columns_is_refused_by_name():
    audit = fake_audit()
    audit.items.columns = [c.replace("slope", "a") for c in audit.items]
    with pytest.raises(ValueError, match="starts with 'slope_'"):
        DiscriminationDisplay.from_audit(audit)


# ------------------------------------------------------------------ the other displays


@pytest.fixture(scope="module")
def fitted():
    suite = make_benchmark_suite(30, scale=0.02, random_state=0)
    items = suite.item_table.set_index("item_id")
    return suite, audit_benchmarks(suite.responses, items=items, held_out=0.2)


def test_heat_map_prefers_adjusted_p_values_and_writes_what_is_stated(fitted):
    _, audit = fitted
    display = plots.BenchmarkHeatmapDisplay.from_audit(audit)
    assert display.ax_.get_xlabel().startswith("adjusted p")
    np.testing.assert_array_equal(
        display.p_values, audit.benchmarks[["q_dim1", "q_dim2"]]
    )
    assert "BBH (reasoning)" in [t.get_text() for t in display.ax_.get_yticklabels()]


def test_ability_ranking_is_sorted_with_intervals(fitted):
    _, audit = fitted
    ax = plots.AbilityDisplay.from_audit(audit, dim=1).ax_
    x = ax.lines[0].get_xdata()
    np.testing.assert_array_equal(x, np.sort(audit.abilities["dim2"])[::-1])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == audit.abilities["dim2"].idxmax()
    segment = ax.collections[0].get_segments()[0]
    half = 1.959964 * audit.abilities["se_dim2"].loc[names[0]]
    np.testing.assert_allclose(segment[:, 0], [x[0] - half, x[0] + half], rtol=1e-5)


def test_tie_sets_begin_anew_where_the_difference_exceeds_its_error():
    sets = tie_sets(np.array([3.0, 2.9, 1.0, 0.95]), np.full(4, 0.1), 1.96)
    assert sets.tolist() == [0, 0, 1, 1]


def test_ability_map_draws_every_respondent_at_its_place(fitted):
    _, audit = fitted
    ax = plots.AbilityDisplay.from_audit(audit, kind="map").ax_
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), audit.abilities["dim2"])
    assert len(ax.texts) == len(audit.abilities)


def test_item_curve_is_the_logistic_curve_along_the_item(fitted):
    _, audit = fitted
    name = audit.items.index[7]
    ax = plots.ItemCurvesDisplay.from_estimator(audit.estimator, [name]).ax_
    x, y = ax.lines[0].get_data()
    item = audit.items.loc[name]
    np.testing.assert_allclose(y, expit(item["mdisc"] * x + item["intercept"]))
    with pytest.raises(ValueError, match="no item 'none'"):
        plots.ItemCurvesDisplay.from_estimator(audit.estimator, ["none"])


def test_item_surface_needs_two_dimensions(fitted):
    _, audit = fitted
    model = audit.estimator
    display = plots.ItemCurvesDisplay.from_estimator(model, kind="surface")
    assert display.ax_.get_xlabel() == "ability, dimension 1"
    one = MIRTTransformer(1).fit(np.eye(12))
    with pytest.raises(ValueError, match="2 dimensions, got 1"):
        plots.ItemCurvesDisplay.from_estimator(one, kind="surface")


def test_information_display_draws_a_curve_for_each_dimension(fitted):
    _, audit = fitted
    ax = plots.InformationDisplay.from_estimator(audit.estimator).ax_
    assert len(ax.lines) == 2 and ax.get_ylim()[0] == 0
    display = plots.InformationDisplay.from_estimator(audit.estimator, kind="map")
    assert display.ax_.get_ylabel() == "ability, dimension 2"


def test_difficulty_display_says_how_many_items_are_beyond_its_axis(fitted):
    _, audit = fitted
    ax = plots.DifficultyDisplay.from_audit(audit).ax_
    n = int((audit.items["mdiff"].abs() > 5).sum())
    assert ax.get_title().endswith(f"{n:,} beyond the axis")
    drawn = ax.collections[0].get_array().sum()
    assert drawn == len(audit.items) - n
    assert len(ax.get_legend().get_texts()) == len(audit.benchmarks)


def test_lower_bound_display_falls_to_the_last_bound(fitted):
    _, audit = fitted
    ax = plots.LowerBoundDisplay.from_estimator(audit.estimator).ax_
    bounds = audit.estimator.lower_bounds_
    np.testing.assert_allclose(ax.lines[0].get_ydata()[0], bounds[-1] - bounds[0])
    assert ax.get_yscale() == "log"


def test_dimensions_display_rings_the_recommended_number():
    table = pd.DataFrame({"excess": [0.2, 0.0], "se_excess": [0.05, 0.0]}, index=[1, 2])
    ax = plots.DimensionsDisplay(table, recommended=2).plot().ax_
    assert ax.lines[-2].get_xdata().tolist() == [2]
    assert "recommended, 2" in ax.get_xlabel()


def test_calibration_display_draws_the_bins_or_says_how_to_get_them(fitted):
    suite, audit = fitted
    ax = plots.CalibrationDisplay.from_audit(audit).ax_
    table = audit.held_out.calibration
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), table["observed"])
    with pytest.raises(ValueError, match="held_out=0.1"):
        plots.CalibrationDisplay.from_audit(SimpleNamespace(held_out=None))


def test_pair_display_draws_the_bins_of_each_dimension(fitted):
    suite, audit = fitted
    first, second = suite.responses.index[:2]
    table = compare_respondents(audit.estimator, suite.responses, first, second)
    ax = plots.PairDisplay.from_table(table).ax_
    drawn = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 5]
    bins = [f"bin {k}" for k in range(1, 6)]
    difference = table.loc["dim1"].loc[bins, "difference"]
    np.testing.assert_allclose(drawn[0], difference.astype(float))


def test_selection_curve_is_the_mean_over_splits_at_each_size():
    curve = pd.DataFrame(
        {
            "strategy": ["kriging", "kriging", "random", "random"],
            "scorer": "full_score",
            "n_items": 10,
            "split": [0, 1, 0, 1],
            "spearman": [0.9, 0.8, 0.5, 0.7],
        }
    )
    ax = plots.SelectionCurveDisplay.from_curve(curve).ax_
    drawn = [line.get_ydata() for line in ax.lines[::3]]
    np.testing.assert_allclose(drawn, [[0.85], [0.6]])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["10"]
    with pytest.raises(ValueError, match="no column 'tau'"):
        plots.SelectionCurveDisplay.from_curve(curve, metric="tau")


def test_contact_sheet_draws_every_display(fitted):
    source = Path(__file__).parents[2] / "docs" / "contact_sheet.py"
    if not source.exists():
        pytest.skip("docs/contact_sheet.py is not part of this installation")
    text = source.read_text(encoding="utf-8")
    displays = [name for name in plots.__all__ if name.endswith("Display")]
    assert [name for name in displays if name not in text] == []
