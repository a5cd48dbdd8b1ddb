"""Held-out cells, as in BenchMIRT: ten folds, the model and its baselines, resumable.

Cells (respondent, item) are divided into folds by :class:`CellKFold` (shuffled, seed
42). In each fold the items whose mean score over the *training* cells is outside
(0.05, 0.95) are left out, in training and test. (BenchMIRT decides that on all cells,
test cells included.)
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from sklearn_mirt.data.files.atomic import replacing
from sklearn_mirt.metrics import prediction_report
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
        Where finished parts are kept, one JSON file each; None keeps them in memory.

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
        labels = ["all"] * data.n_items if groups is None else [str(g) for g in groups]
        self._groups = dict(enumerate(labels))
        others = {n: list(map(str, g)) for n, g in (other_groups or {}).items()}
        self._other_groups = {n: dict(enumerate(g)) for n, g in others.items()}
        labels = [*labels, *(v for name in sorted(others) for v in others[name])]
        self._parts: dict[tuple, dict] = {}
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            self._open(self._folder, data, labels)

    def __len__(self):
        return self._n_folds * len(self._estimators)

    def _open(self, folder, data, labels):
        """Load the parts in the folder, after checking what they are parts of."""
        folder.mkdir(parents=True, exist_ok=True)
        mark = {
            "data": _digest(self._X, self._y, self._weights, data, labels),
            "n_folds": self._n_folds,
            "item_filter": self._item_filter,
            "estimators": {name: repr(e) for name, e in self._estimators.items()},
        }
        path = folder / "crossval.json"
        if path.exists():
            earlier = json.loads(path.read_text(encoding="utf-8"))
            if earlier != mark:
                differing = [k for k in mark if earlier.get(k) != mark[k]]
                raise ValueError(
                    f"{folder}: holds parts of another cross-validation "
                    f"(different {', '.join(differing)}); give another folder"
                )
        else:
            with replacing(path, force=False) as scratch:
                scratch.write_text(json.dumps(mark, indent=1), encoding="utf-8")
        for name, fold in self._places():
            part = folder / self._file(name, fold)
            if part.exists():
                self._parts[name, fold] = json.loads(part.read_text(encoding="utf-8"))

    def _places(self):
        return [(n, f) for f in range(self._n_folds) for n in self._estimators]

    def _file(self, name, fold):
        place = list(self._estimators).index(name)
        return f"fold_{fold + 1:02d}_estimator_{place + 1}.json"

    @property
    def n_done(self):
        """Return the number of parts that are finished."""
        return len(self._parts)

    def run(self, report=None):
        """Run what is not done yet.

        Parameters
        ----------
        report : callable, default=None
            Called with the number of finished parts and what comes next.
        """
        folds = CellKFold(self._n_folds).split(self._X)
        for fold, (train, test) in enumerate(folds):
            left = [n for n in self._estimators if (n, fold) not in self._parts]
            if not left:
                continue
            if self._item_filter:
                train, test = self._filtered(train, test)
            for name in left:
                if report is not None:
                    report(self.n_done, f"fold {fold + 1}, {name}")
                self._keep(name, fold, self._part(name, train, test))

    def _filtered(self, train, test):
        j, weight = self._X[:, 1], self._weights
        weight = np.ones(len(j)) if weight is None else weight
        total = np.bincount(j[train], weight[train], self._n_items)
        right = np.bincount(j[train], weight[train] * self._y[train], self._n_items)
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
        weight = self._weights
        start = time.perf_counter()
        estimator.fit(
            self._X[train],
            self._y[train],
            sample_weight=None if weight is None else weight[train],
        )
        seconds = time.perf_counter() - start
        report = prediction_report(
            self._X[test],
            self._y[test],
            estimator.predict_proba(self._X[test]),
            groups=self._groups,
            sample_weight=None if weight is None else weight[test],
        )
        return {"seconds": seconds, "report": report.to_dict(orient="index")}

    def _keep(self, name, fold, part):
        self._parts[name, fold] = part
        if self._folder is not None:
            path = self._folder / self._file(name, fold)
            with replacing(path, force=True) as scratch:
                # NaN as the word NaN, which Python reads back
                scratch.write_text(json.dumps(part), encoding="utf-8")

    def by_fold(self):
        """Return a DataFrame: estimator, fold, group and the metrics, for all parts."""
        import pandas as pd

        rows = [
            {"estimator": name, "fold": fold + 1, "group": group, **row}
            for (name, fold) in self._places()
            if (name, fold) in self._parts
            for group, row in self._parts[name, fold]["report"].items()
        ]
        return pd.DataFrame(rows)

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

    @property
    def seconds(self):
        """Return the time each fit took, by (estimator, fold)."""
        return {place: part["seconds"] for place, part in self._parts.items()}


def _digest(X, y, weights, data, labels) -> str:
    """Return a hash of answers, ids and groups."""
    out = hashlib.sha256()
    for array in (X, y) if weights is None else (X, y, weights):
        out.update(np.ascontiguousarray(array).tobytes())
    for ids in (data.respondents, data.items, labels):
        out.update("\x1f".join(map(str, ids)).encode("utf-8", "surrogatepass"))
    return out.hexdigest()
