"""Which parameters an exact fit has: blocks of items, what is free, fixed or shared."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sklearn_mirt.models.item_models import ItemModel
from sklearn_mirt.solvers.quadrature.ability_distribution import LatentNormal


@dataclass(frozen=True, eq=False)
class ItemBlock:
    """Items of one model and one number of categories, treated together."""

    model: ItemModel
    items: np.ndarray
    n_categories: int
    n_dims: int

    @property
    def n_parameters(self) -> int:
        """Parameters per item."""
        return self.n_dims + self.model.n_extras(self.n_categories)

    @property
    def shape(self) -> tuple[int, int]:
        """Items by parameters."""
        return len(self.items), self.n_parameters


@dataclass(frozen=True, eq=False)
class Specification:
    """The full parameter vector, and how the free vector fills it.

    The full vector holds the blocks' parameters (items x parameters, row by row) and
    then those of the ability distribution. ``index`` maps each position to a free
    parameter, or to -1 where ``template`` holds it fixed; equal entries are shared.
    """

    n_items: int
    n_dims: int
    blocks: tuple[ItemBlock, ...]
    latent: LatentNormal
    template: np.ndarray
    index: np.ndarray
    prior_mean: np.ndarray = field(repr=False)
    prior_precision: np.ndarray = field(repr=False)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return int(self.index.max(initial=-1)) + 1

    @property
    def n_latent(self) -> int:
        """Number of parameters of the ability distribution."""
        return self.latent.n_parameters

    def slices(self):
        """Return the position of each block in the full vector, then the latent's."""
        out, at = [], 0
        for block in self.blocks:
            size = int(np.prod(block.shape))
            out.append(slice(at, at + size))
            at += size
        return [*out, slice(at, at + self.n_latent)]

    def unpack(self, full: np.ndarray):
        """Return the blocks' parameter arrays and the latent parameters."""
        *items, latent = self.slices()
        shapes = [block.shape for block in self.blocks]
        arrays = [full[s].reshape(k) for s, k in zip(items, shapes, strict=True)]
        return arrays, full[latent]

    def expand(self, free: np.ndarray) -> np.ndarray:
        """Return the full vector; fixed entries are the template's, bit-equal."""
        full = self.template.copy()
        moving = self.index >= 0
        full[moving] = free[self.index[moving]]
        return full

    def contract(self, full: np.ndarray) -> np.ndarray:
        """Return the free vector of a full one (the first entry of shared ones)."""
        moving = np.flatnonzero(self.index >= 0)[::-1]
        free = np.empty(self.n_free)
        free[self.index[moving]] = full[moving]
        return free

    def reduce(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient in the free parameters: shared entries are summed."""
        moving = self.index >= 0
        return np.bincount(self.index[moving], gradient[moving], minlength=self.n_free)

    def reduce_matrix(self, matrix: np.ndarray) -> np.ndarray:
        """Return a Hessian in the free parameters."""
        moving = self.index >= 0
        rows = np.zeros((self.n_free, len(matrix)))
        np.add.at(rows, self.index[moving], matrix[moving])
        out = np.zeros((self.n_free, self.n_free))
        np.add.at(out, self.index[moving], rows.T[moving])
        return out

    def log_prior(self, full: np.ndarray) -> float:
        """Return the log prior up to a constant."""
        deviation = full - self.prior_mean
        return float(-0.5 * (self.prior_precision * deviation**2).sum())

    def log_prior_gradient(self, full: np.ndarray) -> np.ndarray:
        """Return the gradient of `log_prior` in the full vector."""
        return -self.prior_precision * (full - self.prior_mean)


def make_blocks(models, category_counts, n_dims) -> tuple[ItemBlock, ...]:
    """Group items of the same model and number of categories, in order of first use."""
    groups: dict[tuple[int, int], list[int]] = {}
    kinds = {}
    for item, (model, count) in enumerate(zip(models, category_counts, strict=True)):
        key = (id(model), int(count))
        kinds[key] = model
        groups.setdefault(key, []).append(item)
    return tuple(
        ItemBlock(kinds[key], np.array(items), key[1], n_dims)
        for key, items in groups.items()
    )


def build_specification(blocks, parts, latent: LatentNormal) -> Specification:
    """Assemble a specification from block-wise arrays.

    Parameters
    ----------
    blocks : tuple of ItemBlock
    parts : iterable of (starts, free, priors), one for each block
        Starting parameters (items, parameters), which of them are free, and prior
        (mean, precision) stacked as (2, items, parameters).
    latent : LatentNormal
        Ability distribution.
    """
    starts, free, priors = zip(*parts, strict=True)
    z = latent.start()
    none = np.zeros(len(z))
    template = np.concatenate([*map(np.ravel, starts), z])
    moving = np.concatenate([*map(np.ravel, free), none == 0])
    mean = np.concatenate([*(p[0].ravel() for p in priors), none])
    precision = np.concatenate([*(p[1].ravel() for p in priors), none])
    index = np.full(len(template), -1)
    index[moving] = np.arange(moving.sum())
    _share_slopes(blocks, index)
    return Specification(
        n_items=sum(len(b.items) for b in blocks),
        n_dims=blocks[0].n_dims,
        blocks=blocks,
        latent=latent,
        template=template,
        index=index,
        prior_mean=np.where(moving, mean, template),
        prior_precision=np.where(moving, precision, 0.0),
    )


def _share_slopes(blocks, index) -> None:
    """Give the slopes of one-parameter items one free parameter per dimension."""
    at = 0
    for block in blocks:
        size = int(np.prod(block.shape))
        if block.model.common_slope:
            rows = index[at : at + size].reshape(block.shape)
            for d in range(block.n_dims):
                loading = rows[:, d] >= 0
                if loading.any():
                    rows[loading, d] = rows[loading, d].min()
        at += size
    used = np.unique(index[index >= 0])
    index[index >= 0] = np.searchsorted(used, index[index >= 0])
