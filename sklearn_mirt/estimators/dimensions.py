"""How many dimensions do the answers share? A table and a recommendation.

The rule. A dimension counts if it is *shared*: with it, answers to some benchmarks are
predicted better from the respondents' answers to **other** benchmarks. Respondents and
item groups are divided into folds, and every respondent's answers to a fold of groups
are predicted by a model that has not seen them (Latin square: fold r of the respondents
with fold g of the groups, so all cells are predicted once by `n_folds` fits). The
recommended number is the smallest whose held-out log loss is within one standard error
of the best. The error is that of the paired difference, over respondents or over item
groups, whichever is larger: a gain made on a single group is no larger than its error
over groups and does not count.

Cells held out at random would answer another question. Each benchmark has some ability
of its own, which predicts a cell from other cells of the same benchmark; with thousands
of items every such effect is "significant", and the number of dimensions grows towards
the number of benchmarks. With fewer than four item groups nothing can be said about
sharing, and random cells are what is left.

The price of the rule: an ability that only one benchmark calls for is never counted.

References
----------
Owen & Perry (2009), Ann. Appl. Stat. 3, 564-594 (bi-cross-validation). Hastie,
Tibshirani & Friedman (2009), *The Elements of Statistical Learning*, section 7.10 (one
standard error). Horn (1965), Psychometrika 30, 179-185 (parallel analysis).
"""

from dataclasses import dataclass

import numpy as np

from sklearn_mirt.data.resampling import permuted_within_items, with_cells
from sklearn_mirt.data.responses import as_responses
from sklearn_mirt.models.item_design import make_design
from sklearn_mirt.models.prediction import expected_cells, log_losses

FEWEST_GROUPS = 4
_MAX_RESPONDENTS = 500
_FEWEST_ITEMS = 20  # of a group, when items are thinned
_PATIENCE = 2  # numbers of dimensions tried beyond the best


@dataclass(frozen=True, eq=False)
class DimensionChoice:
    """What speaks for each number of dimensions.

    Attributes
    ----------
    table : DataFrame, index n_dims
        log_loss : held-out log loss per answer, in nats;
        excess, se_excess : its difference from the best, and the standard error of that
        difference over respondents, or over item groups if that is larger;
        bound : evidence lower bound per answer of a fit to all answers used;
        slope_variance : smallest of the variances of the slopes in the learned prior,
        one for each dimension, in squared logits: near 0 for a dimension the items do
        not use;
        eigenvalue, null_eigenvalue : parallel analysis, the d-th eigenvalue of the
        respondents' correlation and the 95% quantile of the largest among answers
        permuted within items, which counts dimensions of any one benchmark as well.
    recommended : int
    by : {"groups", "cells"}
        What was held out.
    rule : str
        The rule in words.
    n_parallel : int
        Number of eigenvalues above the null.
    """

    table: object
    recommended: int
    by: str
    rule: str
    n_parallel: int


def choose_dimensions(
    responses,
    *,
    n_dims=(1, 2, 3, 4, 5, 6),
    item_groups=None,
    by="auto",
    n_folds=5,
    max_cells=200_000,
    guessing=None,
    n_permutations=5,
    max_iter=60,
    tol=1e-5,
    random_state=0,
    n_jobs=None,
    progress=None,
):
    """Recommend a number of dimensions by the rule at the head of this module.

    Parameters
    ----------
    responses : ResponseData, DataFrame or array-like of shape (n_respondents, n_items)
        Scores in [0, 1], NaN where there is no answer.
    n_dims : iterable of int, default=(1, 2, 3, 4, 5, 6)
        Numbers to try, in rising order; the search ends two after the best.
    item_groups : mapping, Series or array-like, default=None
        Benchmark of each item.
    by : {"auto", "groups", "cells"}, default="auto"
        What is held out: blocks of respondents and item groups, or cells at random.
        "auto" is "groups" with four groups or more.
    n_folds : int, default=5
    max_cells : int, default=200_000
        Larger data are thinned: at most 500 respondents, and a random share of the
        items of every group (20 at least). It bounds the cost: `n_folds` fits of at
        most this size for each number of dimensions, about 10 s in all on one core.
    guessing : float, mapping, Series or array-like, default=None
        Known guessing floors, as in the estimators.
    n_permutations : int, default=5
        Of the parallel analysis.
    max_iter, tol : int, float
        Of each fit.
    random_state : int, default=0
    n_jobs : int, default=None
        Threads.
    progress : callable, default=None
        Called as ``progress(done, total)`` after each number of dimensions.

    Returns
    -------
    choice : DimensionChoice

    Raises
    ------
    ValueError
        Nothing to try, unknown `by`, or too few groups or respondents for the folds.

    Examples
    --------
    >>> from sklearn_mirt.datasets import make_responses
    >>> from sklearn_mirt import choose_dimensions
    >>> X = make_responses(60, 300, n_dims=1, random_state=0).responses
    >>> choose_dimensions(X, n_dims=(1, 2)).recommended
    1
    """
    data = as_responses(responses)
    tried = sorted(set(n_dims))
    if not tried or tried[0] < 1:
        raise ValueError(f"n_dims must be positive integers, got {n_dims!r}")
    design = make_design(data.items, item_groups, guessing, False)
    by = _resolved(by, design, data, n_folds)
    rng = np.random.default_rng(random_state)
    data, design = _thinned(data, design, max_cells, rng)
    search = _Search(data, design, _folds(data, design, by, n_folds, rng), by)
    settings = {"max_iter": max_iter, "tol": tol, "n_jobs": n_jobs}
    for done, d in enumerate(tried, start=1):
        search.evaluate(d, settings)
        if progress is not None:
            progress(done, len(tried))
        if d - search.best >= _PATIENCE:
            break
    eigenvalues = _eigenvalues(data)
    null = [
        _eigenvalues(permuted_within_items(data, rng))[0] for _ in range(n_permutations)
    ]
    quantile = np.quantile(null, 0.95) if null else np.nan
    return search.choice(eigenvalues, quantile)


class _Search:
    """Held-out losses of the numbers of dimensions tried so far."""

    def __init__(self, data, design, folds, by):
        self.data, self.design, self.folds, self.by = data, design, folds, by
        self.cells = data.cells()
        self.losses, self.fits = {}, {}

    @property
    def best(self):
        return min(self.losses, key=lambda d: self.losses[d][0].sum())

    def evaluate(self, d, settings):
        """Hold out each fold, then fit all."""
        # imported here: it compiles kernels
        from sklearn_mirt.solvers.variational.solver import VariationalSolver

        solver = VariationalSolver(**settings)
        item, respondent, scores, weights = self.cells
        weights = np.ones(len(item)) if weights is None else weights
        groups = self.design.groups[item]
        loss = np.zeros(self.data.n_respondents), np.zeros(self.design.n_groups)
        for fold in range(self.folds.max() + 1):
            out = self.folds == fold
            seen = with_cells(self.data, ~out)
            result = solver.solve(seen, d, self.design)
            p = expected_cells(
                result.items, result.abilities, respondent[out], item[out]
            )
            nats = weights[out] * log_losses(scores[out], p, 1e-12)
            for sums, code in zip(loss, (respondent, groups), strict=True):
                sums += np.bincount(code[out], nats, len(sums))
        self.losses[d] = loss
        self.fits[d] = solver.solve(self.data, d, self.design)

    def choice(self, eigenvalues, null):
        import pandas as pd

        weights = self.cells[3]
        n = len(self.cells[0]) if weights is None else float(weights.sum())
        best, rows = self.losses[self.best], {}
        for d, loss in self.losses.items():
            error = _error_of_sum(loss[0] - best[0])
            if self.by == "groups":
                error = max(error, _error_of_sum(loss[1] - best[1]))
            fit = self.fits[d]
            rows[d] = {
                "log_loss": loss[0].sum() / n,
                "excess": (loss[0] - best[0]).sum() / n,
                "se_excess": error / n,
                "bound": fit.trace[-1] / n,
                "slope_variance": _slope_variances(fit, self.design)[-1],
                "eigenvalue": eigenvalues[d - 1] if d <= len(eigenvalues) else np.nan,
                "null_eigenvalue": null,
            }
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("n_dims")
        within = table["excess"] <= table["se_excess"]
        return DimensionChoice(
            table,
            int(table.index[within].min()),
            self.by,
            _RULES[self.by],
            int((eigenvalues > null).sum()),
        )


_RULES = {
    "groups": "the smallest number of dimensions whose log loss on answers to held-out "
    "item groups, predicted from answers to the other groups, is within one standard "
    "error of the best",
    "cells": "the smallest number of dimensions whose log loss on answers held out at "
    "random is within one standard error of the best",
}


def _resolved(by, design, data, n_folds):
    if by not in ("auto", "groups", "cells"):
        raise ValueError(f"by must be 'auto', 'groups' or 'cells', got {by!r}")
    if by == "auto":
        by = "groups" if design.n_groups >= FEWEST_GROUPS else "cells"
    if by == "groups" and design.n_groups < 2:
        raise ValueError("by='groups' needs item_groups, at least two of them")
    if n_folds < 2 or data.n_respondents < n_folds:
        raise ValueError(
            f"n_folds must be between 2 and the number of respondents "
            f"({data.n_respondents}), got {n_folds}"
        )
    return by


def _thinned(data, design, max_cells, rng):
    """Return some respondents and a share of the items of each group."""
    if data.n_respondents > _MAX_RESPONDENTS:
        chosen = rng.choice(data.n_respondents, _MAX_RESPONDENTS, replace=False)
        data = data.take(respondents=np.sort(chosen))
    share = max_cells / max(data.n_observed, 1)
    if share >= 1:
        return data, design
    kept = []
    for g in range(design.n_groups):
        members = np.flatnonzero(design.groups == g)
        size = min(len(members), max(_FEWEST_ITEMS, round(share * len(members))))
        kept.append(rng.choice(members, size, replace=False))
    items = np.sort(np.concatenate(kept))
    return data.take(items=items), design.take(items)


def _folds(data, design, by, n_folds, rng):
    """Fold of each cell, in the order of `data.cells()`."""
    item, respondent, _, _ = data.cells()
    if by == "cells":
        return rng.permutation(len(item)) % n_folds
    return shared_folds(respondent, design.groups[item], n_folds, rng)


def shared_folds(respondents, groups, n_folds=5, random_state=0):
    """Return the fold of each answer: blocks of respondents and item groups.

    For ``GridSearchCV(MIRTClassifier(...), {"n_dims": ...},
    cv=PredefinedSplit(folds))``, the search by hand.

    Parameters
    ----------
    respondents, groups : ndarrays of shape (n_answers,)
        Respondent and item group of each answer.
    n_folds : int, default=5
    random_state : int or numpy.random.Generator, default=0

    Returns
    -------
    folds : ndarray of int of shape (n_answers,)
    """
    rng = np.random.default_rng(random_state)
    sides = []
    for labels in (respondents, groups):
        names, codes = np.unique(labels, return_inverse=True)
        sides.append((rng.permutation(len(names)) % n_folds)[codes])
    return (sides[0] + sides[1]) % n_folds


def _error_of_sum(differences):
    """Return the standard error of a sum of independent draws."""
    return differences.std(ddof=1) * np.sqrt(len(differences))


def _eigenvalues(data):
    """Return falling eigenvalues of the mean product of standardised answers."""
    item, respondent, scores, _ = data.cells()
    mean = np.nan_to_num(data.item_means())
    spread = np.sqrt(np.maximum(mean * (1 - mean), 0.01))
    Z = np.zeros((data.n_respondents, data.n_items))
    Z[respondent, item] = (scores - mean[item]) / spread[item]
    return np.linalg.eigvalsh(Z @ Z.T / data.n_items)[::-1]


def _slope_variances(fit, design):
    """Return the second moments of slopes in the learned prior, by principal axis."""
    prior = fit.prior
    share = np.bincount(design.groups, minlength=design.n_groups) / len(design.groups)
    means = prior.means[:, :-1]
    moments = prior.covariances[:, :-1, :-1] + means[:, :, None] * means[:, None, :]
    return np.linalg.eigvalsh(np.einsum("g,gpq->pq", share, moments))[::-1]
