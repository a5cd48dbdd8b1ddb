"""Selector of informative items, a scikit-learn feature selector."""

from collections.abc import Mapping
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from sklearn_mirt.data.checks import is_number, name_some
from sklearn_mirt.estimators.pickling import VersionedPickleMixin
from sklearn_mirt.models.item_design import values_by_item
from sklearn_mirt.selection.full_scores import FullScoreRegressor
from sklearn_mirt.selection.problem import (
    SelectionProblem,
    TrainingModels,
    overall_weights,
)
from sklearn_mirt.selection.ranking import Constraints, greedy_ranking
from sklearn_mirt.selection.strategies import make_strategy
from sklearn_mirt.selection.training_answers import (
    OVERALL,
    positions_of,
    read_training_answers,
)

__all__ = ["InformativeItemSelector"]

_OVERALL_WEIGHT = 0.9


class InformativeItemSelector(VersionedPickleMixin, SelectorMixin, BaseEstimator):
    """Choose the items that tell most about the full-bank scores of new respondents.

    Parameters
    ----------
    n_items : int, float or None, default=0.1
        Number of items, or share of the items that have answers (rounded down, at
        least one). None = as many as ``max_cost`` allows.
    strategy : str or object, default="kriging"
        "kriging", "random", "stratified", "discrimination" (BenchMIRT), "information",
        "anchors", or an object with the protocol of
        ``sklearn_mirt.selection.strategies``.
    item_groups : mapping, Series or array-like, default=None
        Group (benchmark) of every item: by item id, or one label per column in order.
        None = one group "all".
    target_weights : float, mapping or array-like, default=0.9
        What to know precisely. A float is the weight of the overall score; the groups'
        scores share the rest. A mapping gives weights by name, "overall" or a group
        label, 0 where not named. An array of shape (n_items,) holds the weights of one
        score of your own. Weights multiply variances relative to the prior ones.
    quotas : mapping, default=None
        Group label to the largest number of its items, or to (smallest, largest). The
        smallest numbers are met first.
    include, exclude : array-like, default=None
        Items that must be in, or may not be: identifiers, column numbers or a mask.
        Included items open the ranking, in the order given.
    random_share : float, default=0.0
        Share of the items after ``include``, evenly spread over the ranking, that is
        drawn at random: a part to audit with and to rotate.
    costs : mapping, Series or array-like of shape (n_items,), default=None
        Cost of every item (tokens, seconds), positive. Strategies with an additive
        criterion divide the gain by it.
    max_cost : float, default=None
        Largest total cost; an item that would pass it is skipped, cheaper ones after it
        may still fit.
    n_dims : int, default=2
        General abilities of the item model.
    random_state : int, RandomState instance or None, default=None
        For random strategies and shares. None counts as 0, so that a selection can
        always be repeated.

    Attributes
    ----------
    ranking_ : ndarray of int
        Columns of the chosen items, the most useful first: its first n entries are the
        choice for n items at the same ``max_cost`` (a smaller ``max_cost`` may skip
        other items: fit anew). Not one rank per column as in some of scikit-learn's
        selectors.
    support_ : ndarray of bool of shape (n_features,)
    items_ : ndarray of shape (n_features,)
        Column names, or positions without names.
    groups_ : ndarray of shape (n_groups,)
        Sorted group labels.

    Notes
    -----
    The choice depends on the content of the matrix only, not on the order or the names
    of rows and columns. Of equally good items the one with the lower group and mean
    score is taken, of identical ones the first column.

    The plain mean of chosen items is not an estimate of the full score: use ``scorer``,
    or fit a ``FullScoreRegressor``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_mirt.selection import InformativeItemSelector
    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=(40, 1))
    >>> full = (rng.logistic(size=(40, 60)) < ability + rng.normal(size=60)) * 1.0
    >>> InformativeItemSelector(10, n_dims=1).fit_transform(full).shape
    (40, 10)
    """

    def __init__(
        self,
        n_items=0.1,
        *,
        strategy="kriging",
        item_groups=None,
        target_weights=_OVERALL_WEIGHT,
        quotas=None,
        include=None,
        exclude=None,
        random_share=0.0,
        costs=None,
        max_cost=None,
        n_dims=2,
        random_state=None,
    ):
        self.n_items = n_items
        self.strategy = strategy
        self.item_groups = item_groups
        self.target_weights = target_weights
        self.quotas = quotas
        self.include = include
        self.exclude = exclude
        self.random_share = random_share
        self.costs = costs
        self.max_cost = max_cost
        self.n_dims = n_dims
        self.random_state = random_state

    @threadpool_limits.wrap(limits=1, user_api="blas")  # many small matrices
    def fit(self, X, y=None):
        """Rank the items.

        Parameters
        ----------
        X : array-like, sparse matrix or ResponseData of (n_respondents, n_items)
            Scores of the training respondents in [0, 1], NaN where there is none; of a
            sparse matrix, stored = observed.
        y : None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a budget that is not positive or larger than the bank, unknown groups or
            items, or constraints that contradict each other.
        """
        strategy = make_strategy(self.strategy)
        training = read_training_answers(self, X, self.item_groups)
        targets, weights = self._targets(training)
        constraints = self._constraints(training)
        problem = SelectionProblem(
            TrainingModels(training.responses, training.groups, n_dims=self.n_dims),
            targets,
            weights,
            n_items=self._budget(training, constraints),
            seed=self._seed(),
        )
        ranking = greedy_ranking(problem, strategy, constraints)
        _check_quotas_met(training, constraints, ranking)
        self.training_answers_, self.problem_ = training, problem
        self.items_, self.groups_ = training.ids, training.labels
        self.ranking_ = training.columns[ranking]
        self.support_ = np.zeros(len(training.ids), dtype=bool)
        self.support_[self.ranking_] = True
        return self

    def scorer(self):
        """Return a fitted ``FullScoreRegressor`` that shares the models of this fit."""
        check_is_fitted(self)
        scorer = FullScoreRegressor(self.n_dims, item_groups=self.item_groups)
        scorer.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            scorer.feature_names_in_ = self.feature_names_in_
        return scorer.fit_training(self.training_answers_, self.problem_)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _seed(self):
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _budget(self, training, constraints):
        """Return the number of items wanted, after checking it."""
        n_known, n_items = len(training.columns), self.n_items
        if n_items is None:
            if self.max_cost is None:
                raise ValueError("Give n_items, max_cost or both; both are None.")
            return int(constraints.allowed.sum())
        if not is_number(n_items):
            raise ValueError(
                f"n_items must be a count, a share or None; got {n_items!r}."
            )
        whole = isinstance(n_items, Integral)
        if whole and not 1 <= n_items <= n_known:
            raise ValueError(
                f"n_items={n_items} must be between 1 and the {n_known} items that "
                "have answers."
            )
        if not whole and not 0 < n_items <= 1:
            raise ValueError(f"As a share, n_items must be in (0, 1]; got {n_items}.")
        wanted = int(n_items) if whole else max(1, int(n_items * n_known + 1e-9))
        smallest, largest = _possible_sizes(training, constraints)
        if smallest > wanted:
            raise ValueError(
                f"Items that must be in, with the smallest quotas, make {smallest} "
                f"items; the budget is {wanted}."
            )
        if largest < wanted:
            raise ValueError(
                f"n_items asks for {wanted} items, but exclude and quotas leave "
                f"{largest}."
            )
        return wanted

    def _targets(self, training):
        """Return target columns over the kept items and their weights."""
        wanted, n_groups = self.target_weights, training.n_groups
        targets = training.targets
        if is_number(wanted):
            if not 0 <= wanted <= 1:
                raise ValueError(
                    "target_weights as a number is the weight of the overall score, in "
                    f"[0, 1]; got {wanted}."
                )
            if n_groups == 1:
                return targets[:, :1], np.ones(1)
            return targets, overall_weights(n_groups, wanted)
        if isinstance(wanted, Mapping):
            return targets, self._named_weights(training)
        weights = np.asarray(wanted, dtype=float)
        if weights.shape != training.ids.shape or not np.isfinite(weights).all():
            raise ValueError(
                f"target_weights as an array needs one finite weight for each of "
                f"{len(training.ids)} items; got shape {weights.shape}."
            )
        if not weights[training.columns].any():
            raise ValueError("target_weights are zero for every item.")
        return weights[training.columns][:, None], np.ones(1)

    def _named_weights(self, training):
        names = [OVERALL, *training.labels]
        _refuse_unknown_groups(self.target_weights, names, "target_weights")
        weights = np.array([float(self.target_weights.get(n, 0.0)) for n in names])
        if not (weights >= 0).all() or not weights.any():
            raise ValueError("target_weights must be at least 0, and not all 0.")
        return weights

    def _constraints(self, training):
        """Check include, exclude, quotas, costs and random_share."""
        share = self.random_share
        if not is_number(share) or not 0 <= share <= 1:
            raise ValueError(f"random_share must be in [0, 1]; got {share!r}.")
        for items, what in ((self.include, "include"), (self.exclude, "exclude")):
            _refuse_numbers_for_names(items, training, what)
        first, out = (
            positions_of([] if items is None else items, training, what=what)
            for items, what in ((self.include, "include"), (self.exclude, "exclude"))
        )
        both = np.intersect1d(first, out)
        if len(both):
            names = training.ids[training.columns[both]]
            raise ValueError(f"include and exclude both name {name_some(names)}.")
        allowed = np.ones(len(training.columns), dtype=bool)
        allowed[out] = False
        lowest, highest = self._quotas(training)
        costs, max_cost = self._costs(training)
        if costs is not None and costs[first].sum() > max_cost:
            raise ValueError(
                f"Items that must be in cost {costs[first].sum():g}; max_cost is "
                f"{max_cost:g}."
            )
        return Constraints(allowed, first, lowest, highest, costs, max_cost, share)

    def _quotas(self, training):
        """Return the smallest and the largest number of items of every group."""
        size = np.bincount(training.groups, minlength=training.n_groups)
        lowest, highest = np.zeros_like(size), size.copy()
        quotas = self.quotas or {}
        _refuse_unknown_groups(quotas, training.labels, "quotas")
        for g, label in enumerate(training.labels):
            if label not in quotas:
                continue
            quota = quotas[label]
            low, high = (0, int(quota)) if isinstance(quota, Integral) else quota
            if not 0 <= low <= high or low > size[g]:
                raise ValueError(
                    f"The quota of group {name_some([label])} must be (smallest, "
                    "largest) with 0 <= smallest <= largest and smallest <= its "
                    f"{size[g]} items; got {quota!r}."
                )
            lowest[g], highest[g] = low, high
        return lowest, highest

    def _costs(self, training):
        """Return the cost of every kept item, or None, and the largest total."""
        limit = np.inf if self.max_cost is None else self.max_cost
        if self.costs is None:
            if self.max_cost is not None:
                raise ValueError("max_cost needs costs.")
            return None, np.inf
        costs = values_by_item(training.ids, self.costs, "costs").astype(float)
        if not (np.isfinite(costs).all() and (costs > 0).all()):
            raise ValueError("costs must be positive and finite.")
        if not limit > 0:
            raise ValueError(f"max_cost must be positive; got {limit}.")
        return costs[training.columns], float(limit)


def _refuse_numbers_for_names(items, training, what):
    """Raise ValueError where integers could be names or numbers of columns."""
    if items is None or np.asarray(items).dtype.kind not in "iu" or not training.named:
        return
    if any(is_number(name) and name != k for k, name in enumerate(training.ids)):
        raise ValueError(
            f"{what} holds integers, and the columns are named by numbers: give a mask "
            "with True for the columns that you mean."
        )


def _refuse_unknown_groups(named, known, what):
    unknown = [name for name in named if name not in set(known)]
    if unknown:
        raise ValueError(
            f"{what} names unknown group(s): {name_some(unknown)}; known are "
            f"{name_some(known)}."
        )


def _possible_sizes(training, constraints):
    """Sizes of the smallest and of the largest list that respect the constraints."""
    opened, free = (
        np.bincount(training.groups[items], minlength=training.n_groups)
        for items in (constraints.first, constraints.allowed)
    )
    smallest = np.maximum(opened, constraints.lowest).sum()
    largest = np.maximum(np.minimum(free, constraints.highest), opened).sum()
    return int(smallest), int(largest)


def _check_quotas_met(training, constraints, ranking):
    """Raise if ``max_cost`` left no room for the smallest quotas."""
    counts = np.bincount(training.groups[ranking], minlength=training.n_groups)
    short = counts < constraints.lowest
    if short.any():
        raise ValueError(
            f"max_cost={constraints.max_cost:g} is too small for the smallest quota of "
            f"group(s) {name_some(training.labels[short])}."
        )
