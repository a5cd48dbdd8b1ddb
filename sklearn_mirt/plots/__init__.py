"""Pictures of audit tables: tables in, matplotlib axes out; nothing is fitted here.

The classes follow scikit-learn's displays: `from_audit` or `from_estimator` picks what
is needed and draws; `plot` draws again, on other axes. matplotlib is imported on first
use.
"""

from sklearn_mirt.plots.abilities import AbilityDisplay
from sklearn_mirt.plots.curves import (
    CalibrationDisplay,
    DimensionsDisplay,
    LowerBoundDisplay,
    PairDisplay,
    SelectionCurveDisplay,
)
from sklearn_mirt.plots.discrimination import DiscriminationDisplay
from sklearn_mirt.plots.heatmap import BenchmarkHeatmapDisplay
from sklearn_mirt.plots.items import (
    DifficultyDisplay,
    InformationDisplay,
    ItemCurvesDisplay,
)
from sklearn_mirt.plots.style import dimensions_of, significance_stars

__all__ = [
    "AbilityDisplay",
    "BenchmarkHeatmapDisplay",
    "CalibrationDisplay",
    "DifficultyDisplay",
    "DimensionsDisplay",
    "DiscriminationDisplay",
    "InformationDisplay",
    "ItemCurvesDisplay",
    "LowerBoundDisplay",
    "PairDisplay",
    "SelectionCurveDisplay",
    "dimensions_of",
    "significance_stars",
]
