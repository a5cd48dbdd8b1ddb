"""Maximise a marginal likelihood: EM, preconditioned quasi-Newton, Newton finish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize


@dataclass(eq=False)
class OptimiserState:
    """Where the optimiser stands.

    ``gradient_norm`` is the largest gradient in units of the complete-data standard
    error of each parameter: 1e-3 means about a thousandth of a standard error away.
    """

    free: np.ndarray
    objective: float = -np.inf
    gradient_norm: float = np.inf
    n_iter: int = 0
    converged: bool = False
    trace: list[float] = field(default_factory=list)
    callback: Callable[[int, float], None] | None = None

    def note(self, log_likelihood: float) -> None:
        """Add to the trace and tell the caller."""
        self.trace.append(log_likelihood)
        if self.callback is not None:
            self.callback(len(self.trace), log_likelihood)


class Preconditioner:
    """Square root of the inverse complete-data information, block by block.

    Free parameters of one item, not shared with others, form a dense block; shared
    ones are scaled one by one. With x = x0 + C y the Hessian in y is close to minus
    the identity where little information is missing, and EM is steepest ascent in y.
    """

    def __init__(self, likelihood, free):
        spec = likelihood.spec
        self.spec = spec
        blocks, latent = likelihood.complete_information(free)
        counts = np.bincount(spec.index[spec.index >= 0], minlength=spec.n_free)
        self._shared = np.flatnonzero(counts > 1)
        *slices, latent_slice = spec.slices()
        self._factors, scale = [], np.zeros(spec.n_free)
        precision = spec.prior_precision
        for block, matrix, where in zip(spec.blocks, blocks, slices, strict=True):
            index = spec.index[where].reshape(block.shape)
            prior = precision[where].reshape(block.shape)
            own = (index >= 0) & (counts[index] == 1)
            matrix = matrix + prior[:, :, None] * np.eye(block.n_parameters)
            shared = (index >= 0) & ~own
            diagonal = np.einsum("jpp->jp", matrix)
            np.add.at(scale, index[shared], diagonal[shared])
            self._factors.append((index, own, _inverse_cholesky(matrix, own)))
        if spec.n_latent:
            index = spec.index[latent_slice][None]
            own = index >= 0
            self._factors.append((index, own, _inverse_cholesky(latent[None], own)))
        self._scale = np.sqrt(np.maximum(scale[self._shared], 1e-8))

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Return C y: a step in free parameters."""
        return self._apply(y, transpose=True)

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        """Return C' g: the gradient in units of standard errors."""
        return self._apply(gradient, transpose=False)

    def _apply(self, vector, transpose):
        out = np.zeros(self.spec.n_free)
        out[self._shared] = vector[self._shared] / self._scale
        for index, own, factor in self._factors:
            values = np.where(own, vector[index], 0.0)
            subscripts = "jba,jb->ja" if transpose else "jab,jb->ja"
            out[index[own]] = np.einsum(subscripts, factor, values)[own]
        return out


def _inverse_cholesky(matrix: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Inverse Cholesky factors, with unit rows where a parameter is not its own."""
    size = matrix.shape[1]
    both = own[:, :, None] & own[:, None, :]
    matrix = np.where(both, matrix, 0.0)
    diagonal = np.einsum("jpp->jp", matrix)
    ridge = 1e-8 * np.maximum(diagonal.max(1, keepdims=True), 1e-3)
    matrix = matrix + np.where(own, ridge, 1.0)[:, :, None] * np.eye(size)
    return np.linalg.inv(np.linalg.cholesky(matrix))


def em_steps(likelihood, state: OptimiserState, n_steps: int, tol: float) -> None:
    """Take EM steps, each with one Fisher-scoring M-step (Lange 1995, JRSS B 57).

    By Fisher's identity the step is the complete-data information's inverse times the
    marginal gradient. A step that does not raise the objective is halved.
    """
    evaluation = likelihood.evaluate(state.free)
    _note(state, evaluation)
    if not len(state.free):
        state.converged, state.gradient_norm = True, 0.0
        return
    for _ in range(n_steps):
        conditioner = Preconditioner(likelihood, state.free)
        scaled = conditioner.backward(evaluation.gradient)
        state.gradient_norm = float(np.abs(scaled).max(initial=0.0))
        if state.gradient_norm < tol:
            return
        step = conditioner.forward(scaled)
        for _ in range(12):
            trial = likelihood.evaluate(state.free + step)
            if np.isfinite(trial.objective) and trial.objective >= state.objective:
                break
            step = step / 2.0
        else:
            return
        state.free = state.free + step
        evaluation = trial
        _note(state, evaluation)


def _note(state, evaluation):
    state.n_iter += 1
    state.objective = evaluation.objective
    state.note(evaluation.log_likelihood)


def quasi_newton(likelihood, state: OptimiserState, tol: float, max_iter: int) -> None:
    """Finish with L-BFGS in preconditioned coordinates, refreshed between rounds.

    This is the quasi-Newton acceleration of EM of Jamshidian and Jennrich (1997, JRSS
    B 59, 569-587): the metric is the complete-data information, the missing part is
    learned from gradient differences.
    """
    while len(state.free) and state.n_iter < max_iter:
        before = state.n_iter
        conditioner = Preconditioner(likelihood, state.free)
        origin = state.free

        def negative(y, conditioner=conditioner, origin=origin):
            evaluation = likelihood.evaluate(origin + conditioner.forward(y))
            if not np.isfinite(evaluation.objective):
                return np.inf, np.zeros_like(y)
            if evaluation.objective > state.objective:
                state.objective = evaluation.objective
                state.note(evaluation.log_likelihood)
            return -evaluation.objective, -conditioner.backward(evaluation.gradient)

        result = minimize(
            negative,
            np.zeros(len(origin)),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxcor": 30,
                "maxiter": min(60, max_iter - state.n_iter),
                "gtol": tol,
                "ftol": 0.0,
                "maxls": 30,
            },
        )
        state.free = origin + conditioner.forward(result.x)
        state.objective = -float(result.fun)
        state.gradient_norm = float(np.abs(result.jac).max(initial=0.0))
        state.n_iter += max(int(result.nit), 1)
        state.converged = state.gradient_norm <= tol
        # a round without progress has met the rounding of the objective
        stuck = state.n_iter - before <= 1
        if state.converged or stuck:
            state.converged |= state.gradient_norm <= 100.0 * tol
            return


def newton_finish(likelihood, state, observed_information, max_steps: int = 4):
    """Polish with Newton steps on the observed information, while they help.

    Returns the information at the last point, or None where it was never computed.
    """
    information = np.zeros((0, 0)) if not len(state.free) else None
    for _ in range(max_steps if len(state.free) else 0):
        evaluation = likelihood.evaluate(state.free)
        information = observed_information(likelihood, state.free)
        try:
            factor = cho_factor(information)
        except np.linalg.LinAlgError:
            return information
        step = cho_solve(factor, evaluation.gradient)
        decrement = float(step @ evaluation.gradient)
        if decrement < 1e-12:
            return information
        trial = likelihood.evaluate(state.free + step)
        if not trial.objective >= evaluation.objective - 1e-9:
            return information
        state.free = state.free + step
        _note(state, trial)
        if decrement < 1e-7:
            return information
    return information
