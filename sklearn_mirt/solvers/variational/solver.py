"""Variational fit for many items: closed-form passes whose bound never falls.

Model, with beta_j = (a_j, d_j):

    eta_ij = beta_j . (theta_i, 1)
    P(y_ij = 1) = g_j + (1 - g_j) sigmoid(eta_ij)
    theta_i ~ N(0, I)        beta_j ~ N(mu_g, Sigma_g), g the group of item j

Polya-Gamma augmentation makes both conditionals Gaussian. A pass updates items given
abilities and abilities given items, over blocks of items (by_items.py) or over runs of
respondents (by_respondents.py), moves the abilities to mean 0 and average second moment
I, carrying items and prior along (coordinates.py), and re-estimates the prior. loop.py
repeats it.

References
----------
Polson, Scott & Windle (2013), JASA 108. Jaakkola & Jordan (2000), Statistics and
Computing 10. Cho, Wang, Zhang & Xu (2021), Br. J. Math. Stat. Psychol. 74 (Gaussian
variational EM for MIRT). Liu, Rubin & Wu (1998), Biometrika 85 (parameter expansion).
"""

from dataclasses import dataclass, field

import numpy as np

from sklearn_mirt.solvers.base import Solver
from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.runners.streaming import StreamingRunner
from sklearn_mirt.solvers.runners.threads import RUNS, LocalRunner
from sklearn_mirt.solvers.variational.by_items import ItemFit
from sklearn_mirt.solvers.variational.by_respondents import TableFit
from sklearn_mirt.solvers.variational.loop import Ascent
from sklearn_mirt.solvers.variational.problem import Problem

_DOUBLE_BELOW = 10**6  # cells up to which products in float64 cost nothing to speak of
_SMALL = 10**5  # cells up to which passes are too cheap to be worth saving
_PLAIN_PASSES_SMALL = 100  # before the first jump in small data
_PLAIN_PASSES = 5  # before the first jump: the first passes are large steps anyway


@dataclass
class VariationalSolver(Solver):
    """Settings of the variational fit.

    Parameters
    ----------
    max_iter : int
        Largest number of passes.
    tol : float
        Stop when a pass raises the bound by less, in nats per observed answer.
    dtype : {"auto", "float32", "float64"}
        Type of the matrix products; sums across blocks are float64. "auto" takes
        float64 up to a million cells.
    device : {"cpu", "cuda"}
    n_jobs : int or None
    accelerate : bool
        Whether passes are extrapolated (acceleration.py): after the first 5, or
        after 100 where there are at most 100,000 cells.
    """

    max_iter: int = 100
    tol: float = 1e-6
    dtype: str = "auto"
    device: str = "cpu"
    n_jobs: int | None = None
    accelerate: bool = True
    name: str = field(default="variational", init=False)

    def solve(self, data, n_dims, design, *, start=None, callback=None):
        """Return the fit of `data`; see :class:`Solver`."""
        fit_class: type[ItemFit | TableFit] = ItemFit
        runner = LocalRunner(self.n_jobs)
        if self.device == "cpu" and _is_tall(data):
            fit_class, runner = TableFit, StreamingRunner(self.n_jobs, n_runs=RUNS)
        kernels, dtype = get_kernels(self.device), self._products(data)
        with runner.running():
            fit = fit_class(Problem.of(data, design, kernels, runner, dtype))
            fit.begin(n_dims, start)
            ascent = self._ascent(fit, data, callback)
            converged = ascent.run()
        return fit.result(ascent.position.trace, converged)

    def _ascent(self, fit, data, callback):
        plain_passes = self._plain_passes(data)
        return Ascent(fit, self.max_iter, self.tol, plain_passes, callback)

    def _plain_passes(self, data):
        if not self.accelerate:
            return np.inf
        small = data.n_respondents * data.n_items <= _SMALL
        return _PLAIN_PASSES_SMALL if small else _PLAIN_PASSES

    def _products(self, data):
        if self.dtype == "auto":
            small = data.n_respondents * data.n_items <= _DOUBLE_BELOW
            return np.dtype(np.float64 if small else np.float32)
        return np.dtype(self.dtype)


def _is_tall(data):
    n, n_items = data.n_respondents, data.n_items
    return n > n_items and n * n_items > _DOUBLE_BELOW
