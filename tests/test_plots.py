"""Displays draw what the tables say."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from sklearn_mirt.plots import (  # noqa: E402 - after the backend is chosen
    BenchmarkHeatmapDisplay,
    DiscriminationDisplay,
    significance_stars,
)


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
