"""From an exact model and responses to the specification of a fit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from sklearn_mirt.data.checks import name_some
from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.models.item_models import FourPL, ItemModel, NormalPrior, ThreePL
from sklearn_mirt.solvers.quadrature import checks, start
from sklearn_mirt.solvers.quadrature.ability_distribution import LatentNormal
from sklearn_mirt.solvers.quadrature.model import ExactModel
from sklearn_mirt.solvers.quadrature.specification import (
    Specification,
    build_specification,
    make_blocks,
)

# an item that everybody answered alike has no finite estimate: it is held by these
_ALIKE = (NormalPrior(0.0, 1.0), NormalPrior(0.0, 3.0))
# nor does one whose answers are perfectly ordered by ability
ORDERED = (NormalPrior(0.0, 5.0), NormalPrior(0.0, 10.0))


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A specification with the recoded responses it is for."""

    spec: Specification
    responses: np.ndarray
    categories: list[np.ndarray]


def prepare(model: ExactModel, responses, items) -> PreparedModel:
    """Check a model against responses and set up its specification.

    Parameters
    ----------
    model : ExactModel
    responses : ndarray of shape (n_respondents, n_items)
    items : ndarray of item ids
    """
    n_items = len(items)
    models = model.models(n_items)
    pattern = _loading_pattern(model, items)
    coded, categories, alike = checks.recode_categories(responses, models, items)
    _warn_alike(items[alike])
    guessing = _known_guessing(model, n_items)
    models = _with_floors(models, guessing, items)
    slopes, anchors = _orientation(model, models, coded, pattern)
    blocks = make_blocks(models, [len(c) for c in categories], model.n_dims)
    held = np.isin(np.arange(n_items), alike)
    builder = _BlockBuilder(model, coded, pattern, anchors, slopes, guessing, held)
    latent = LatentNormal(
        model.n_dims,
        free_variances=any(m.unit_slope for m in models),
        free_correlations=model.correlated and model.n_dims > 1,
    )
    spec = build_specification(blocks, map(builder.build, blocks), latent)
    return PreparedModel(spec, coded, categories)


def _loading_pattern(model, items):
    """Return which slopes are free, None where all are."""
    n_items, q = len(items), model.q_matrix
    if q is None and n_items < model.n_dims:
        raise ValueError(
            f"An exact fit of n_dims={model.n_dims} dimensions needs at least as many "
            f"items, got {n_items}"
        )
    if q is not None:
        q = checks.check_q_matrix(q, n_items, model.n_dims, items)
    elif model.correlated and model.n_dims > 1:
        raise ValueError(
            "correlated=True needs a q_matrix: in an exploratory model correlations "
            "are a matter of rotation. Use rotation='oblimin' instead."
        )
    checks.warn_under_identified(q, n_items, model.n_dims, model.correlated)
    return q


def _warn_alike(items) -> None:
    if len(items):
        warnings.warn(
            f"Items {name_some(items)} have only one observed answer: no "
            "finite maximum likelihood estimate exists. They are held by weak "
            f"normal priors (slopes sd {_ALIKE[0].sd:g}, intercept sd "
            f"{_ALIKE[1].sd:g}).",
            ResponseDataWarning,
            stacklevel=5,
        )


def _known_guessing(model, n_items):
    """Return the known guessing floor of each item, NaN where it is estimated."""
    if model.guessing is None:
        return np.full(n_items, np.nan)
    guessing = np.broadcast_to(np.asarray(model.guessing, float), n_items)
    bad = ~np.isnan(guessing) & ~((guessing >= 0) & (guessing < 1))
    if bad.any():
        raise ValueError(f"guessing must lie in [0, 1), got {guessing[bad][0]:g}.")
    return guessing


def _with_floors(models, guessing, items) -> list[ItemModel]:
    """Give two-category items of positive known guessing a model that has a floor."""
    known: dict[int, ThreePL] = {}
    out = []
    for item, model, g in zip(items, models, guessing, strict=True):
        floor = g > 0  # not where it is NaN
        if floor and not model.dichotomous:
            raise ValueError(f"Item {item!r} ({model.name}) cannot have guessing.")
        if floor and not isinstance(model, FourPL):
            if model.common_slope or model.unit_slope:
                raise ValueError(
                    f"Item {item!r} ({model.name}) cannot have a guessing floor; "
                    "use item_model='2pl'."
                )
            model = known.setdefault(id(model), ThreePL(guessing_prior=None))
        out.append(model)
    return out


def _orientation(model, models, coded, pattern):
    """Return starting slopes, and the items that fix the orientation, or None.

    A loading pattern fixes it itself, and so do known slopes and a single dimension.
    """
    slopes = start.start_slopes(coded, model.n_dims, pattern)
    if pattern is not None:
        return slopes * pattern, None
    if model.n_dims == 1 or model.fixed.get("slopes") is not None:
        return slopes, None
    if any(m.unit_slope or m.common_slope for m in models):
        raise ValueError(
            "A Rasch or 1PL model in more than one dimension needs a q_matrix."
        )
    anchors = start.choose_anchors(slopes)
    return start.triangular(slopes, anchors), anchors


class _BlockBuilder:
    """Starting values, free mask and priors of one block of items."""

    def __init__(self, model, coded, pattern, anchors, slopes, guessing, alike):
        self.model, self.coded, self.pattern = model, coded, pattern
        self.anchors, self.slopes = anchors, slopes
        self.guessing, self.alike = guessing, alike

    def build(self, block):
        """Return (starts, free, priors) of a block."""
        starts, free = self._starts(block), self._free(block)
        if self.anchors is not None:
            # the rotation that made them zero left rounding behind
            slopes = starts[:, : block.n_dims]
            slopes[~free[:, : block.n_dims]] = 0.0
        self._apply_fixed(block, starts, free)
        return starts, free, self._priors(block)

    def _starts(self, block):
        slopes = self.slopes[block.items]
        if block.model.unit_slope:
            every = self.pattern is None
            slopes = np.ones_like(slopes) if every else self.pattern[block.items] * 1.0
        scale = np.sqrt(1.0 + (slopes**2).sum(1) / 2.89)
        shares = self._shares(block)
        extras = block.model.start_extras(shares, scale)
        return np.concatenate([slopes, extras], axis=1)

    def _shares(self, block):
        y = self.coded[:, block.items]
        answered = ~np.isnan(y)
        n = answered.sum(0) + block.n_categories
        if block.n_categories == 2:
            ones = (np.where(answered, y, 0.0).sum(0) + 1.0) / n
            return np.stack([1.0 - ones, ones], axis=1)
        hot = y[:, :, None] == np.arange(block.n_categories)
        return (hot.sum(0) + 1.0) / n[:, None]

    def _free(self, block):
        free = np.ones(block.shape, dtype=bool)
        n_dims = block.n_dims
        if self.pattern is not None:
            free[:, :n_dims] = self.pattern[block.items]
        if block.model.unit_slope:
            free[:, :n_dims] = False
        if self.anchors is not None:
            for rank, item in enumerate(self.anchors):
                free[block.items == item, rank + 1 : n_dims] = False
        return free

    def _priors(self, block):
        mean, precision = np.zeros(block.shape), np.zeros(block.shape)
        n_dims = block.n_dims
        extras = block.model.extra_priors(block.n_categories)
        common = [self.model.slope_prior] * n_dims + [self.model.intercept_prior]
        common += [None] * (block.n_parameters - n_dims - 1)
        for p, prior in enumerate(common):
            own = extras[p - n_dims] if p >= n_dims else None
            _set_prior(mean, precision, slice(None), p, own or prior)
        for rows, weak in (
            (np.isin(block.items, self.model.held), ORDERED),
            (self.alike[block.items], _ALIKE),
        ):
            for p in range(n_dims + 1):
                unheld = rows & (precision[:, p] == 0)
                _set_prior(mean, precision, unheld, p, weak[p == n_dims])
        return np.stack([mean, precision])

    def _apply_fixed(self, block, starts, free):
        """Put known values in place; anchors beyond a fixed slope stay as they are."""
        n_dims, fixed = block.n_dims, self.model.fixed
        columns = {"slopes": slice(n_dims), "intercepts": n_dims}
        for name, column in columns.items():
            if fixed.get(name) is not None:
                known = np.asarray(fixed[name], float)[block.items]
                _fix(starts[:, column], free[:, column], known, ~np.isnan(known))
        if block.n_parameters > n_dims + 1 and block.model.dichotomous:
            floors = self.guessing[block.items]
            at = floors > 0  # not where it is NaN
            _fix(starts[:, n_dims + 1], free[:, n_dims + 1], logit(floors), at)


def _fix(starts, free, values, at):
    starts[at], free[at] = values[at], False


def _set_prior(mean, precision, rows, column, prior):
    if prior is not None:
        mean[rows, column] = prior.mean
        precision[rows, column] = 1.0 / prior.sd**2
