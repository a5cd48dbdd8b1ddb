"""Refits of a fitted model to parts of its data, in the axes of the model.

The bootstrap, the halves and the null control all fit the same model again to other
answers. A refit is turned onto the model it came from, so that dimension k means the
same in both, and may start from it, which saves most of the passes.
"""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from sklearn_mirt.data.resampling import resampled
from sklearn_mirt.data.responses import as_responses
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.item_design import make_design
from sklearn_mirt.models.items import ItemParameters, item_coordinates
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.models.rotation.apply import align, apply_rotation, rotation_matrix
from sklearn_mirt.solvers.base import SolverResult


@dataclass(frozen=True, eq=False)
class Refit:
    """Posteriors of a refit, in the axes of the model.

    Parameters
    ----------
    items : ItemParameters
    abilities : Abilities
    n_iter : int
        Passes.
    """

    items: ItemParameters
    abilities: Abilities
    n_iter: int


class Refitter:
    """Fits the model of an estimator again to parts of its data.

    Parameters
    ----------
    estimator : fitted MIRTTransformer or MIRTClassifier
    responses : ResponseData, DataFrame or array-like
        The answers of the fit: the same items in the same order.
    max_iter, tol : int, float
        Of the refits.
    n_jobs : int or None
        Threads of one refit.

    Raises
    ------
    ValueError
        The items of the data are not those of the fit, or the model is not the
        exploratory two-parameter one.

    Notes
    -----
    Refits are variational, also of a model that was fitted by quadrature: what is used
    of them is how they differ from each other.
    """

    def __init__(self, estimator, responses, *, max_iter=50, tol=1e-5, n_jobs=None):
        data = as_responses(responses)
        if not np.array_equal(data.items, estimator.items_):
            raise ValueError(
                "The data have other items than the fit, or another order of items; "
                "give the data that the estimator was fitted to"
            )
        if estimator.item_model != "2pl" or estimator.q_matrix is not None:
            raise ValueError(
                "Refits are of the exploratory two-parameter model; the estimator has "
                f"item_model={estimator.item_model!r}"
                + ("" if estimator.q_matrix is None else " and a q_matrix")
            )
        self.data, self.estimator = data, estimator
        self.items = estimator.item_parameters_
        self.abilities = estimator.ability_posteriors_
        self.design = make_design(
            data.items,
            estimator.item_groups,
            estimator.guessing,
            estimator.positive_slopes,
        )
        self._settings = {"max_iter": max_iter, "tol": tol, "n_jobs": n_jobs}
        fixed = estimator.rotation is None or estimator.positive_slopes
        self._method = "none" if fixed else estimator.rotation

    def using(self, *, max_iter, tol, n_jobs):
        """Return a Refitter of the same model and data with other settings."""
        other = copy(self)
        other._settings = {"max_iter": max_iter, "tol": tol, "n_jobs": n_jobs}
        return other

    @property
    def n_dims(self):
        """Return the number of dimensions."""
        return self.items.n_dims

    def fit(self, *, respondents=None, items=None, warm=True):
        """Refit some respondents and items, given as integer indices.

        An index may repeat: each repetition counts as another respondent or item.

        Parameters
        ----------
        respondents, items : ndarray of int, default=None
            All when None.
        warm : bool, default=True
            Start from the model. A cold start knows nothing of answers left out.

        Returns
        -------
        refit : Refit
        """
        data = resampled(self.data, respondents=respondents, items=items)
        return self.fit_data(data, respondents, items, warm=warm)

    def fit_data(self, data, respondents=None, items=None, *, warm=False, start=None):
        """Refit data whose rows and columns are those of the indices."""
        rows = (
            np.arange(self.data.n_respondents) if respondents is None else respondents
        )
        columns = np.arange(self.data.n_items) if items is None else items
        if data.n_observed == 0:
            return self._without_answers(data, columns)
        if warm:
            start = self._start(rows, columns)
        design = self.design.take(columns)
        result = self._solver().solve(data, self.n_dims, design, start=start)
        return self._turned(result, self.items.slopes[columns])

    def _without_answers(self, data, columns):
        """Return the refit without any answer: abilities at the prior, no slopes."""
        n, d = data.n_respondents, self.n_dims
        prior = self.abilities.prior_covariance
        abilities = Abilities(
            np.zeros((n, d)), np.tile(prior, (n, 1, 1)), prior, data.respondents
        )
        items = self._items_at_zero(self.items.take(columns), 1.0)
        items = replace(items, guessing=np.zeros(data.n_items), ids=data.items)
        return Refit(items, abilities, 0)

    def _items_at_zero(self, items, variance):
        """Return the items without slopes and intercepts, equally uncertain of all."""
        return replace(
            items,
            slopes=np.zeros_like(items.slopes),
            intercepts=np.zeros_like(items.intercepts),
            covariances=np.tile(
                variance * np.eye(self.n_dims + 1), (items.n_items, 1, 1)
            ),
        )

    def random_start(self, rng):
        """Return a start with standard normal abilities, for `fit_data`."""
        n, d = self.abilities.mean.shape
        abilities = Abilities(
            rng.standard_normal((n, d)),
            np.tile(0.05 * np.eye(d), (n, 1, 1)),
            np.eye(d),
            self.abilities.ids,
        )
        items = self._items_at_zero(self.items, 0.5)
        prior = GroupPrior.vague(self.design.n_groups, d)
        return SolverResult(items, abilities, prior, np.empty(0), False)

    def _solver(self):
        # imported here: it compiles kernels
        from sklearn_mirt.solvers.variational.solver import VariationalSolver

        return VariationalSolver(
            dtype=self.estimator.dtype, device=self.estimator.device, **self._settings
        )

    def _start(self, rows, columns):
        """Return rows and columns of the model as a start, in uncorrelated axes."""
        abilities = self.abilities.take(rows)
        M = np.linalg.cholesky(abilities.prior_covariance)
        items, abilities = apply_rotation(self.items.take(columns), abilities, M)
        if self.estimator.solver_ == "quadrature":  # it learns no prior
            prior = GroupPrior.vague(self.design.n_groups, self.n_dims)
        else:
            prior = GroupPrior(
                self.estimator.item_prior_means_, self.estimator.item_prior_covariances_
            ).carried(item_coordinates(M))
        return SolverResult(items, abilities, prior, np.empty(0), False)

    def _turned(self, result, slopes):
        """Rotate as the estimator does, nearest to the axes of the model."""
        items, abilities = result.items, result.abilities
        rotates = self._method != "none" and self.n_dims > 1
        if not self.design.positive_slopes:
            items, abilities, _ = align(items, abilities, slopes, self.abilities)
        if rotates:
            # two starts: the axes of the model, and the principal axes
            M = rotation_matrix(items, abilities, self._method, n_starts=2)
            items, abilities = apply_rotation(items, abilities, M)
        if rotates or self.design.positive_slopes:
            items, abilities, _ = align(
                items, abilities, slopes, self.abilities, method="permutation"
            )
        return Refit(items, abilities, result.n_iter)
