"""Refits of a fitted model to parts of its data, in the axes of the model.

The bootstrap, the halves and the null control all fit the same model again to other
answers. A refit is turned onto the model it came from, so that dimension k means the
same in both, and may start from it, which saves most of the passes.
"""

from dataclasses import dataclass

import numpy as np

from sklearn_mirt.data.resampling import resampled
from sklearn_mirt.data.responses import ResponseData
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.item_design import ItemDesign, make_design
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
    data : ResponseData
        The data of the fit: the same items in the same order.
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

    def __init__(self, estimator, data, *, max_iter=50, tol=1e-5, n_jobs=None):
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
        self.items, self.abilities = (
            estimator.item_parameters_,
            estimator.ability_posteriors_,
        )
        self.design = make_design(
            data.items,
            estimator.item_groups,
            estimator.guessing,
            estimator.positive_slopes,
        )
        self._settings = {"max_iter": max_iter, "tol": tol, "n_jobs": n_jobs}
        fixed = estimator.rotation is None or estimator.positive_slopes
        self._method = "none" if fixed else estimator.rotation

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
            return self._without_answers(data)
        if warm:
            start = self._start(rows, columns)
        result = self._solver().solve(
            data, self.n_dims, self._design(columns), start=start
        )
        return self._turned(result, self.items.slopes[columns])

    def _without_answers(self, data):
        """Return the refit that knows nothing: everybody at the prior, no slopes."""
        n, m, d = data.n_respondents, data.n_items, self.n_dims
        items = ItemParameters(
            np.zeros((m, d)),
            np.zeros(m),
            np.zeros(m),
            np.tile(np.eye(d + 1), (m, 1, 1)),
            data.items,
        )
        prior = self.abilities.prior_covariance
        abilities = Abilities(
            np.zeros((n, d)), np.tile(prior, (n, 1, 1)), prior, data.respondents
        )
        return Refit(items, abilities, 0)

    def random_start(self, rng):
        """Return a start with standard normal abilities, for `fit_data`."""
        model = self._start(np.arange(self.data.n_respondents), slice(None))
        n, d = model.abilities.mean.shape
        abilities = Abilities(
            rng.standard_normal((n, d)),
            np.tile(0.05 * np.eye(d), (n, 1, 1)),
            np.eye(d),
            model.abilities.ids,
        )
        items = ItemParameters(
            np.zeros_like(model.items.slopes),
            np.zeros_like(model.items.intercepts),
            model.items.guessing,
            np.tile(0.5 * np.eye(d + 1), (model.items.n_items, 1, 1)),
            model.items.ids,
        )
        prior = GroupPrior.vague(self.design.n_groups, d)
        return SolverResult(items, abilities, prior, np.empty(0), False)

    def _solver(self):
        # imported here: it compiles kernels
        from sklearn_mirt.solvers.variational.solver import VariationalSolver

        return VariationalSolver(
            dtype=self.estimator.dtype, device=self.estimator.device, **self._settings
        )

    def _design(self, columns):
        design = self.design
        return ItemDesign(
            design.groups[columns],
            design.group_labels,
            design.guessing[columns],
            design.positive_slopes,
        )

    def _start(self, rows, columns):
        """Return rows and columns of the model as a start, in uncorrelated axes."""
        abilities = self.abilities
        M = np.linalg.cholesky(abilities.prior_covariance)
        abilities = Abilities(
            abilities.mean[rows],
            abilities.covariances[rows],
            abilities.prior_covariance,
            abilities.ids[rows],
        )
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
        items, abilities, n_iter = result.items, result.abilities, result.n_iter
        if self.design.positive_slopes:
            items, abilities, _ = align(
                items, abilities, slopes, self.abilities, method="permutation"
            )
            return Refit(items, abilities, n_iter)
        items, abilities, _ = align(items, abilities, slopes, self.abilities)
        if self._method != "none" and self.n_dims > 1:
            # two starts: the axes of the model, and the principal axes
            M = rotation_matrix(items, abilities, self._method, n_starts=2)
            items, abilities = apply_rotation(items, abilities, M)
            items, abilities, _ = align(
                items, abilities, slopes, self.abilities, method="permutation"
            )
        return Refit(items, abilities, n_iter)


def as_data(responses):
    """Return a table as ResponseData; ResponseData as it is."""
    if isinstance(responses, ResponseData):
        return responses
    return ResponseData.from_wide(responses)
