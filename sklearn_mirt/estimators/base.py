"""The fit path that the long and the wide estimator share."""

import numbers
import warnings
from copy import deepcopy

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
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.models.rotation.apply import (
    ROTATION_METHODS,
    apply_rotation,
    rotation_matrix,
)
from sklearn_mirt.solvers.base import SolverResult

_SOLVERS = ("auto", "variational", "quadrature")
_ITEM_MODELS = ("2pl", "1pl", "rasch", "3pl")
_OBLIQUE = ("oblimin", "quartimin", "promax")


def _whole(low):
    return lambda v: (
        isinstance(v, numbers.Integral) and not isinstance(v, bool) and v >= low
    )


def _one_of(*values):
    return lambda v: any(v is w or (isinstance(v, str) and v == w) for w in values)


# those to a target need one, which is no parameter
_ROTATIONS = (None, *(m for m in ROTATION_METHODS if not m.startswith("target")))
_PARAMETERS = {
    "n_dims": (
        lambda v: _whole(1)(v) or (isinstance(v, str) and v == "auto"),
        "an integer of at least 1 or 'auto'",
    ),
    "solver": (_one_of(*_SOLVERS), f"one of {_SOLVERS}"),
    "item_model": (_one_of(*_ITEM_MODELS), f"one of {_ITEM_MODELS}"),
    "rotation": (_one_of(*_ROTATIONS), f"one of {_ROTATIONS}"),
    "positive_slopes": (lambda v: isinstance(v, bool | np.bool_), "True or False"),
    "max_iter": (_whole(1), "an integer of at least 1"),
    "tol": (
        lambda v: isinstance(v, numbers.Real) and float(v) >= 0,
        "a number >= 0",
    ),
    "device": (_one_of("cpu", "cuda"), "'cpu' or 'cuda'"),
    "dtype": (
        _one_of("auto", "float32", "float64"),
        "'auto', 'float32' or 'float64'",
    ),
    "n_jobs": (
        lambda v: v is None or (isinstance(v, numbers.Integral) and v != 0),
        "None or an integer other than 0",
    ),
    "warm_start": (lambda v: isinstance(v, bool | np.bool_), "True or False"),
    "handle_unknown": (_one_of("prior", "error"), "'prior' or 'error'"),
}


def check_parameters(estimator):
    """Check constructor parameters; the message names parameter, value and wish."""
    for name, value in estimator.get_params(deep=False).items():
        if name not in _PARAMETERS:
            continue
        valid, wish = _PARAMETERS[name]
        if not valid(value):
            raise ValueError(
                f"The {name!r} parameter of {type(estimator).__name__} must be {wish}, "
                f"got {value!r}"
            )


class BaseMIRT(
    VersionedPickleMixin, FittedSummaryMixin, CallbackSupportMixin, BaseEstimator
):
    """Fit, rotate, and keep what was learned; subclasses say what a table means."""

    def _fit_data(self, data, solver=None):
        """Fit checked data and set the fitted attributes."""
        if self.checkpoint_dir is not None:
            raise ValueError("checkpoint_dir needs answers in shards: ShardedResponses")
        for name in ("sharded_abilities_", "bytes_moved_"):
            self.__dict__.pop(name, None)
        design = make_design(
            data.items, self.item_groups, self.guessing, self.positive_slopes
        )
        _check_size(data, 1 if self.n_dims == "auto" else self.n_dims)
        weights, _ = data.sums()
        _report_silent(data, weights)
        self.constant_items_ = _constant_items(data)
        self.n_dims_ = self._number_of_dimensions(data)
        solver = solver or self._make_solver(data)
        reporter = PassReporter(self, self.max_iter)
        result = solver.solve(
            data,
            self.n_dims_,
            design,
            start=self._start(data, design),
            callback=reporter,
        )
        self.solver_ = solver.name
        self._keep(result, design, weights[0] > 0)
        reporter.close()
        if not result.converged:
            warnings.warn(
                f"The fit stopped after {result.n_iter} passes before the gain per "
                f"answer fell under tol={self.tol}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _make_solver(self, data):
        # imported here: they compile kernels, which an import of the package must not
        if self._wants_exact(data):
            from sklearn_mirt.solvers.quadrature.solver import QuadratureSolver

            return QuadratureSolver(
                self.max_iter,
                self.tol,
                self.item_model,
                self.q_matrix,
                self.q_matrix is not None and self.rotation in _OBLIQUE,
                self.device,
            )
        from sklearn_mirt.solvers.variational.solver import VariationalSolver

        return VariationalSolver(
            self.max_iter, self.tol, self.dtype, self.device, self.n_jobs
        )

    def _number_of_dimensions(self, data):
        """Return `n_dims`, or what the answers say where it is "auto"."""
        if self.n_dims != "auto":
            return self.n_dims
        from sklearn_mirt.estimators.dimensions import choose_dimensions

        n_folds = min(5, data.n_respondents)
        if n_folds < 2:
            return 1
        return choose_dimensions(
            data,
            n_dims=range(1, min(8, data.n_respondents) + 1),
            item_groups=self.item_groups,
            guessing=self.guessing,
            n_folds=n_folds,
            n_permutations=0,
            n_jobs=self.n_jobs,
        ).recommended

    def _wants_exact(self, data):
        """Whether the exact solver is asked for, or the one to take."""
        from sklearn_mirt.solvers.quadrature.solver import prefers_exact

        only_exact = self.item_model != "2pl" or self.q_matrix is not None
        if self.solver == "variational" and only_exact:
            raise ValueError(
                "An item_model other than '2pl' and a q_matrix need "
                f"solver='quadrature' or 'auto'; got item_model={self.item_model!r}"
                f"{'' if self.q_matrix is None else ' and a q_matrix'} with "
                "solver='variational'"
            )
        if self.solver != "auto" or only_exact:
            return self.solver != "variational"
        plain = not self.positive_slopes and self.device == "cpu"
        size = (data.n_respondents, data.n_items, self.n_dims_)
        return plain and prefers_exact(*size)

    def _start(self, data, design):
        """Earlier result to start from, where warm_start is on and it fits."""
        earlier = getattr(self, "_unrotated", None)
        if not self.warm_start or earlier is None:
            return None
        same = (
            earlier.items.n_dims == self.n_dims_
            and np.array_equal(earlier.items.ids, data.items)
            and np.array_equal(earlier.abilities.ids, data.respondents)
            and len(earlier.prior.means) == design.n_groups
        )
        return earlier if same else None

    def _keep(self, result, design, answered):
        if self.warm_start:
            self._unrotated = result
        fit = getattr(result, "fit", None)
        n_items = len(design.groups)
        self._determined = np.ones(n_items, bool) if fit is None else result.determined
        method = "none" if self.positive_slopes else self.rotation
        if self.q_matrix is None:
            shared = self.warm_start or fit is not None
            result = _rotated(result, method or "none", answered, not shared)
        self._keep_rotated(result, design, fit)

    def _keep_rotated(self, result, design, fit=None):
        items, abilities = result.items, result.abilities
        self.items_, self.respondents_ = items.ids, abilities.ids
        self.item_groups_ = design.group_labels[design.groups]
        self.groups_ = design.group_labels
        self._keep_posteriors(items, abilities, result.prior)
        self.group_sizes_ = np.bincount(design.groups, minlength=design.n_groups)
        self.n_iter_, self.converged_ = result.n_iter, bool(result.converged)
        self._keep_trace(result, fit)

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
            :func:`sklearn_mirt.models.rotation.apply.rotate_loadings`.

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
            M = rotation_matrix(items, abilities, method, **options)
        return self._moved(M).set_params(rotation=method)

    def _moved(self, M):
        """Return a copy in other coordinates; M as in rotation.py."""
        moved = deepcopy(self)
        prior = GroupPrior(self.item_prior_means_, self.item_prior_covariances_)
        moved._keep_posteriors(
            *apply_rotation(self.item_parameters_, self.ability_posteriors_, M),
            prior.carried(_item_coordinates(M)),
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
        self.standard_errors_ = np.where(self._determined[:, None], errors, np.nan)

    def _keep_trace(self, result, fit):
        """Set what only one of the solvers has, and unset what the other left."""
        for name in ("lower_bounds_", "log_likelihoods_", "exact_fit_"):
            self.__dict__.pop(name, None)
        if fit is None:
            self.lower_bounds_ = result.trace
        else:
            self.log_likelihoods_, self.exact_fit_ = result.trace, fit

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


def _rotated(result, method, answered, overwrite):
    """Rotate and order a result, by the items with answers alone."""
    seen = result.items if answered.all() else result.items.take(answered)
    M = rotation_matrix(seen, result.abilities, method)
    items, abilities = apply_rotation(
        result.items, result.abilities, M, overwrite=overwrite
    )
    prior = result.prior.carried(_item_coordinates(M))
    return SolverResult(items, abilities, prior, result.trace, result.converged)


def _item_coordinates(M):
    """Return the change of (a_j, d_j) that goes with a rotation."""
    carry = np.eye(len(M) + 1)
    carry[:-1, :-1] = M.T
    return carry


def _principal_axes(items, abilities):
    """Return the rotation to uncorrelated dimensions of falling logit variance."""
    whitening = np.linalg.cholesky(abilities.prior_covariance)
    slopes = items.slopes @ whitening
    M = whitening @ np.linalg.eigh(slopes.T @ slopes)[1]
    turned = apply_rotation(items, abilities, M)
    return M @ rotation_matrix(*turned, "none")


def _constant_items(data):
    """Ids of the items that everybody who answered got right, or wrong."""
    means = data.item_means()
    return data.items[(means == 0) | (means == 1)]


def _check_size(data, n_dims):
    if data.n_observed == 0:
        raise ValueError(
            f"There are no answers: all {data.n_respondents} x {data.n_items} cells "
            "are missing"
        )
    if data.n_respondents < n_dims:
        raise ValueError(
            f"n_dims={n_dims} dimensions need at least as many respondents, got "
            f"n_samples={data.n_respondents}"
        )


def _report_silent(data, weights):
    """Warn of respondents and items without any answer: they keep their prior."""
    parts = []
    for weight, ids, noun in (
        (weights[1], data.respondents, "respondent"),
        (weights[0], data.items, "item"),
    ):
        silent = ids[weight == 0]
        if len(silent):
            parts.append(
                f"{len(silent)} {noun}(s) without answers: {name_some(silent)}"
            )
    if parts:
        warnings.warn(
            "; ".join(parts) + ". They keep the prior mean and spread",
            ResponseDataWarning,
            stacklevel=4,
        )


def name_some(ids, most=5):
    """Return the first few ids as text."""
    shown = ", ".join(repr(value) for value in ids[:most])
    return shown + (", ..." if len(ids) > most else "")
