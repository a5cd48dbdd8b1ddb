"""What a user asks of an exact fit: the model, and how it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sklearn_mirt.models.item_models import ItemModel, NormalPrior, get_item_model


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


@dataclass(frozen=True)
class ExactSettings:
    """How an exact fit is computed.

    Parameters
    ----------
    nodes : {"auto", "grid", "gauss-hermite", "adaptive"}
        "auto" takes the grid, unless posteriors are too narrow for it.
    n_points : int, optional
        Points per dimension; 61, 31, 15 for 1, 2, 3 dimensions on a grid.
    node_limit : float, optional
        The grid covers [-node_limit, node_limit] in each dimension. None is 6, widened
        where the estimated spread of ability asks for more.
    tol : float
        Largest gradient at the end, in complete-data standard errors.
    max_iter : int
    n_em : int
        EM steps before the quasi-Newton finish.
    standard_errors : bool
    n_starts : int
        Starts; the best objective wins.
    random_state : int
        Seed of the starts after the first.
    max_memory : int
        Bytes that may be allocated.
    device : {"cpu", "cuda"}
        Where patterns meet fixed nodes; adaptive nodes are always the CPU's.
    """

    nodes: str = "auto"
    n_points: int | None = None
    node_limit: float | None = None
    tol: float = 1e-4
    max_iter: int = 500
    n_em: int = 6
    standard_errors: bool = True
    n_starts: int = 1
    random_state: int = 0
    max_memory: int = 4 * 2**30
    device: str = "cpu"
