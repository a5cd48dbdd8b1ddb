"""What an exact fit found: parameters, their uncertainty, information criteria."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from sklearn_mirt.solvers.quadrature.fixed_nodes import FixedNodeLikelihood
from sklearn_mirt.solvers.quadrature.respondent_nodes import AdaptiveLikelihood
from sklearn_mirt.solvers.quadrature.specification import Specification
from sklearn_mirt.solvers.quadrature.standard_errors import covariance_of_estimates


@dataclass(frozen=True, eq=False)
class ExactFit:
    """A maximum likelihood (or maximum a posteriori) fit on quadrature nodes.

    Attributes
    ----------
    items : ndarray of item ids
    spec : Specification
    free : ndarray of shape (n_parameters,)
        Estimates in the coordinates they were found in.
    nodes, log_base : ndarray
        Nodes and base weights, for margins and sum scores.
    rule : tuple of ndarray or None
        Points and base weights of each respondent's own nodes, if the fit was adaptive.
    log_likelihood, log_prior : float
        At the estimates; the likelihood excludes the prior.
    log_likelihoods : ndarray
        Trace of the log-likelihood.
    information : ndarray or None
        Minus the Hessian of the objective in ``free``, None where not asked for.
    """

    items: np.ndarray
    spec: Specification
    free: np.ndarray
    nodes: np.ndarray
    log_base: np.ndarray
    rule: tuple[np.ndarray, np.ndarray] | None
    log_likelihood: float
    log_prior: float
    log_likelihoods: np.ndarray
    converged: bool
    n_iter: int
    gradient_norm: float
    n_respondents: float
    categories: list[np.ndarray]
    information: np.ndarray | None = None
    known: dict = field(default_factory=dict)

    @property
    def adaptive(self) -> bool:
        """Whether each respondent had nodes of its own."""
        return self.rule is not None

    # --- estimates -------------------------------------------------------------

    @cached_property
    def full(self) -> np.ndarray:
        """Full parameter vector."""
        return self.spec.expand(self.free)

    @cached_property
    def slopes(self) -> np.ndarray:
        """Slopes (n_items, n_dims), logits per unit of ability."""
        out = np.empty((self.spec.n_items, self.spec.n_dims))
        for block, params in self._block_parameters():
            out[block.items] = params[:, : self.spec.n_dims]
        return out

    @cached_property
    def extras(self) -> list[np.ndarray]:
        """Reported parameters beside the slopes, one array per item."""
        out: list[np.ndarray] = [np.empty(0)] * self.spec.n_items
        for block, params in self._block_parameters():
            natural = block.model.natural(params[:, self.spec.n_dims :])
            for item, values in zip(block.items, natural, strict=True):
                out[item] = values
        return out

    @property
    def intercepts(self) -> np.ndarray:
        """Intercepts d_j (n_items,); for ordinal items the first one."""
        return np.array([values[0] for values in self.extras])

    @property
    def guessing(self) -> np.ndarray:
        """Guessing floors (n_items,); known ones come back bit-equal."""
        found = self._extra("guessing", 0.0)
        known = self.known.get("guessing")
        if known is None:
            return found
        return np.where(np.isnan(known), found, known)

    @property
    def ceiling(self) -> np.ndarray:
        """Upper asymptotes (n_items,), 1 where the model has none."""
        return self._extra("ceiling", 1.0)

    def _extra(self, name, default):
        out = np.full(self.spec.n_items, default)
        for block, params in self._block_parameters():
            names = block.model.extra_names(block.n_categories)
            if name in names:
                natural = block.model.natural(params[:, self.spec.n_dims :])
                out[block.items] = natural[:, names.index(name)]
        return out

    def _block_parameters(self):
        arrays, _ = self.spec.unpack(self.full)
        return zip(self.spec.blocks, arrays, strict=True)

    @property
    def ability_covariance(self) -> np.ndarray:
        """Covariance of ability in the population (n_dims, n_dims)."""
        return self.spec.latent.covariance(self.spec.unpack(self.full)[1])

    @property
    def mdisc(self) -> np.ndarray:
        """Multidimensional discrimination |a_j| (Reckase 2009, equation 5.9)."""
        return np.linalg.norm(self.slopes, axis=1)

    @property
    def mdiff(self) -> np.ndarray:
        """Multidimensional difficulty -d_j / |a_j| (Reckase 2009, equation 5.10)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return -self.intercepts / self.mdisc

    def likelihood_of(self, table):
        """Return the marginal likelihood of a pattern table on this fit's nodes."""
        if self.rule is not None:
            likelihood = AdaptiveLikelihood(table, self.spec, *self.rule)
            likelihood.prepare(self.free)
            return likelihood
        return FixedNodeLikelihood(table, self.spec, self.nodes, self.log_base)

    # --- information criteria --------------------------------------------------

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self.spec.n_free

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return -2.0 * self.log_likelihood + 2.0 * self.n_parameters

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with the number of respondents."""
        penalty = np.log(self.n_respondents) * self.n_parameters
        return float(-2.0 * self.log_likelihood + penalty)

    @property
    def sabic(self) -> float:
        """BIC with Sclove's (1987) adjusted size, (n + 2) / 24."""
        penalty = np.log((self.n_respondents + 2.0) / 24.0) * self.n_parameters
        return float(-2.0 * self.log_likelihood + penalty)

    # --- uncertainty -----------------------------------------------------------

    @cached_property
    def _covariance(self):
        if self.information is None:
            raise ValueError(
                "This fit has no standard errors; fit with standard_errors=True."
            )
        return covariance_of_estimates(self.information)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of `free`; NaN rows where the data do not determine a value."""
        return self._covariance[0]

    @property
    def determined(self) -> np.ndarray:
        """Whether the data determine each of `free`."""
        return self._covariance[1]

    def delta(self, jacobian: np.ndarray) -> np.ndarray:
        """Return covariances of functions with this Jacobian (m, n_full).

        Rows that lean on an undetermined parameter are NaN (delta method).
        """
        moving = self.spec.index >= 0
        inner = np.zeros((len(jacobian), self.n_parameters))
        np.add.at(inner.T, self.spec.index[moving], jacobian.T[moving])
        unknown = (np.abs(inner[:, ~self.determined]) > 0).any(1)
        out = inner @ np.nan_to_num(self.covariance) @ inner.T
        out[unknown], out[:, unknown] = np.nan, np.nan
        return out

    def _standard_errors(self, jacobian):
        return np.sqrt(np.maximum(np.diag(self.delta(jacobian)), 0.0))

    def item_positions(self):
        """Yield (item, block, slice of the full vector) in item order."""
        found = []
        for block, where in zip(self.spec.blocks, self.spec.slices(), strict=False):
            size = block.n_parameters
            for k, item in enumerate(block.items):
                at = where.start + k * size
                found.append((int(item), block, slice(at, at + size)))
        return sorted(found, key=lambda entry: entry[0])

    def item_jacobian(self, block, where) -> np.ndarray:
        """Return d reported parameters of an item / d full vector."""
        n_dims = self.spec.n_dims
        out = np.zeros((block.n_parameters, len(self.full)))
        inner = np.eye(block.n_parameters)
        extras = self.full[where][None, n_dims:]
        inner[n_dims:, n_dims:] = block.model.natural_jacobian(extras)[0]
        out[:, where] = inner
        return out

    def item_covariances(self) -> list[np.ndarray]:
        """Return the covariance matrix of each item's reported parameters."""
        return [
            self.delta(self.item_jacobian(block, where))
            for _, block, where in self.item_positions()
        ]

    def derived_standard_errors(self) -> dict[str, np.ndarray]:
        """Return delta-method standard errors of MDISC and MDIFF, each (n_items,)."""
        rows_disc, rows_diff = [], []
        for item, block, where in self.item_positions():
            jacobian = self.item_jacobian(block, where)
            slopes, norm = self.slopes[item], self.mdisc[item]
            if norm == 0:
                rows_disc.append(np.full(len(self.full), np.nan))
                rows_diff.append(np.full(len(self.full), np.nan))
                continue
            d = self.extras[item][0]
            disc = slopes / norm @ jacobian[: len(slopes)]
            rows_disc.append(disc)
            rows_diff.append(d / norm**2 * disc - jacobian[len(slopes)] / norm)
        return {
            "mdisc": self._standard_errors(np.array(rows_disc)),
            "mdiff": self._standard_errors(np.array(rows_diff)),
        }

    def parameter_table(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """Return estimates with standard errors and confidence intervals.

        Returns
        -------
        dict of ndarray
            Columns "item", "parameter", "estimate", "standard_error", "lower", "upper",
            "free" and "determined"; the ability distribution comes last, with item
            None. Fixed parameters have standard error 0.
        """
        items, names, values, jacobians = [], [], [], []
        slope_names = [f"slope{d}" for d in range(1, self.spec.n_dims + 1)]
        for item, block, where in self.item_positions():
            own = slope_names + block.model.extra_names(block.n_categories)
            items += [self.items[item]] * len(own)
            names += own
            values += [*self.slopes[item], *self.extras[item]]
            jacobians.append(self.item_jacobian(block, where))
        z = self.spec.unpack(self.full)[1]
        if len(z):
            items += [None] * len(z)
            names += self.spec.latent.names
            values += list(self.spec.latent.natural(z))
            latent = np.zeros((len(z), len(self.full)))
            latent[:, len(self.full) - len(z) :] = self.spec.latent.natural_jacobian(z)
            jacobians.append(latent)
        jacobian = np.concatenate(jacobians)
        error = self._standard_errors(jacobian)
        estimate, half = np.array(values), ndtri(0.5 + level / 2.0) * error
        free = (np.abs(jacobian[:, self.spec.index >= 0]) > 0).any(1)
        ids = np.empty(len(items), dtype=object)
        ids[:] = items
        return {
            "item": ids,
            "parameter": np.array(names),
            "estimate": estimate,
            "standard_error": error,
            "lower": estimate - half,
            "upper": estimate + half,
            "free": free,
            "determined": np.isfinite(error),
        }
