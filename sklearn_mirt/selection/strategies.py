"""Strategies: how to rank items by what the training respondents say about them.

A strategy is any object with one method, ``begin(problem)``, that returns a state with

``gains()``
    An array of n_items: how much each item would add now. Larger is better.
``add(item)``
    Called after an item was taken.

and an optional attribute ``per_cost``: whether gains may be divided by costs. The loop
that takes items, and every constraint, is ``greedy_ranking``. Strategies store their
settings only, so one object serves many problems; the built-in ones are also estimators
in scikit-learn's sense (``get_params``), so that a grid search reaches their settings.
"""

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from sklearn_mirt.selection.error_calibration import calibration_of
from sklearn_mirt.selection.kriging import KrigingState
from sklearn_mirt.selection.ranking import FixedOrder

__all__ = [
    "AnchorStrategy",
    "DiscriminationStrategy",
    "InformationStrategy",
    "KrigingStrategy",
    "RandomStrategy",
    "StratifiedStrategy",
    "make_strategy",
]

_MIN_CELL_VARIANCE = 1e-4
_MIN_SLOPE = 1e-12


# Kriging ------------------------------------------------------------------------------


class KrigingStrategy(BaseEstimator):
    """Take the item that most reduces the variance of the target scores.

    Greedy minimisation of ``sum_t w_t Var(target_t | items)`` under the linear Gaussian
    surrogate, ``w_t`` being the target's weight over its prior variance. One step is
    exact: with ``C`` the current covariance of the items, ``Q = C W`` and ``d`` its
    diagonal, item ``j`` lowers the criterion by ``sum_t w_t Q_jt^2 / d_j``. C is never
    formed; a step costs n_items x (n_factors + n_targets).

    A long list gains little by the surrogate and suffers from where it is wrong, the
    more the fewer respondents it rests on. From the length on at which, for training
    respondents held out, the chosen items no longer beat random ones, the list goes on
    with stratified random items: sampling needs no model (Royall and Herson 1973).

    Parameters
    ----------
    fill : bool, default=True
        Go on with stratified random items where cross-validation says so.

    References
    ----------
    Cressie (1993), Statistics for Spatial Data, section 5.6 (network design).
    Krause, Singh and Guestrin (2008), Near-optimal sensor placements in Gaussian
    processes, JMLR 9 (greedy choice; their criterion is mutual information).
    Royall and Herson (1973), Robust estimation in finite populations I, JASA 68.
    """

    per_cost = True

    def __init__(self, fill=True):
        self.fill = fill

    def begin(self, problem):
        """Return the state before any item is taken."""
        state = KrigingState(
            problem.models.surrogate, problem.targets, problem.target_weights
        )
        calibration = calibration_of(problem) if self.fill else None
        if calibration is None:
            return state
        rest = StratifiedStrategy().begin(problem)
        return _Filled(state, rest, calibration.useful_length)


class _Filled:
    """A state up to some length, then another's fixed order."""

    def __init__(self, state, rest, length):
        self.state = state
        # minus places in (0, 1); made positive, as they may be divided by costs
        self.rest = 1.0 + rest.priority
        self.left = length

    def gains(self):
        return self.state.gains() if self.left > 0 else self.rest

    def add(self, item):
        self.left -= 1
        if self.left > 0:
            self.state.add(item)


# Sampling -----------------------------------------------------------------------------


class RandomStrategy(BaseEstimator):
    """Take items at random."""

    def begin(self, problem):
        """Return the state before any item is taken."""
        return FixedOrder(problem.random().random(len(problem.groups)))


class StratifiedStrategy(BaseEstimator):
    """Take items at random, each group in proportion to its size.

    The r-th item drawn in a group of J_g items comes at (r - 1/2) / J_g: the method of
    Webster and Sainte-Lague (Balinski and Young 1982, chapter 3), the proportional
    allocation in which a larger budget never takes an item back.
    """

    def begin(self, problem):
        """Return the state before any item is taken."""
        rng = problem.random()
        return FixedOrder(-_interleave(rng.random(len(problem.groups)), problem, rng))


def _interleave(key, problem, rng=None):
    """Places of items sorted by ``key`` within groups, groups in proportion to size."""
    place = np.empty(len(key))
    for g in range(problem.n_groups):
        items = np.flatnonzero(problem.groups == g)
        rank = np.empty(len(items))
        rank[np.argsort(key[items], kind="stable")] = np.arange(len(items))
        # Equal groups would always open the list in the same order without the shift.
        shift = 1e-6 * (rng.random() if rng is not None else g / problem.n_groups)
        place[items] = (rank + 0.5 + shift) / len(items)
    return place


# Discrimination (BenchMIRT) -----------------------------------------------------------


class DiscriminationStrategy(BaseEstimator):
    """Take the most discriminating items of equal-count difficulty bins (BenchMIRT).

    Items are sorted into ``n_bins`` bins of equal count by difficulty; within each bin
    they are ranked by discrimination. An item's place is its rank over the size of its
    bin, so that a budget keeps the top share of every bin. Ties in difficulty are split
    by position, as equal counts demand; fewer items than bins take the best of bins
    spread evenly.

    Parameters
    ----------
    by : {"overall", "dimension"}, default="overall"
        "overall": multidimensional discrimination |a| and difficulty -d / |a|.
        "dimension": once per dimension, by the slope a_k, with its own bins of
        -d / a_k; an item's place is its best one. Dimensions are those of the item
        model as fitted, each turned so that its ability rises with the mean score;
        items that better respondents fail come last.
    per : {"all", "group"}, default="all"
        Bins over all items, or within every group.
    n_bins : int, default=100
    """

    def __init__(self, by="overall", *, per="all", n_bins=100):
        self.by = by
        self.per = per
        self.n_bins = n_bins

    def begin(self, problem):
        """Return the state before any item is taken."""
        if self.by not in ("overall", "dimension"):
            raise ValueError(f"by must be 'overall' or 'dimension'; got {self.by!r}.")
        if self.per not in ("all", "group"):
            raise ValueError(f"per must be 'all' or 'group'; got {self.per!r}.")
        model = problem.models.plain_model
        size = np.linalg.norm(model.slopes, axis=1)
        if self.by == "overall":
            lists = [size]
        else:
            centred = (
                problem.models.respondent_means - problem.models.respondent_means.mean()
            )
            sign = np.sign(centred @ model.abilities[:, : model.n_dims])
            lists = list((model.slopes * np.where(sign < 0, -1.0, 1.0)).T)
        place = np.full(len(size), np.inf)
        for slope in lists:
            steep = np.where(slope == 0.0, _MIN_SLOPE, slope)
            difficulty = -model.intercepts / steep
            for part in self._parts(problem):
                own = self._places(difficulty[part], slope[part])
                place[part] = np.minimum(place[part], own)
        return FixedOrder(-place)

    def _parts(self, problem):
        if self.per == "all":
            return [np.arange(len(problem.groups))]
        return [np.flatnonzero(problem.groups == g) for g in range(problem.n_groups)]

    def _places(self, difficulty, discrimination):
        """Rank within the bin over the bin's size, bins visited in spread order."""
        n_bins = min(self.n_bins, len(difficulty))
        order = np.argsort(difficulty, kind="stable")
        place = np.empty(len(difficulty))
        turn = np.argsort(np.argsort(_van_der_corput(n_bins)))
        for k, members in enumerate(np.array_split(order, n_bins)):
            best = members[np.argsort(-discrimination[members], kind="stable")]
            place[best] = (np.arange(len(best)) + turn[k] / n_bins) / len(best)
        return place


def _van_der_corput(n):
    """First n points of the base-2 low-discrepancy sequence."""
    points, scale = np.zeros(n), 0.5
    index = np.arange(n)
    while index.any():
        points += scale * (index & 1)
        index, scale = index >> 1, scale / 2
    return points


# Fisher information -------------------------------------------------------------------


class InformationStrategy(BaseEstimator):
    """Greedy optimal design by Fisher information.

    Averaged over ``n_points`` training respondents at evenly spaced scores, an item
    with slopes ``a`` and weight ``w = p (1 - p)`` changes the precision of the
    abilities by ``w a a'`` (Silvey 1980, chapter 3; Berger and Wong 2009, chapter 5).

    Parameters
    ----------
    criterion : {"c", "D", "A"}, default="c"
        "D" maximises the log determinant of the general abilities' precision, "A"
        minimises the sum of their variances, "c" the variances of the target scores to
        first order in the abilities, by the bifactor model, item uncertainty as noise.
    n_points : int, default=12
    """

    per_cost = True

    def __init__(self, criterion="c", *, n_points=12):
        self.criterion = criterion
        self.n_points = n_points

    def begin(self, problem):
        """Return the state before any item is taken."""
        if self.criterion not in ("c", "D", "A"):
            raise ValueError(
                f"criterion must be 'c', 'D' or 'A'; got {self.criterion!r}."
            )
        model = (
            problem.models.item_model
            if self.criterion == "c"
            else problem.models.plain_model
        )
        points = model.abilities[
            _spread(problem.models.respondent_means, self.n_points)
        ]
        slopes = model.dense_slopes()
        p = 1.0 / (1.0 + np.exp(-(points @ slopes.T + model.intercepts)))
        w = np.maximum(p * (1.0 - p), _MIN_CELL_VARIANCE)
        if self.criterion != "c":
            n_latent = slopes.shape[1]
            gradient = np.tile(np.eye(n_latent), (len(points), 1, 1))
            importance = np.ones((len(points), n_latent))
            log = self.criterion == "D"
            return _DesignState(slopes, w, gradient, importance, log=log)
        keep = problem.target_weights > 0
        targets = problem.targets[:, keep]
        gradient = np.stack([slopes.T @ (targets * row[:, None]) for row in w])
        prior = np.maximum((gradient**2).sum(axis=1), 1e-12)
        importance = problem.target_weights[keep] / prior
        w = 1.0 / (1.0 / w + _logit_noise(model, points))
        return _DesignState(slopes, w, gradient, importance)


def _spread(scores, n_points):
    """Respondents at evenly spaced quantiles of the score."""
    order = np.argsort(scores, kind="stable")
    n = len(order)
    place = np.round((np.arange(n_points) + 0.5) / n_points * n - 0.5).astype(int)
    return order[np.unique(place.clip(0, n - 1))]


def _logit_noise(model, points):
    """Variance of every item's logit from its parameters, at given abilities."""
    out = np.empty((len(points), len(model.beta)))
    for g in range(model.n_groups):
        items = model.items(g)
        local = np.hstack([points[:, model.columns(g)], np.ones((len(points), 1))])
        outer = (local[:, :, None] * local[:, None, :]).reshape(len(points), -1)
        out[:, items] = outer @ model.covariances[items].reshape(len(items), -1).T
    return out


class _DesignState:
    """Running ``q = a' P a`` and ``e_t = a' P gradient_t`` at every point and item."""

    def __init__(self, slopes, weights, gradient, importance, *, log=False):
        self.slopes = csr_array(slopes)
        self.weights = weights
        self.importance = importance
        self.log = log
        n_points, n_latent = len(weights), slopes.shape[1]
        self.posterior = np.tile(np.eye(n_latent), (n_points, 1, 1))
        self.quadratic = np.tile((slopes**2).sum(axis=1), (n_points, 1))
        self.cross = np.stack([slopes @ g for g in gradient])

    def gains(self):
        if self.log:
            return np.log1p(self.weights * self.quadratic).sum(axis=0)
        gain = np.einsum("rjt,rt->rj", self.cross**2, self.importance)
        scaled = self.weights / (1.0 + self.weights * self.quadratic)
        return (gain * scaled).sum(axis=0)

    def add(self, item):
        a = self.slopes[[item]].toarray()[0]
        v = self.posterior @ a
        own = 1.0 / self.weights[:, item] + v @ a
        along = (self.slopes @ v.T).T
        scaled = along / own[:, None]
        self.posterior -= v[:, :, None] * (v / own[:, None])[:, None, :]
        self.quadratic -= along * scaled
        if not self.log:
            self.cross -= scaled[:, :, None] * self.cross[:, item][:, None, :]


# Anchors ------------------------------------------------------------------------------


class AnchorStrategy(BaseEstimator):
    """Take the items at the centres of clusters of item parameters.

    In the spirit of Maia Polo et al. (2024, tinyBenchmarks, section 3.2), with
    bisecting k-means (Steinbach, Karypis and Kumar 2000) within each group: the cluster
    with the largest sum of squares is split in two, and only one half gets a new
    anchor, so that a larger budget never takes an item back.
    """

    def begin(self, problem):
        """Return the state before any item is taken."""
        place = np.empty(len(problem.groups))
        share = problem.n_items / len(problem.groups)
        for g in range(problem.n_groups):
            items = np.flatnonzero(problem.groups == g)
            wanted = min(len(items), int(np.ceil(share * len(items))) + 1)
            feature = problem.models.plain_model.beta[items]
            place[items] = _bisect(feature, wanted)
        return FixedOrder(-_interleave(place, problem))


def _bisect(feature, n_anchors):
    """Order in which items become anchors; the others follow by distance."""
    n = len(feature)
    order = np.full(n, np.inf)
    centre = feature.mean(axis=0)
    distance = ((feature - centre) ** 2).sum(axis=1)
    anchor = int(np.argmin(distance))
    order[anchor] = 0
    clusters = [(distance.sum(), np.arange(n), anchor)]
    while np.isfinite(order).sum() < n_anchors:
        largest = max(range(len(clusters)), key=lambda k: clusters[k][0])
        _, members, anchor = clusters.pop(largest)
        for part in _two_means(feature[members]):
            sub = members[part]
            centre = feature[sub].mean(axis=0)
            distance = ((feature[sub] - centre) ** 2).sum(axis=1)
            if anchor in sub:
                clusters.append((distance.sum(), sub, anchor))
                continue
            new = int(sub[np.argmin(distance)])
            order[new] = np.isfinite(order).sum()
            clusters.append((distance.sum(), sub, new))
    for _, members, anchor in clusters:
        distance = ((feature[members] - feature[anchor]) ** 2).sum(axis=1)
        rest = np.isinf(order[members])
        order[members[rest]] = n_anchors + distance[rest] / (1.0 + distance.max())
    return order


def _two_means(points, max_iter=20):
    """Split points in two clusters; start along the leading direction."""
    centred = points - points.mean(axis=0)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    projection = centred @ axis
    side = projection > np.median(projection)
    if not side.any():
        side = np.arange(len(points)) >= len(points) // 2
    for _ in range(max_iter):
        left, right = points[~side].mean(axis=0), points[side].mean(axis=0)
        new = ((points - right) ** 2).sum(1) < ((points - left) ** 2).sum(1)
        if new.all() or not new.any() or (new == side).all():
            break
        side = new
    return ~side, side


RANDOM_STRATEGIES = (RandomStrategy, StratifiedStrategy)

_NAMED = {
    "kriging": KrigingStrategy,
    "random": RandomStrategy,
    "stratified": StratifiedStrategy,
    "discrimination": DiscriminationStrategy,
    "information": InformationStrategy,
    "anchors": AnchorStrategy,
}


def make_strategy(strategy):
    """Return a strategy object from its name, or the object itself.

    Raises
    ------
    ValueError
        If the name is unknown or the object has no ``begin`` method.
    """
    if isinstance(strategy, str) and strategy in _NAMED:
        return _NAMED[strategy]()
    if not isinstance(strategy, str) and hasattr(strategy, "begin"):
        return strategy
    raise ValueError(
        f"strategy must be one of {sorted(_NAMED)} or an object with a method "
        f"begin(problem); got {strategy!r}."
    )
