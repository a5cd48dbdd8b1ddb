"""Held-out cells, as in BenchMIRT: ten folds, the model and its baselines, resumable.

Cells (respondent, item) are divided into folds by :class:`CellKFold` (shuffled, seed
42). In each fold the items whose mean score over the *training* cells is outside
(0.05, 0.95) are left out, in training and test. (BenchMIRT decides that on all cells,
test cells included.)
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from sklearn_mirt.data.files.kept_results import KeptResults, digest
from sklearn_mirt.metrics.functions import prediction_report
from sklearn_mirt.metrics.splitters import CellKFold

KEPT_BETWEEN = (0.05, 0.95)


class GroupwiseClassifier(ClassifierMixin, BaseEstimator):
    """One classifier for each group of items: BenchMIRT's "1-d IRT per category".

    Parameters
    ----------
    estimator : estimator
        With the interface of MIRTClassifier; a copy is fitted to each group.
    item_groups : mapping from item id, default=None
        Group of each item; None for one group.

    Attributes
    ----------
    estimators_ : dict from group to fitted estimator
    mean_ : float
        Mean score, for items of groups that the fit has not seen.
    """

    def __init__(self, estimator, item_groups=None):
        self.estimator = estimator
        self.item_groups = item_groups

    def fit(self, X, y, sample_weight=None):
        """Fit a copy to the answers to each group.

        Parameters
        ----------
        X : ndarray of shape (n_answers, 2)
            Respondent id and item id.
        y : ndarray of shape (n_answers,)
            Scores in [0, 1].
        sample_weight : ndarray of shape (n_answers,), default=None

        Returns
        -------
        self : GroupwiseClassifier
        """
        self.mean_ = float(np.average(y, weights=sample_weight))
        self.estimators_, self.classes_ = {}, np.array([0.0, 1.0])
        for group, rows in self._rows(X):
            weight = None if sample_weight is None else sample_weight[rows]
            estimator = clone(self.estimator)
            self.estimators_[group] = estimator.fit(
                X[rows], y[rows], sample_weight=weight
            )
        return self

    def predict_proba(self, X):
        """Return probabilities of a wrong and of a right answer.

        Parameters
        ----------
        X : ndarray of shape (n_answers, 2)

        Returns
        -------
        probabilities : ndarray of shape (n_answers, 2)
        """
        right = np.full(len(X), self.mean_)
        for group, rows in self._rows(X):
            if group in self.estimators_:
                right[rows] = self.estimators_[group].predict_proba(X[rows])[:, 1]
        return np.column_stack([1 - right, right])

    def _rows(self, X):
        items, codes = np.unique(X[:, 1], return_inverse=True)
        of = self.item_groups or {}
        labels, groups = np.unique(
            [str(of.get(item, "all")) for item in items.tolist()], return_inverse=True
        )
        codes = groups[codes]
        return [(label, np.flatnonzero(codes == k)) for k, label in enumerate(labels)]


class CellCrossValidation:
    """One cross-validation: every estimator on every fold, each result kept in a file.

    Parameters
    ----------
    data : ResponseData
    estimators : dict from str to estimator
        With the interface of MIRTClassifier. Those with a parameter `item_groups` get
        the groups.
    groups : sequence of length n_items, default=None
        Group of each item; the report is by group.
    other_groups : dict from str to sequence of length n_items, default=None
        Groups for some of the estimators, by name, in place of `groups`.
    n_folds : int, default=10
    item_filter : bool, default=True
        Leave out items that almost all or almost none of the training cells got right.
    folder : path-like, default=None
        Where finished parts are kept, one file each, from which an interrupted run
        resumes; None keeps them in memory.

    Raises
    ------
    ValueError
        The folder holds parts of other data or settings.
    """

    def __init__(
        self,
        data,
        estimators,
        *,
        groups=None,
        other_groups=None,
        n_folds=10,
        item_filter=True,
        folder=None,
    ):
        self._estimators = estimators
        self._n_folds, self._item_filter = n_folds, item_filter
        item, respondent, scores, weights = data.cells()
        self._X = np.column_stack([respondent, item])
        self._y = np.asarray(scores, dtype=float)
        self._weights = None if weights is None else np.asarray(weights, dtype=float)
        self._n_items = data.n_items
        labels = ["all"] * data.n_items if groups is None else groups
        self._groups = _by_place(labels)
        self._other_groups = {n: _by_place(g) for n, g in (other_groups or {}).items()}
        self._parts: dict[tuple, dict] = {}
        self._kept = None
        if folder is not None:
            self._kept = KeptResults(folder, self._settings(data))

    def __len__(self):
        return self._n_folds * len(self._estimators)

    def _settings(self, data):
        """Return what the finished parts depend on."""
        answers = [
            self._X,
            self._y,
            *([] if self._weights is None else [self._weights]),
        ]
        ids = [list(map(str, ids)) for ids in (data.respondents, data.items)]
        groups = self._groups, sorted(self._other_groups.items())
        return {
            "data": digest(answers, ids, groups),
            "n_folds": self._n_folds,
            "item_filter": self._item_filter,
            "estimators": [[name, repr(e)] for name, e in self._estimators.items()],
        }

    def run(self, report=None):
        """Fit every estimator to every fold, apart from the parts that are kept.

        Parameters
        ----------
        report : callable, default=None
            Called with the number of finished parts and what comes next.
        """
        folds = CellKFold(self._n_folds).split(self._X)
        for fold, (train, test) in enumerate(folds):
            if self._item_filter:
                train, test = self._filtered(train, test)
            for place, name in enumerate(self._estimators):
                if report is not None:
                    report(len(self._parts), f"fold {fold + 1}, {name}")
                part = partial(self._part, name, train, test)
                file = f"fold_{fold + 1:02d}_estimator_{place + 1}"
                self._parts[name, fold] = (
                    part() if self._kept is None else self._kept.get(file, part)
                )

    def _filtered(self, train, test):
        j, weight = self._X[:, 1], self._weight_of(train)
        weight = np.ones(len(train)) if weight is None else weight
        total = np.bincount(j[train], weight, self._n_items)
        right = np.bincount(j[train], weight * self._y[train], self._n_items)
        with np.errstate(invalid="ignore"):
            rate = right / total
            keep = (rate > KEPT_BETWEEN[0]) & (rate < KEPT_BETWEEN[1])
        kept = train[keep[j[train]]], test[keep[j[test]]]
        if not all(map(len, kept)):
            raise ValueError(
                "no item has a mean score between 0.05 and 0.95; cross-validate "
                "without the item filter"
            )
        return kept

    def _part(self, name, train, test):
        estimator = clone(self._estimators[name])
        if "item_groups" in estimator.get_params():
            groups = self._other_groups.get(name, self._groups)
            estimator.set_params(item_groups=groups)
        X, y = self._X, self._y
        estimator.fit(X[train], y[train], sample_weight=self._weight_of(train))
        report = prediction_report(
            X[test],
            y[test],
            estimator.predict_proba(X[test]),
            groups=self._groups,
            sample_weight=self._weight_of(test),
        )
        columns = {name: column.to_numpy() for name, column in report.items()}
        return {"group": np.array(report.index.tolist(), dtype=str), **columns}

    def _weight_of(self, rows):
        return None if self._weights is None else self._weights[rows]

    def by_fold(self):
        """Return a DataFrame: estimator, fold, group and the metrics, for all parts."""
        import pandas as pd

        return pd.concat(
            [
                pd.DataFrame({"estimator": name, "fold": fold + 1, **part})
                for (name, fold), part in self._parts.items()
            ],
            ignore_index=True,
        )

    def table(self, group="micro"):
        """Return the means over folds of one row of the reports, by estimator.

        Parameters
        ----------
        group : str, default="micro"
            "micro" (all cells), "macro mean" (mean over groups) or a group.

        Returns
        -------
        table : DataFrame, index estimator
            accuracy, log_loss, mae, auc, spearman, and se_log_loss, the standard error
            over folds of the difference in log loss from the first estimator.
        """
        rows = self.by_fold()
        rows = rows[rows["group"] == group]
        names = ["accuracy", "log_loss", "mae", "auc", "spearman"]
        means = rows.groupby("estimator", sort=False)[names].mean()
        wide = rows.pivot(index="fold", columns="estimator", values="log_loss")
        gap = wide.sub(wide[means.index[0]], axis=0)[means.index]
        means["se_log_loss"] = (gap.std() / np.sqrt(len(gap))).to_numpy()
        return means


def _by_place(labels):
    """Return the group of each item, by the place of the item in the data."""
    return dict(enumerate(map(str, labels)))
