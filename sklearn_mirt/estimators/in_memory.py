"""Answers in memory, as the fit of the estimators takes them."""

import numpy as np

from sklearn_mirt.data.checks import name_some


class InMemory:
    """A ResponseData to fit; abilities become fitted attributes.

    Parameters
    ----------
    data : ResponseData
    """

    def __init__(self, data):
        self.data = data

    @property
    def item_weight(self):
        """Return the total weight of the answers to each item."""
        return self.data.sums()[0][0]

    def check(self, estimator):
        """Raise ValueError for settings or a size that cannot be fitted."""
        data = self.data
        if estimator.checkpoint_dir is not None:
            raise ValueError("checkpoint_dir needs answers in shards: ShardedResponses")
        if data.n_observed == 0:
            raise ValueError(
                f"There are no answers: all {data.n_respondents} x {data.n_items} "
                "cells are missing"
            )
        n_dims = 1 if estimator.n_dims == "auto" else estimator.n_dims
        if data.n_respondents < n_dims:
            raise ValueError(
                f"n_dims={n_dims} dimensions need at least as many respondents, got "
                f"n_samples={data.n_respondents}"
            )

    def silent(self):
        """Return one text each for the respondents and the items without answers."""
        (item_weight, respondent_weight), _ = self.data.sums()
        texts = []
        for weight, ids, noun in (
            (respondent_weight, self.data.respondents, "respondent"),
            (item_weight, self.data.items, "item"),
        ):
            ids = ids[weight == 0]
            if len(ids):
                texts.append(f"{len(ids)} {noun}(s) without answers: {name_some(ids)}")
        return texts

    def number_of_dimensions(self, estimator):
        """Return `n_dims`, or the recommended number where it is "auto"."""
        if estimator.n_dims != "auto":
            return estimator.n_dims
        from sklearn_mirt.estimators.dimensions import choose_dimensions

        n = self.data.n_respondents
        if n < 2:
            return 1
        return choose_dimensions(
            self.data,
            n_dims=range(1, min(8, n) + 1),
            item_groups=estimator.item_groups,
            guessing=estimator.guessing,
            n_folds=min(5, n),
            n_permutations=0,
            random_state=estimator._seed(),
            n_jobs=estimator.n_jobs,
        ).recommended

    def solver(self, estimator, n_dims):
        """Return the solver that the settings ask for."""
        # imported here: they compile kernels, which an import of the package must not
        if self._is_exact(estimator, n_dims):
            from sklearn_mirt.solvers.quadrature.solver import QuadratureSolver

            return QuadratureSolver(
                estimator.max_iter,
                estimator.tol,
                estimator.item_model,
                estimator.q_matrix,
                estimator.q_matrix is not None and estimator.correlated,
                estimator.device,
                estimator._seed(),
            )
        from sklearn_mirt.solvers.variational.solver import VariationalSolver

        return VariationalSolver(
            estimator.max_iter,
            estimator.tol,
            estimator.dtype,
            estimator.device,
            estimator.n_jobs,
        )

    def _is_exact(self, estimator, n_dims):
        """Return whether the exact solver is asked for, or the one to take."""
        from sklearn_mirt.solvers.quadrature.solver import prefers_exact

        q_matrix, item_model = estimator.q_matrix, estimator.item_model
        only_exact = item_model != "2pl" or q_matrix is not None
        if estimator.solver == "variational" and only_exact:
            raise ValueError(
                "An item_model other than '2pl' and a q_matrix need "
                f"solver='quadrature' or 'auto'; got item_model={item_model!r}"
                f"{'' if q_matrix is None else ' and a q_matrix'} with "
                "solver='variational'"
            )
        if estimator.solver != "auto" or only_exact:
            return estimator.solver != "variational"
        plain = not estimator.positive_slopes and estimator.device == "cpu"
        size = self.data.n_respondents, self.data.n_items, n_dims
        return plain and prefers_exact(*size)

    def start(self, estimator, n_dims, design):
        """Return the earlier result to start from, if warm_start is on and it fits."""
        earlier = getattr(estimator, "_last_result", None)
        if not estimator.warm_start or earlier is None:
            return None
        same = (
            earlier.items.n_dims == n_dims
            and np.array_equal(earlier.items.ids, self.data.items)
            and np.array_equal(earlier.abilities.ids, self.data.respondents)
            and len(earlier.prior.means) == design.n_groups
        )
        return earlier if same else None

    def keep(self, estimator, result):
        """Return the result to rotate; keep it for a warm start."""
        if estimator.warm_start:
            estimator._last_result = result
        return result

    def finish(self, estimator, result, M):
        """Do nothing: rotated abilities are fitted attributes."""
