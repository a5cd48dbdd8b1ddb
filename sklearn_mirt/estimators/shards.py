"""Fits answers in shards: items as always, abilities that stay with their shards."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_mirt.data.files.atomic import ScratchFolder
from sklearn_mirt.data.shards.responses import current_client
from sklearn_mirt.estimators.callbacks import PassReporter
from sklearn_mirt.estimators.sharded_abilities import Finish, ShardedAbilities
from sklearn_mirt.exceptions import ResponseDataWarning
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.item_design import make_design
from sklearn_mirt.models.rotation.apply import apply_rotation, rotation_matrix
from sklearn_mirt.solvers.base import SolverResult
from sklearn_mirt.solvers.runners.streaming import StreamingRunner


def fit_shards(estimator, data):
    """Fit a ShardedResponses and set the fitted attributes of the estimator.

    Runs over the Dask client that is current, or else in this process, where the
    abilities of shards that are not being worked on are files too.
    """
    from sklearn_mirt.solvers.variational.shards import ShardedSolver

    _refuse(estimator, data)
    design = make_design(
        data.items,
        estimator.item_groups,
        estimator.guessing,
        estimator.positive_slopes,
    )
    _warn_of_silence(data)
    with np.errstate(invalid="ignore"):
        means = data.item_score / data.item_weight
    estimator.constant_items_ = data.items[(means == 0) | (means == 1)]
    estimator.n_dims_ = estimator.n_dims
    runner = _runner(estimator, data)
    solver = ShardedSolver(
        runner,
        estimator.max_iter,
        estimator.tol,
        estimator.dtype,
        estimator.checkpoint_dir,
        estimator.warm_start,
    )
    reporter = PassReporter(estimator, estimator.max_iter)
    result = solver.solve(data, estimator.n_dims, design, callback=reporter)
    estimator.solver_ = solver.name
    estimator.bytes_moved_ = runner.bytes_sent + runner.bytes_received
    _keep(estimator, data, result, design, runner)
    reporter.close()
    if not result.converged:
        warnings.warn(
            f"The fit stopped after {result.n_iter} passes before the gain per answer "
            f"fell under tol={estimator.tol}; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
    return estimator


def _runner(estimator, data):
    client = current_client()
    if client is None:
        runner = StreamingRunner(estimator.n_jobs, data.folder)
        runner.n_jobs = min(runner.n_jobs, _threads(data, estimator.n_dims))
        return runner
    from sklearn_mirt.solvers.runners.dask_cluster import DaskRunner

    return DaskRunner(client)


def _threads(data, n_dims):
    """Return how many shards may be open at once.

    Raises
    ------
    ValueError
        Not one.
    """
    # a shard and its sums; and what Python, compiler and sums that wait take
    sums = 8 * data.n_items * (n_dims + 1) * (n_dims + 4) // 2
    each = 2 * max(shard.size() for shard in data.shards) + 2**25 + sums
    rest = data.max_memory - 2**28 - 16 * sums
    if rest < each:
        raise ValueError(
            f"max_memory of {data.max_memory / 1e6:.0f} MB is too little: "
            f"{(each + data.max_memory - rest) / 1e6:.0f} MB are needed for one shard "
            f"of {len(data.shards)}; make more of them, or allow more memory"
        )
    return rest // each


def _refuse(estimator, data):
    """Raise ValueError for settings that shards are not fitted with."""
    wanted = {
        "solver": ("auto", "variational"),
        "item_model": ("2pl",),
        "q_matrix": (None,),
        "device": ("cpu",),
    }
    for name, values in wanted.items():
        value = getattr(estimator, name)
        if not any(
            value is w or (isinstance(value, str) and value == w) for w in values
        ):
            raise ValueError(f"Answers in shards are not fitted with {name}={value!r}")
    if estimator.n_dims == "auto":
        raise ValueError(
            "Answers in shards need a number for n_dims; choose_dimensions tells it "
            "from a sample of the respondents"
        )
    if data.n_answered < estimator.n_dims:
        raise ValueError(
            f"n_dims={estimator.n_dims} dimensions need at least as many respondents, "
            f"got {data.n_answered} with answers"
        )


def _warn_of_silence(data):
    counts = (
        (data.n_respondents - data.n_answered, "respondent"),
        (int(np.count_nonzero(data.item_weight == 0)), "item"),
    )
    parts = [f"{n} {noun}(s) without answers" for n, noun in counts if n]
    if parts:
        warnings.warn(
            "; ".join(parts) + ". They keep the prior mean and spread",
            ResponseDataWarning,
            stacklevel=5,
        )


def _keep(estimator, data, result, design, runner):
    items, stay = result.items, result.abilities
    d = items.n_dims
    nobody = Abilities(
        np.empty((0, d)),
        np.empty((0, d, d)),
        stay.prior_covariance,
        np.empty(0, dtype=object),
    )
    method = None if estimator.positive_slopes else estimator.rotation
    M = rotation_matrix(items.take(data.item_weight > 0), nobody, method or "none")
    items, nobody = apply_rotation(items, nobody, M)
    carry = np.eye(d + 1)
    carry[:-1, :-1] = M.T
    estimator._determined = np.ones(items.n_items, bool)
    estimator._keep_rotated(
        SolverResult(
            items, nobody, result.prior.carried(carry), result.trace, result.converged
        ),
        design,
    )
    inverse = np.linalg.inv(M) @ stay.inverse
    finish = Finish(inverse, stay.center, nobody.prior_covariance)
    folder = ScratchFolder(".abilities-", data.folder)
    files = runner.store(stay.states, folder.name)
    estimator.sharded_abilities_ = ShardedAbilities(data, files, finish, folder)
