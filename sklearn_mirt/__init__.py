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

from sklearn_mirt._version import __version__

if TYPE_CHECKING:
    from sklearn_mirt import datasets, metrics
    from sklearn_mirt.audit.audit import BenchmarkAudit, audit_benchmarks
    from sklearn_mirt.audit.dimension_runs import compare_runs
    from sklearn_mirt.data.files.read import read_items, read_responses
    from sklearn_mirt.data.responses import ResponseData
    from sklearn_mirt.data.shards.responses import ShardedResponses
    from sklearn_mirt.diagnostics.bootstrap import bootstrap, combined_intervals
    from sklearn_mirt.diagnostics.global_fit import global_fit, likelihood_ratio
    from sklearn_mirt.diagnostics.item_fit import item_fit
    from sklearn_mirt.diagnostics.null_control import null_control
    from sklearn_mirt.diagnostics.respondent_fit import person_zh
    from sklearn_mirt.diagnostics.respondent_pairs import (
        benchmirt_pair_comparison,
        compare_respondents,
    )
    from sklearn_mirt.diagnostics.stability import dimension_stability
    from sklearn_mirt.estimators.alignment import align_fits
    from sklearn_mirt.estimators.baselines import (
        AdditiveClassifier,
        GroupMeanScoreClassifier,
        ItemMeanClassifier,
        MeanScoreClassifier,
    )
    from sklearn_mirt.estimators.classifier import MIRTClassifier
    from sklearn_mirt.estimators.dimensions import choose_dimensions
    from sklearn_mirt.estimators.transformer import MIRTTransformer
    from sklearn_mirt.models.abilities import Abilities
    from sklearn_mirt.models.item_bank import ItemBank, load_item_bank, save_item_bank
    from sklearn_mirt.models.items import ItemParameters
    from sklearn_mirt.selection import InformativeItemSelector
    from sklearn_mirt.selection.curves import (
        recommend_size,
        selection_curve,
        summarize_curve,
    )
    from sklearn_mirt.selection.full_scores import (
        FullScoreRegressor,
        RawMeanScorer,
        RidgeScorer,
        StratifiedMeanScorer,
        compare_scores,
    )
    from sklearn_mirt.solvers.quadrature.fit import ExactSettings, fit_quadrature
    from sklearn_mirt.solvers.quadrature.model import ExactModel
    from sklearn_mirt.solvers.quadrature.respondent_scores import score_respondents

# One table for the three things below: where each public name lives.
_HOME = {
    "Abilities": "models.abilities",
    "AdditiveClassifier": "estimators.baselines",
    "BenchmarkAudit": "audit.audit",
    "ExactModel": "solvers.quadrature.model",
    "ExactSettings": "solvers.quadrature.fit",
    "FullScoreRegressor": "selection.full_scores",
    "GroupMeanScoreClassifier": "estimators.baselines",
    "InformativeItemSelector": "selection",
    "ItemBank": "models.item_bank",
    "ItemMeanClassifier": "estimators.baselines",
    "ItemParameters": "models.items",
    "MIRTClassifier": "estimators.classifier",
    "MIRTTransformer": "estimators.transformer",
    "MeanScoreClassifier": "estimators.baselines",
    "RawMeanScorer": "selection.full_scores",
    "ResponseData": "data.responses",
    "RidgeScorer": "selection.full_scores",
    "ShardedResponses": "data.shards.responses",
    "StratifiedMeanScorer": "selection.full_scores",
    "align_fits": "estimators.alignment",
    "audit_benchmarks": "audit.audit",
    "benchmirt_pair_comparison": "diagnostics.respondent_pairs",
    "bootstrap": "diagnostics.bootstrap",
    "choose_dimensions": "estimators.dimensions",
    "combined_intervals": "diagnostics.bootstrap",
    "compare_respondents": "diagnostics.respondent_pairs",
    "compare_runs": "audit.dimension_runs",
    "compare_scores": "selection.full_scores",
    "dimension_stability": "diagnostics.stability",
    "fit_quadrature": "solvers.quadrature.fit",
    "global_fit": "diagnostics.global_fit",
    "item_fit": "diagnostics.item_fit",
    "likelihood_ratio": "diagnostics.global_fit",
    "load_item_bank": "models.item_bank",
    "null_control": "diagnostics.null_control",
    "person_zh": "diagnostics.respondent_fit",
    "read_items": "data.files.read",
    "read_responses": "data.files.read",
    "recommend_size": "selection.curves",
    "save_item_bank": "models.item_bank",
    "score_respondents": "solvers.quadrature.respondent_scores",
    "selection_curve": "selection.curves",
    "summarize_curve": "selection.curves",
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
