"""What all scorers share: reading answers, output, standard errors."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from sklearn_mirt.estimators.pickling import VersionedPickleMixin
from sklearn_mirt.selection.surrogate import answer_patterns
from sklearn_mirt.selection.training_answers import (
    OVERALL,
    positions_of,
    read_answers,
    read_training_answers,
)

__all__ = ["Scorer"]

_one_blas_thread = threadpool_limits.wrap(limits=1, user_api="blas")


class Scorer(VersionedPickleMixin, TransformerMixin, BaseEstimator):
    """Validation, output and standard errors shared by all scorers.

    A subclass gives ``_fit(training, problem)``, ``_scores(answers)`` of shape
    (n_respondents, 1 + n_groups) and ``_expected_std(seen)`` of shape (1 + n_groups,),
    all in the item order of ``training_answers_``.
    """

    def fit(self, X, y=None):
        """Learn from the training respondents.

        Parameters
        ----------
        X : array-like, sparse matrix or ResponseData of (n_respondents, n_items)
            Scores in [0, 1], NaN where there is no answer; of a sparse matrix, stored =
            observed.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        return self.fit_training(read_training_answers(self, X, self.item_groups))

    @_one_blas_thread
    def fit_training(self, training, problem=None):
        """Learn from training answers in their canonical order.

        Parameters
        ----------
        training : TrainingAnswers
        problem : SelectionProblem, default=None
            Of the same answers: its models are used where the scorer needs any.

        Returns
        -------
        self
        """
        self.training_answers_ = training
        self.items_ = training.ids
        self.groups_ = training.labels
        self.targets_ = training.targets
        self._fit(training, problem)
        return self

    @_one_blas_thread
    def predict(self, X, return_std=False):
        """Estimate full-bank scores.

        Parameters
        ----------
        X : array-like, sparse matrix or ResponseData of (n_respondents, n_items)
            Answers; NaN where an item was not asked. A table with names may hold some
            of the training columns only.
        return_std : bool, default=False

        Returns
        -------
        scores : ndarray of shape (n_respondents, 1 + n_groups)
            Overall score (mean over all items), then the mean over every group of
            ``groups_``, in [0, 1].
        std : ndarray of shape (n_respondents, 1 + n_groups)
            Standard errors; only if ``return_std``.

        Warns
        -----
        UserWarning
            If a respondent has no answer: the estimate is the prior mean, the standard
            error the prior spread.
        """
        check_is_fitted(self)
        answers = read_answers(self, X, self.training_answers_)
        empty = np.isnan(answers).all(axis=1)
        if empty.any():
            warnings.warn(
                f"Row(s) {np.flatnonzero(empty)[:5].tolist()} hold no answer: their "
                "scores are the prior mean, their standard errors the prior spread.",
                UserWarning,
                stacklevel=2,
            )
        scores, std = self.score_training_items(answers)
        return (scores, std) if return_std else scores

    def score_training_items(self, answers):
        """Estimate full-bank scores from answers in the order of ``fit_training``.

        Parameters
        ----------
        answers : ndarray of shape (n_respondents, n_kept)
            Answers to the items of the training answers; NaN where not asked.

        Returns
        -------
        scores, std : ndarray of shape (n_respondents, 1 + n_groups)
        """
        scores = self._scores(answers)
        std = np.empty_like(scores)
        for seen, rows in answer_patterns(answers):
            std[rows] = self._expected_std(seen)
        return scores, std

    def transform(self, X):
        """Estimate full-bank scores, as ``predict``; honours ``set_output``."""
        return self.predict(X)

    def score(self, X, y):
        """Return R^2 of the estimated scores.

        Parameters
        ----------
        X : array-like of shape (n_respondents, n_items)
            Answers to some items.
        y : array-like of shape (n_respondents,) or (n_respondents, 1 + n_groups)
            True full-bank scores: the overall ones, or all.

        Returns
        -------
        score : float
        """
        scores = self.predict(X)
        return r2_score(y, scores[:, 0] if np.ndim(y) == 1 else scores)

    def get_feature_names_out(self, input_features=None):
        """Return "overall", then the group labels."""
        check_is_fitted(self)
        return np.array([OVERALL, *map(str, self.groups_)], dtype=object)

    def expected_error(self, items):
        """Return the standard errors that answers to ``items`` would give.

        Parameters
        ----------
        items : array-like
            Identifiers, column numbers, or a mask over the training columns.

        Returns
        -------
        std : ndarray of shape (1 + n_groups,)
            For the overall score, then for every group, on the score scale.
        """
        check_is_fitted(self)
        seen = np.sort(positions_of(items, self.training_answers_, what="items"))
        return self._expected_std(seen)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags
