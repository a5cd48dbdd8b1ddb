"""The fit path that the long and the wide estimator share."""

import numbers
import warnings
from copy import deepcopy
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sklearn_mirt.estimators.callbacks import CallbackSupportMixin, PassReporter
from sklearn_mirt.estimators.fitted_summary import FittedSummaryMixin
from sklearn_mirt.estimators.pickling import VersionedPickleMixin
from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.item_design import make_design
from sklearn_mirt.models.items import ItemParameters, item_coordinates
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.models.rotation.apply import (
    apply_rotation,
    rotation_matrix,
)

# fitted attributes that not every fit sets
_NOT_OF_EVERY_FIT = (
    "lower_bounds_",
    "log_likelihoods_",
    "exact_fit_",
    "sharded_abilities_",
    "bytes_moved_",
)


class BaseMIRT(
    VersionedPickleMixin, FittedSummaryMixin, CallbackSupportMixin, BaseEstimator
):
    """The parameters, the fit and the rotation; subclasses read their tables."""

    def __init__(
        self,
        n_dims=2,
        *,
        solver="auto",
        item_model="2pl",
        q_matrix=None,
        correlated=True,
        rotation="oblimin",
        item_groups=None,
        guessing=None,
        positive_slopes=False,
        max_iter=200,
        tol=1e-6,
        device="cpu",
        dtype="auto",
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        checkpoint_dir=None,
    ):
        self.n_dims = n_dims
        self.solver = solver
        self.item_model = item_model
        self.q_matrix = q_matrix
        self.correlated = correlated
        self.rotation = rotation
        self.item_groups = item_groups
        self.guessing = guessing
        self.positive_slopes = positive_slopes
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint_dir = checkpoint_dir

    def _fit(self, answers):
        """Fit checked answers and set the fitted attributes.

        Parameters
        ----------
        answers : InMemory or InShards
            The answers, and the steps that differ where abilities stay in shards.
        """
        answers.check(self)
        data = answers.data
        design = make_design(
            data.items, self.item_groups, self.guessing, self.positive_slopes
        )
        _report_silent(answers.silent())
        n_dims = answers.number_of_dimensions(self)
        solver = answers.solver(self, n_dims)
        reporter = PassReporter(self, self.max_iter)
        start = answers.start(self, n_dims, design)
        result = solver.solve(data, n_dims, design, start=start, callback=reporter)
        # a fit that fails or is interrupted before here leaves the last one whole
        for name in _NOT_OF_EVERY_FIT:
            self.__dict__.pop(name, None)
        means = data.item_means()
        self.constant_items_ = data.items[(means == 0) | (means == 1)]
        self.n_dims_, self.solver_ = n_dims, solver.name
        result = answers.keep(self, result)
        if self.q_matrix is None:
            result, M = self._rotated(result, answers.item_weight > 0)
            answers.finish(self, result, M)
        self._keep(result, design)
        reporter.close()
        if not result.converged:
            warnings.warn(
                f"The fit stopped after {result.n_iter} passes before the gain per "
                f"answer fell under tol={self.tol}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _seed(self):
        """Return the seed of random starts: 0 unless `random_state` gives another."""
        if self.random_state is None or isinstance(self.random_state, numbers.Integral):
            return int(self.random_state or 0)
        return int(self.random_state.randint(2**31))

    def _rotated(self, result, answered):
        """Return the result rotated, and the rotation, found on items with answers."""
        method = None if self.positive_slopes else self.rotation
        seen = result.items if answered.all() else result.items.take(answered)
        options = {"random_state": self._seed()} if method else {}
        M = rotation_matrix(seen, result.abilities, method or "none", **options)
        # what a warm start or the exact fit shares with the result stays as it is
        shared = self.warm_start or result.exact_fit is not None
        items, abilities = apply_rotation(
            result.items, result.abilities, M, overwrite=not shared
        )
        prior = result.prior.carried(item_coordinates(M))
        return replace(result, items=items, abilities=abilities, prior=prior), M

    def _keep(self, result, design):
        """Set the fitted attributes from a rotated result."""
        n_items = len(design.groups)
        self.items_, self.respondents_ = result.items.ids, result.abilities.ids
        self.item_groups_ = design.group_labels[design.groups]
        self.groups_ = design.group_labels
        self.group_sizes_ = np.bincount(design.groups, minlength=design.n_groups)
        determined = result.determined
        self.determined_ = np.ones(n_items, bool) if determined is None else determined
        self._keep_posteriors(result.items, result.abilities, result.prior)
        self.n_iter_, self.converged_ = result.n_iter, bool(result.converged)
        if result.exact_fit is None:
            self.lower_bounds_ = result.trace
        else:
            self.log_likelihoods_, self.exact_fit_ = result.trace, result.exact_fit

    def rotate(self, method="oblimin", **options):
        """Return a copy of the fitted estimator, rotated; probabilities stay.

        Parameters
        ----------
        method : str or None, default="oblimin"
            As the parameter `rotation`; None for principal axes. "target" and
            "target_orthogonal" need `target`, loadings of shape (n_items, n_dims) with
            NaN where free.
        **options
            `target`, `gamma`, `kaiser`, `random_state` and `n_starts` of
            :func:`sklearn_mirt.models.rotation.criteria.rotate_loadings`.

        Returns
        -------
        rotated : estimator of the same class
            Its parameter `rotation` is the method.

        Raises
        ------
        ValueError
            The method is unknown, or positive_slopes or a q_matrix fixes the axes.
        """
        check_is_fitted(self, "slopes_")
        if self.positive_slopes or self.q_matrix is not None:
            raise ValueError(
                "positive_slopes or a q_matrix fixes the axes: they cannot be rotated"
            )
        items, abilities = self.item_parameters_, self.ability_posteriors_
        if method is None:
            M = _principal_axes(items, abilities)
        else:
            is_seed = isinstance(self.random_state, numbers.Integral)
            options.setdefault("random_state", self.random_state if is_seed else 0)
            M = rotation_matrix(items, abilities, method, **options)
        return self._moved(M).set_params(rotation=method)

    def _moved(self, M):
        """Return a copy in other coordinates; M as in models/rotation/apply.py."""
        moved = deepcopy(self)
        prior = GroupPrior(self.item_prior_means_, self.item_prior_covariances_)
        moved._keep_posteriors(
            *apply_rotation(self.item_parameters_, self.ability_posteriors_, M),
            prior.carried(item_coordinates(M)),
        )
        sharded = getattr(self, "sharded_abilities_", None)
        if sharded is not None:
            correlation = moved.ability_correlation_
            moved.sharded_abilities_ = sharded.moved(np.linalg.inv(M), correlation)
        return moved

    def _keep_posteriors(self, items, abilities, prior):
        self.slopes_, self.intercepts_ = items.slopes, items.intercepts
        self.guessing_ = items.guessing
        self.item_covariances_ = items.covariances
        self.abilities_ = abilities.mean
        self.ability_covariances_ = abilities.covariances
        self.ability_correlation_ = abilities.prior_covariance
        self.item_prior_means_ = prior.means
        self.item_prior_covariances_ = prior.covariances
        errors = np.sqrt(np.diagonal(items.covariances, axis1=1, axis2=2))
        self.standard_errors_ = np.where(self.determined_[:, None], errors, np.nan)

    def _fitted_summary(self):
        exact = self.solver_ == "quadrature"
        trace = self.log_likelihoods_ if exact else self.lower_bounds_
        state = "converged" if self.converged_ else "NOT converged"
        sharded = getattr(self, "sharded_abilities_", None)
        n = len(self.respondents_) if sharded is None else sharded.n_respondents
        rows = [
            ("respondents", f"{n:,}"),
            ("items", f"{len(self.items_):,} in {len(self.groups_):,} group(s)"),
            ("dimensions", f"{self.slopes_.shape[1]}, rotation {self.rotation}"),
            ("fit", f"{self.solver_}, {state} after {self.n_iter_} passes"),
        ]
        if len(trace):
            name = "log-likelihood" if exact else "lower bound"
            rows.append((name, f"{trace[-1]:,.2f}"))
        if self.slopes_.shape[1] > 1:
            r = self.ability_correlation_[np.triu_indices(self.slopes_.shape[1], 1)]
            rows.append(("ability correlations", ", ".join(f"{v:.2f}" for v in r)))
        return rows

    # ---------------------------------------------------------- fitted, as our objects

    @property
    def item_parameters_(self):
        """Fitted items as one :class:`ItemParameters`."""
        check_is_fitted(self, "slopes_")
        return ItemParameters(
            self.slopes_,
            self.intercepts_,
            self.guessing_,
            self.item_covariances_,
            self.items_,
        )

    @property
    def ability_posteriors_(self):
        """Abilities of the training respondents as one :class:`Abilities`."""
        check_is_fitted(self, "abilities_")
        return Abilities(
            self.abilities_,
            self.ability_covariances_,
            self.ability_correlation_,
            self.respondents_,
        )

    def _fold_in(self, data):
        if self.solver_ == "quadrature":
            from sklearn_mirt.solvers.quadrature.solver import posterior_abilities

            return posterior_abilities(
                data, self.item_parameters_, self.ability_correlation_
            )
        from sklearn_mirt.solvers.variational.fold_in import fold_in

        return fold_in(
            data,
            self.item_parameters_,
            self.ability_correlation_,
            device=self.device,
            n_jobs=self.n_jobs,
        )


def set_features(estimator, n_features, names=None):
    """Set `n_features_in_`, and `feature_names_in_` where the columns have names."""
    estimator.n_features_in_ = n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def _principal_axes(items, abilities):
    """Return the rotation to uncorrelated dimensions of falling logit variance."""
    whitening = np.linalg.cholesky(abilities.prior_covariance)
    slopes = items.slopes @ whitening
    M = whitening @ np.linalg.eigh(slopes.T @ slopes)[1]
    turned = apply_rotation(items, abilities, M)
    return M @ rotation_matrix(*turned, "none")


def _report_silent(texts):
    """Warn of respondents and items without any answer: they keep their prior."""
    if texts:
        warnings.warn(
            "; ".join(texts) + ". They keep the prior mean and spread",
            ResponseDataWarning,
            stacklevel=4,
        )
