"""The models of an answer given an ability: one class per item type."""

from sklearn_mirt.models.item_models.base import ItemModel, NormalPrior
from sklearn_mirt.models.item_models.logistic import (
    FourPL,
    OnePL,
    Rasch,
    ThreePL,
    TwoPL,
)
from sklearn_mirt.models.item_models.ordinal import (
    GeneralizedPartialCredit,
    GradedResponse,
)

__all__ = [
    "FourPL",
    "GeneralizedPartialCredit",
    "GradedResponse",
    "ItemModel",
    "NormalPrior",
    "OnePL",
    "Rasch",
    "ThreePL",
    "TwoPL",
    "get_item_model",
]

_MODELS = {
    model.name: model
    for model in (
        Rasch, OnePL, TwoPL, ThreePL, FourPL, GradedResponse, GeneralizedPartialCredit,
    )
}  # fmt: skip


def get_item_model(model: str | ItemModel) -> ItemModel:
    """Return the item model of a name ("2pl", "graded" ...) or the model given."""
    if isinstance(model, ItemModel):
        return model
    if isinstance(model, str) and model.lower() in _MODELS:
        return _MODELS[model.lower()]()
    raise ValueError(
        f"item_model={model!r} is not known; choose one of {sorted(_MODELS)} or pass "
        "an ItemModel."
    )
