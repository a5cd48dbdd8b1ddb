"""The variational fit of answers in shards on disk."""

import hashlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.variational.by_respondents import RespondentFit
from sklearn_mirt.solvers.variational.checkpoint import FILE, Checkpoint
from sklearn_mirt.solvers.variational.problem import Problem
from sklearn_mirt.solvers.variational.solver import VariationalSolver


class ShardedSolver(VariationalSolver):
    """The variational fit of a ShardedResponses; settings as of VariationalSolver.

    Parameters
    ----------
    runner : ShardRunner
        Where shards are computed.
    checkpoint_dir : path-like, default=None
        Folder in which the fit is saved about once a minute, and when it is
        interrupted.
    resume : bool
        Whether to continue from what is saved there.
    """

    def __init__(self, runner, max_iter, tol, dtype, checkpoint_dir=None, resume=False):
        super().__init__(max_iter, tol, dtype)
        self.runner = runner
        self.checkpoint_dir, self.resume = checkpoint_dir, resume

    def solve(self, data, n_dims, design, *, start=None, callback=None):
        """Return the fit; its abilities are an AbilityShards."""
        with _noting(self.checkpoint_dir), self.runner.running():
            answers = data.item_weight, data.item_score, data.n_answered
            settings = get_kernels(), self.runner, self._products(data)
            fit = RespondentFit(Problem(data, design, *answers, *settings), data.shards)
            ascent = self._ascent(fit, data, callback)
            checkpoint = None
            if self.checkpoint_dir is not None:
                checkpoint = Checkpoint(self.checkpoint_dir, _about(fit, n_dims))
                ascent.before_pass = checkpoint.watch
            if not (self.resume and checkpoint and checkpoint.load(ascent)):
                fit.begin(n_dims, start)
            try:
                converged = ascent.run()
            except KeyboardInterrupt:
                if checkpoint is not None:
                    checkpoint.save(ascent)
                raise
        return fit.result(ascent.position.trace, converged)


@contextmanager
def _noting(checkpoint_dir):
    """Add to any error where the fit can continue from."""
    try:
        yield
    except BaseException as error:
        if checkpoint_dir is not None and (Path(checkpoint_dir) / FILE).exists():
            error.add_note(
                f"The last checkpoint is in {checkpoint_dir}: a fit with "
                "warm_start=True goes on from there"
            )
        raise


def _about(fit, n_dims):
    """Return what another fit must have in common to continue from this one."""
    problem = fit.problem
    data, design = problem.data, problem.design
    arrays = design.groups, design.guessing, problem.item_score
    digest = hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in arrays))
    return {
        "n_dims": n_dims,
        "dtype": str(problem.dtype),
        "n_respondents": data.n_respondents,
        "n_items": data.n_items,
        "n_shards": len(fit.shards),
        "positive_slopes": bool(design.positive_slopes),
        "groups, floors and scores of the items": digest.hexdigest()[:16],
    }
