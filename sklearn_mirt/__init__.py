"""Multidimensional item response theory with the scikit-learn API.

Public names are imported on first use, so that ``import sklearn_mirt`` loads neither
a compiler (numba) nor a table or plotting library (pandas, matplotlib).

Examples
--------
>>> import sklearn_mirt
>>> "MIRTClassifier" in dir(sklearn_mirt)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from sklearn_mirt import datasets, metrics
    from sklearn_mirt.abilities import Abilities
    from sklearn_mirt.alignment import align_fits
    from sklearn_mirt.audit import BenchmarkAudit, audit_benchmarks
    from sklearn_mirt.bank import ItemBank, load_item_bank, save_item_bank
    from sklearn_mirt.baselines import (
        AdditiveClassifier,
        GroupMeanScoreClassifier,
        ItemMeanClassifier,
        MeanScoreClassifier,
    )
    from sklearn_mirt.budgets import recommend_size, selection_curve, summarize_curve
    from sklearn_mirt.classifier import MIRTClassifier
    from sklearn_mirt.comparison import benchmirt_pair_comparison, compare_respondents
    from sklearn_mirt.data import ResponseData
    from sklearn_mirt.diagnostics import null_control
    from sklearn_mirt.dimensions import choose_dimensions
    from sklearn_mirt.files import read_items, read_responses
    from sklearn_mirt.fit_statistics import (
        global_fit,
        item_fit,
        likelihood_ratio,
        person_zh,
    )
    from sklearn_mirt.items import ItemParameters
    from sklearn_mirt.runs import compare_runs
    from sklearn_mirt.scoring import (
        FullScoreRegressor,
        RawMeanScorer,
        RidgeScorer,
        StratifiedMeanScorer,
        compare_scores,
    )
    from sklearn_mirt.selection import InformativeItemSelector
    from sklearn_mirt.shards import ShardedResponses
    from sklearn_mirt.solvers.design import ExactModel
    from sklearn_mirt.solvers.person_scores import score_respondents
    from sklearn_mirt.solvers.quadrature import ExactSettings, fit_quadrature
    from sklearn_mirt.stability import dimension_stability
    from sklearn_mirt.transformer import MIRTTransformer
    from sklearn_mirt.uncertainty import bootstrap, combined_intervals

# One table for the three things below: where each public name lives.
_HOME = {
    "Abilities": "abilities",
    "AdditiveClassifier": "baselines",
    "BenchmarkAudit": "audit",
    "ExactModel": "solvers.design",
    "ExactSettings": "solvers.quadrature",
    "FullScoreRegressor": "scoring",
    "GroupMeanScoreClassifier": "baselines",
    "InformativeItemSelector": "selection",
    "ItemBank": "bank",
    "ItemMeanClassifier": "baselines",
    "ItemParameters": "items",
    "MIRTClassifier": "classifier",
    "MIRTTransformer": "transformer",
    "MeanScoreClassifier": "baselines",
    "RawMeanScorer": "scoring",
    "ResponseData": "data",
    "RidgeScorer": "scoring",
    "ShardedResponses": "shards",
    "StratifiedMeanScorer": "scoring",
    "align_fits": "alignment",
    "audit_benchmarks": "audit",
    "benchmirt_pair_comparison": "comparison",
    "bootstrap": "uncertainty",
    "choose_dimensions": "dimensions",
    "combined_intervals": "uncertainty",
    "compare_respondents": "comparison",
    "compare_runs": "runs",
    "compare_scores": "scoring",
    "dimension_stability": "stability",
    "fit_quadrature": "solvers.quadrature",
    "global_fit": "fit_statistics",
    "item_fit": "fit_statistics",
    "likelihood_ratio": "fit_statistics",
    "load_item_bank": "bank",
    "null_control": "diagnostics",
    "person_zh": "fit_statistics",
    "read_items": "files",
    "read_responses": "files",
    "recommend_size": "budgets",
    "save_item_bank": "bank",
    "score_respondents": "solvers.person_scores",
    "selection_curve": "budgets",
    "summarize_curve": "budgets",
}
_MODULES = frozenset({"datasets", "metrics"})

__all__ = [
    "Abilities",
    "AdditiveClassifier",
    "BenchmarkAudit",
    "ExactModel",
    "ExactSettings",
    "FullScoreRegressor",
    "GroupMeanScoreClassifier",
    "InformativeItemSelector",
    "ItemBank",
    "ItemMeanClassifier",
    "ItemParameters",
    "MIRTClassifier",
    "MIRTTransformer",
    "MeanScoreClassifier",
    "RawMeanScorer",
    "ResponseData",
    "RidgeScorer",
    "ShardedResponses",
    "StratifiedMeanScorer",
    "__version__",
    "align_fits",
    "audit_benchmarks",
    "benchmirt_pair_comparison",
    "bootstrap",
    "choose_dimensions",
    "combined_intervals",
    "compare_respondents",
    "compare_runs",
    "compare_scores",
    "datasets",
    "dimension_stability",
    "fit_quadrature",
    "global_fit",
    "item_fit",
    "likelihood_ratio",
    "load_item_bank",
    "metrics",
    "null_control",
    "person_zh",
    "read_items",
    "read_responses",
    "recommend_size",
    "save_item_bank",
    "score_respondents",
    "selection_curve",
    "summarize_curve",
]


def __getattr__(name: str) -> object:
    """Import the module behind a public name the first time it is asked for."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        # Kept, so that the next look-up does not come through here.
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(set(globals()) | set(__all__))
