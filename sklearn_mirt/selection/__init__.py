"""Choosing items: which few answers tell most about the score on the whole bank."""

from sklearn_mirt.selection.selector import InformativeItemSelector
from sklearn_mirt.selection.strategies import (
    AnchorStrategy,
    DiscriminationStrategy,
    InformationStrategy,
    KrigingStrategy,
    RandomStrategy,
    StratifiedStrategy,
)

__all__ = [
    "AnchorStrategy",
    "DiscriminationStrategy",
    "InformationStrategy",
    "InformativeItemSelector",
    "KrigingStrategy",
    "RandomStrategy",
    "StratifiedStrategy",
]
