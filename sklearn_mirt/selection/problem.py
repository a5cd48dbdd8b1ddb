"""What a selection strategy sees: training answers, their models, and the task."""

from functools import cached_property

import numpy as np

from sklearn_mirt.selection.surrogate import (
    DEFAULT_BLOCKS,
    SurrogateParts,
    default_scales,
    fit_folds,
    fit_scales,
)
from sklearn_mirt.solvers.bifactor.fit import fit_bifactor

__all__ = ["SelectionProblem", "TrainingModels", "overall_weights"]

MIN_FOR_SCALES = 8
_MIN_FOR_FOLDS = 4


def overall_weights(n_groups, overall=0.9):
    """Weights of the overall score and of the groups, which share the rest."""
    if n_groups == 1:
        return np.array([1.0, 0.0])
    return np.r_[float(overall), np.full(n_groups, (1.0 - overall) / n_groups)]


class TrainingModels:
    """Models of the training answers, each fitted when first used.

    Parameters
    ----------
    responses : ndarray of shape (n_respondents, n_items)
        Scores in [0, 1], NaN where there is no answer; every row and column has one.
    groups : ndarray of int of shape (n_items,)
    n_dims : int, default=2
        General abilities of the item models.
    blocks : tuple of str
        Covariance blocks of the surrogate.
    """

    def __init__(self, responses, groups, *, n_dims=2, blocks=DEFAULT_BLOCKS):
        self.responses = responses
        self.groups = groups
        self.n_dims = n_dims
        self.blocks = tuple(blocks)

    @property
    def n_groups(self):
        """Number of item groups."""
        return int(self.groups.max()) + 1

    @property
    def respondent_means(self):
        """Mean score of every respondent over its answers."""
        return np.nanmean(self.responses, axis=1)

    @cached_property
    def item_model(self):
        """Bifactor model of all training respondents."""
        return fit_bifactor(self.responses, self.groups, n_dims=self.n_dims)

    @cached_property
    def plain_model(self):
        """The same without group abilities."""
        if self.n_groups == 1:
            return self.item_model
        return fit_bifactor(
            self.responses, self.groups, n_dims=self.n_dims, specific=False
        )

    @cached_property
    def folds(self):
        """Item models and surrogate parts without each fold of respondents."""
        return fit_folds(
            self.responses,
            self.groups,
            n_folds=min(_MIN_FOR_FOLDS, len(self.responses)),
            blocks=self.blocks,
            n_dims=self.n_dims,
        )

    @cached_property
    def scales(self):
        """Log variance scales of the surrogate (typical ones below 8 respondents)."""
        if len(self.responses) < MIN_FOR_SCALES:
            return default_scales(self.parts.blocks)
        return fit_scales(self.folds, self.responses)

    @cached_property
    def parts(self):
        """Blocks of the surrogate, from all training respondents."""
        return SurrogateParts.from_model(
            self.item_model, self.responses, blocks=self.blocks
        )

    @cached_property
    def surrogate(self):
        """Linear Gaussian surrogate of a new respondent."""
        return self.parts.assemble(self.scales)


class SelectionProblem:
    """Which scores are to be known from how many items, given the training answers.

    Parameters
    ----------
    models : TrainingModels
    targets : ndarray of shape (n_items, n_targets)
        Each column holds the weights of a score: a weighted sum of items.
    target_weights : ndarray of shape (n_targets,)
        How much each target counts; multiplies its variance relative to the prior one.
    n_items : int
        Number of items wanted.
    seed : int, default=0
        For strategies that draw.

    Attributes
    ----------
    derived : dict
        What other modules have computed from the models and the targets, by name.
        Problems that differ only in ``n_items`` and ``seed`` share it.
    """

    def __init__(self, models, targets, target_weights, *, n_items, seed=0):
        self.models = models
        self.targets = targets
        self.target_weights = np.asarray(target_weights)
        self.n_items = n_items
        self.seed = seed
        self.derived = {}

    @property
    def groups(self):
        """Group of every item, shape (n_items,)."""
        return self.models.groups

    @property
    def n_groups(self):
        """Number of item groups."""
        return self.models.n_groups

    def with_seed(self, seed):
        """Return the same problem, fitted models included, with another seed."""
        other = SelectionProblem(
            self.models,
            self.targets,
            self.target_weights,
            n_items=self.n_items,
            seed=seed,
        )
        other.derived = self.derived
        return other

    def random(self):
        """Return a fresh generator; the same numbers for the same seed."""
        return np.random.default_rng(self.seed)
