"""From a user's description of an exact model to its specification."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logit

from sklearn_mirt.data.checks import name_some
from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.models.item_models import (
    FourPL,
    ItemModel,
    NormalPrior,
    ThreePL,
    get_item_model,
)
from sklearn_mirt.solvers.quadrature import checks
from sklearn_mirt.solvers.quadrature import start as exact_start
from sklearn_mirt.solvers.quadrature.ability_distribution import LatentNormal
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
class ExactModel:
    """What is to be fitted.

    Parameters
    ----------
    item_model : str, ItemModel, or a sequence of them, one per item
    n_dims : int
    q_matrix : array of shape (n_items, n_dims), optional
        1 where a slope is free, 0 where it is fixed at zero. None is exploratory: all
        slopes free but for the n_dims (n_dims - 1) / 2 that fix the orientation.
    correlated : bool
        Free correlations between abilities; needs a q_matrix.
    guessing : array of shape (n_items,), optional
        Known guessing floors; NaN where guessing is estimated (3pl, 4pl).
    slope_prior, intercept_prior : NormalPrior, optional
        Priors that turn maximum likelihood into maximum a posteriori.
    fixed : dict, optional
        Known values, NaN where free: "slopes" (n_items, n_dims) and "intercepts"
        (n_items,). They come back bit-equal.
    held : tuple of int
        Positions of items whose slopes and intercepts get weak priors (sd 5 and 10).
    """

    item_model: str | ItemModel | Sequence[str | ItemModel] = "2pl"
    n_dims: int = 1
    q_matrix: object = None
    correlated: bool = False
    guessing: object = None
    slope_prior: NormalPrior | None = None
    intercept_prior: NormalPrior | None = None
    fixed: dict = field(default_factory=dict)
    held: tuple[int, ...] = ()

    def models(self, n_items: int) -> list[ItemModel]:
        """Return one item model per item; equal names share one object."""
        given = self.item_model
        if isinstance(given, str | ItemModel):
            return [get_item_model(given)] * n_items
        given = list(given)
        if len(given) != n_items:
            raise ValueError(
                f"item_model names {len(given)} models for {n_items} items."
            )
        known = {name: get_item_model(name) for name in given if isinstance(name, str)}
        return [known[m] if isinstance(m, str) else m for m in given]


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A specification with the recoded responses it is for."""

    spec: Specification
    responses: np.ndarray
    categories: list[np.ndarray]
    single_category: list


def prepare(model: ExactModel, responses, items) -> PreparedModel:
    """Check a model against responses and set up its specification.

    Parameters
    ----------
    model : ExactModel
    responses : ndarray of shape (n_respondents, n_items)
    items : ndarray of item ids
    """
    n_items = responses.shape[1]
    models = model.models(n_items)
    q = model.q_matrix
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
    coded, categories, single = checks.recode_categories(responses, models, items)
    _warn_single(single)
    guessing = _guessing(model, n_items)
    models = _with_known_guessing(models, guessing, items)
    counts = np.array([len(c) for c in categories])
    blocks = make_blocks(models, counts, model.n_dims)
    slopes = _start_slopes(coded, q, model.n_dims)
    # known slopes fix the orientation themselves
    known = model.fixed.get("slopes") is not None
    anchors = None if known else _anchors(slopes, q, models)
    if anchors is not None:
        slopes = exact_start.triangular(slopes, anchors)
    alike = np.isin(np.arange(n_items), [list(items).index(i) for i in single])
    builder = _BlockBuilder(model, coded, q, anchors, slopes, guessing, alike)
    parts = [builder.build(block) for block in blocks]
    unit = any(m.unit_slope for m in models)
    latent = LatentNormal(
        model.n_dims,
        free_variances=unit,
        free_correlations=model.correlated and model.n_dims > 1,
    )
    spec = build_specification(
        blocks,
        [p[0] for p in parts],
        [p[1] for p in parts],
        latent,
        [p[2] for p in parts],
    )
    return PreparedModel(spec, coded, categories, single)


def _warn_single(single) -> None:
    if single:
        warnings.warn(
            f"Items {name_some(single)} have only one observed answer: no "
            "finite maximum likelihood estimate exists. They are held by weak "
            f"normal priors (slopes sd {_ALIKE[0].sd:g}, intercept sd "
            f"{_ALIKE[1].sd:g}).",
            ResponseDataWarning,
            stacklevel=5,
        )


def _guessing(model, n_items):
    if model.guessing is None:
        return np.full(n_items, np.nan)
    guessing = np.broadcast_to(np.asarray(model.guessing, float), n_items)
    bad = ~np.isnan(guessing) & ~((guessing >= 0) & (guessing < 1))
    if bad.any():
        raise ValueError(f"guessing must lie in [0, 1), got {guessing[bad][0]:g}.")
    return guessing


def _with_known_guessing(models, guessing, items):
    """Give two-category items of positive known guessing a model that has a floor."""
    known: dict[int, ThreePL] = {}
    out = []
    for j, (model, g) in enumerate(zip(models, guessing, strict=True)):
        floor = not np.isnan(g) and g > 0
        if floor and not model.dichotomous:
            raise ValueError(f"Item {items[j]!r} ({model.name}) cannot have guessing.")
        if floor and not isinstance(model, FourPL):
            if model.common_slope or model.unit_slope:
                raise ValueError(
                    f"Item {items[j]!r} ({model.name}) cannot have a guessing floor; "
                    "use item_model='2pl'."
                )
            model = known.setdefault(id(model), ThreePL(guessing_prior=None))
        out.append(model)
    return out


def _start_slopes(coded, q, n_dims):
    slopes = exact_start.start_slopes(coded, n_dims, q)
    return slopes if q is None else slopes * q


def _anchors(slopes, q, models):
    """Return the items that fix the orientation of an exploratory model, or None."""
    if q is not None or slopes.shape[1] == 1:
        return None
    if any(m.unit_slope or m.common_slope for m in models):
        raise ValueError(
            "A Rasch or 1PL model in more than one dimension needs a q_matrix."
        )
    return exact_start.choose_anchors(slopes)


class _BlockBuilder:
    """Starting values, free mask and priors of one block of items."""

    def __init__(self, model, coded, q, anchors, slopes, guessing, alike):
        self.model, self.coded, self.q = model, coded, q
        self.anchors, self.slopes = anchors, slopes
        self.guessing, self.alike = guessing, alike

    def build(self, block):
        """Return (starts, free, priors) of a block."""
        start = self._starts(block)
        free = self._free(block)
        priors = self._priors(block)
        if self.anchors is not None:
            # the rotation that made them zero left rounding behind
            slopes = start[:, : block.n_dims]
            slopes[~free[:, : block.n_dims]] = 0.0
        self._apply_fixed(block, start, free)
        return start, free, priors

    def _starts(self, block):
        slopes = self.slopes[block.items]
        if block.model.unit_slope:
            slopes = (
                np.ones_like(slopes) if self.q is None else self.q[block.items] * 1.0
            )
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
        if self.q is not None:
            free[:, :n_dims] = self.q[block.items]
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

    def _apply_fixed(self, block, start, free):
        """Put known values in place; anchors beyond a fixed slope stay as they are."""
        n_dims = block.n_dims
        slopes = self.model.fixed.get("slopes")
        if slopes is not None:
            known = np.asarray(slopes, float)[block.items]
            at = ~np.isnan(known)
            start[:, :n_dims][at] = known[at]
            free[:, :n_dims][at] = False
        intercepts = self.model.fixed.get("intercepts")
        if intercepts is not None:
            known = np.asarray(intercepts, float)[block.items]
            at = ~np.isnan(known)
            start[at, n_dims] = known[at]
            free[at, n_dims] = False
        floors = self.guessing[block.items]
        if block.n_parameters > n_dims + 1 and block.model.dichotomous:
            at = floors > 0
            start[at, n_dims + 1] = logit(floors[at])
            free[at, n_dims + 1] = False


def _set_prior(mean, precision, rows, column, prior):
    if prior is not None:
        mean[rows, column] = prior.mean
        precision[rows, column] = 1.0 / prior.sd**2
