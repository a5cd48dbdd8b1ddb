"""Draws every display of the package, in a light and a dark style, into one folder.

Run by `make plots`; the pictures are for looking at before a release.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
from matplotlib.image import imread

from sklearn_mirt import (
    audit_benchmarks,
    choose_dimensions,
    compare_respondents,
    plots,
    selection_curve,
)
from sklearn_mirt.datasets import make_benchmark_suite


def displays(audit, choice, pair, curve):
    """Return (name, function that draws) of every display."""
    model = audit.estimator
    return [
        ("heat map", lambda: plots.BenchmarkHeatmapDisplay.from_audit(audit)),
        ("discrimination", lambda: plots.DiscriminationDisplay.from_audit(audit)),
        ("difficulty", lambda: plots.DifficultyDisplay.from_audit(audit)),
        ("ability ranking", lambda: plots.AbilityDisplay.from_audit(audit)),
        ("ability map", lambda: plots.AbilityDisplay.from_audit(audit, kind="map")),
        ("item curves", lambda: plots.ItemCurvesDisplay.from_estimator(model)),
        (
            "item surface",
            lambda: plots.ItemCurvesDisplay.from_estimator(model, kind="surface"),
        ),
        ("information", lambda: plots.InformationDisplay.from_estimator(model)),
        (
            "information map",
            lambda: plots.InformationDisplay.from_estimator(model, kind="map"),
        ),
        ("lower bound", lambda: plots.LowerBoundDisplay.from_estimator(model)),
        ("dimensions", lambda: plots.DimensionsDisplay.from_choice(choice)),
        ("calibration", lambda: plots.CalibrationDisplay.from_audit(audit)),
        ("pair", lambda: plots.PairDisplay.from_table(pair)),
        ("selection", lambda: plots.SelectionCurveDisplay.from_curve(curve)),
    ]


def main(folder, scale=1.0):
    """Fit the synthetic suite, draw everything, and join the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    suite = make_benchmark_suite(scale=scale, random_state=0)
    items = suite.item_table.set_index("item_id")
    audit = audit_benchmarks(suite.responses, items=items, held_out=0.1)
    benchmark = items["benchmark"]
    choice = choose_dimensions(suite.responses, n_dims=(1, 2, 3), item_groups=benchmark)
    first, second = suite.responses.index[:2]
    pair = compare_respondents(audit.estimator, suite.responses, first, second)
    small = suite.responses.iloc[:, ::40]
    curve = selection_curve(small, budgets=(10, 25, 50, 100), cv=3, n_draws=2)
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            files = []
            for name, draw in displays(audit, choice, pair, curve):
                files.append(folder / f"{name.replace(' ', '-')}-{style[:4]}.png")
                draw().figure_.savefig(files[-1], dpi=110)
                plt.close("all")
            figure, axes = plt.subplots(4, 4, figsize=(22, 20), layout="constrained")
            for ax in axes.flat:
                ax.set_axis_off()
            for ax, file in zip(axes.flat, files, strict=False):
                ax.imshow(imread(file))
            figure.savefig(folder / f"contact-sheet-{style[:4]}.png", dpi=80)
            plt.close("all")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:]))
