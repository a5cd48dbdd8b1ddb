"""How many items: held-out accuracy over budgets, and the smallest budget that will do.

Everything is learned from training respondents: which items are in the bank, the item
models, the selection. Held-out respondents show their answers to the chosen items only;
their scores on the whole bank are the truth.
"""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from threadpoolctl import threadpool_limits

from sklearn_mirt.models.item_design import make_design
from sklearn_mirt.selection.full_scores import (
    FullScoreRegressor,
    RawMeanScorer,
    RidgeScorer,
    StratifiedMeanScorer,
)
from sklearn_mirt.selection.problem import (
    SelectionProblem,
    TrainingModels,
    overall_weights,
)
from sklearn_mirt.selection.ranking import Constraints, greedy_ranking
from sklearn_mirt.selection.strategies import RANDOM_STRATEGIES, make_strategy
from sklearn_mirt.selection.training_answers import TrainingAnswers, as_responses

__all__ = ["recommend_size", "selection_curve", "summarize_curve"]

_SCORERS = {
    "full_score": FullScoreRegressor,
    "raw_mean": RawMeanScorer,
    "stratified_mean": StratifiedMeanScorer,
    "ridge": RidgeScorer,
}
_COVERAGE_Z = stats.norm.ppf(0.95)
_KEYS = ["strategy", "scorer", "budget"]
_COUNTS = ("split", "n_items", "bank_size")
_LOWER_IS_BETTER = {"mae", "group_mae", "detectable_difference"}


@threadpool_limits.wrap(limits=1, user_api="blas")
def selection_curve(
    X,
    *,
    item_groups=None,
    budgets=(10, 25, 50, 100, 250),
    strategies=("kriging", "random", "stratified"),
    scorers=("full_score", "raw_mean"),
    cv=5,
    groups=None,
    item_filter=None,
    overall_weight=0.9,
    n_dims=2,
    n_draws=3,
    random_state=0,
):
    """Measure selection strategies and scorers on held-out respondents.

    Parameters
    ----------
    X : array-like, sparse matrix or ResponseData of (n_respondents, n_items)
        Scores in [0, 1], NaN where there is no answer; of a sparse matrix, stored =
        observed.
    item_groups : mapping, Series or array-like, default=None
        Group of every item, as in ``InformativeItemSelector``.
    budgets : sequence of int or float
        Numbers of items, or shares of the bank (rounded down). Budgets over the bank
        are left out.
    strategies : sequence of str, or mapping of str to str or strategy
    scorers : sequence of str, or mapping of str to scorer
        Names: "full_score", "raw_mean", "stratified_mean", "ridge".
    cv : int, splitter, or iterable of (train, test) positions, default=5
        An int means shuffled folds, of whole families if ``groups`` is given.
    groups : array-like of shape (n_respondents,), default=None
        Families of respondents, for the splitter.
    item_filter : tuple of float, default=None
        Keep the items whose training mean lies strictly between these; the scores to
        be estimated are then means over these items.
    overall_weight : float, default=0.9
        Weight of the overall score in the selection.
    n_dims : int, default=2
    n_draws : int, default=3
        Repeats of random strategies, averaged.
    random_state : int, default=0

    Returns
    -------
    curve : pandas.DataFrame
        One row per split, strategy, scorer and budget, with n_items, bank_size,
        spearman, kendall, mae,
        group_spearman and group_mae (means over groups), coverage and group_coverage
        (of 90% intervals), std (mean standard error of the overall score) and
        difference_std (standard deviation of the error of a difference between two
        held-out respondents: errors they share cancel). Scores are on the 0 to 1 scale.

    Notes
    -----
    Missing cells of held-out respondents count as training item means in the truth.
    """
    import pandas as pd

    data = as_responses(X)
    design = make_design(data.items, item_groups, None, False)
    settings = _Settings(
        strategies=_named(strategies, make_strategy),
        scorers=_named(scorers, _make_scorer),
        budgets=tuple(budgets),
        overall_weight=overall_weight,
        n_dims=n_dims,
        n_draws=n_draws,
        seed=random_state,
    )
    rows = []
    splits = _splits(data.n_respondents, cv, groups, random_state)
    for split, (train, test) in enumerate(splits):
        task = _Task.cut(data, design, train, test, item_filter)
        rows += [{"split": split, **row} for row in _run_split(task, settings, split)]
    table = pd.DataFrame(rows)
    return table.groupby(["split", *_KEYS], sort=False, as_index=False).mean()


@dataclass(frozen=True, eq=False)
class _Settings:
    strategies: dict
    scorers: dict
    budgets: tuple
    overall_weight: float
    n_dims: int
    n_draws: int
    seed: int

    def sizes(self, n_items):
        """Budget (as given) to number of items, within the bank."""
        sizes = {}
        for budget in self.budgets:
            whole = isinstance(budget, Integral)
            n = int(budget) if whole else int(budget * n_items + 1e-9)
            if 1 <= n <= n_items:
                sizes[budget] = n
        return sizes


@dataclass(frozen=True, eq=False)
class _Task:
    """Training answers and held-out ones of one split, in the same item order."""

    training: TrainingAnswers
    held_out: np.ndarray

    @classmethod
    def cut(cls, data, design, train, test, item_filter):
        known, new = (data.take(respondents=rows) for rows in (train, test))
        training = TrainingAnswers.of(known, design, item_filter)
        held_out = new.to_wide()[:, training.columns]
        means = np.nanmean(training.responses, axis=0)
        return cls(training, np.where(np.isnan(held_out), means, held_out))


def _named(choice, make):
    """Return a dictionary of name to object."""
    if hasattr(choice, "items"):
        return {name: make(value) for name, value in choice.items()}
    return {name: make(name) for name in choice}


def _make_scorer(scorer):
    if isinstance(scorer, str):
        if scorer not in _SCORERS:
            raise ValueError(
                f"scorer must be one of {sorted(_SCORERS)} or a scorer; got {scorer!r}."
            )
        return _SCORERS[scorer]()
    return scorer


def _splits(n_respondents, cv, groups, seed):
    if isinstance(cv, Integral):
        if groups is None:
            cv = KFold(cv, shuffle=True, random_state=seed)
        else:
            cv = GroupKFold(cv)
    if hasattr(cv, "split"):
        return cv.split(np.empty((n_respondents, 1)), groups=groups)
    return cv


def _run_split(task, settings, split):
    """Yield one row per draw, strategy, scorer and budget."""
    training = task.training
    n_known = len(training.columns)
    sizes = settings.sizes(n_known)
    problem = SelectionProblem(
        TrainingModels(training.responses, training.groups, n_dims=settings.n_dims),
        training.targets,
        overall_weights(training.n_groups, settings.overall_weight),
        n_items=max(sizes.values()),
    )
    scorers = _fit_scorers(settings.scorers, training, problem)
    free = Constraints.none(n_known, training.n_groups)
    for name, strategy in settings.strategies.items():
        draws = settings.n_draws if isinstance(strategy, RANDOM_STRATEGIES) else 1
        for draw in range(draws):
            seed = (settings.seed + split) * 100 + draw
            ranking = greedy_ranking(problem.with_seed(seed), strategy, free)
            for budget, n in sizes.items():
                for scorer_name, scorer in scorers.items():
                    yield {
                        "strategy": name,
                        "scorer": scorer_name,
                        "budget": budget,
                        "n_items": n,
                        "bank_size": n_known,
                        **_measure(scorer, task, ranking[:n]),
                    }


def _fit_scorers(scorers, training, problem):
    """Fit clones of the scorers; the default one shares the problem's models."""
    fitted, models = {}, problem.models
    for name, scorer in scorers.items():
        scorer = clone(scorer)
        shares = isinstance(scorer, FullScoreRegressor) and (
            (scorer.n_dims, tuple(scorer.blocks)) == (models.n_dims, models.blocks)
        )
        fitted[name] = scorer.fit_training(training, problem if shares else None)
    return fitted


def _measure(scorer, task, chosen):
    """Compare estimates from the chosen items with the truth."""
    answers = np.full(task.held_out.shape, np.nan)
    answers[:, chosen] = task.held_out[:, chosen]
    truth = task.held_out @ task.training.targets
    scores, std = scorer.score_training_items(answers)
    error = scores - truth
    inside = np.abs(error) <= _COVERAGE_Z * std + 1e-12
    rho = _rank_correlations(scores, truth)
    return {
        "spearman": float(rho[0]),
        "kendall": float(stats.kendalltau(scores[:, 0].round(10), truth[:, 0])[0]),
        "mae": float(np.abs(error[:, 0]).mean()),
        "group_spearman": float(np.nanmean(rho[1:])),
        "group_mae": float(np.abs(error[:, 1:]).mean()),
        "coverage": float(inside[:, 0].mean()),
        "group_coverage": float(inside[:, 1:].mean()),
        "std": float(std[:, 0].mean()),
        "difference_std": float(np.sqrt(2.0) * error[:, 0].std(ddof=1)),
    }


def _rank_correlations(estimate, truth):
    """Spearman's correlation by column; 0 for constant estimates, NaN for truths."""
    ranks = [stats.rankdata(x.round(10), axis=0) for x in (estimate, truth)]
    x, y = (r - r.mean(axis=0) for r in ranks)
    size_x, size_y = (np.sqrt((r**2).sum(axis=0)) for r in (x, y))
    rho = (x * y).sum(axis=0) / np.maximum(size_x * size_y, 1e-12)
    return np.where(size_y > 0, rho, np.nan)


def summarize_curve(curve, *, baselines=("random", "stratified")):
    """Mean over splits, standard error, and paired differences from baselines.

    Parameters
    ----------
    curve : pandas.DataFrame
        From ``selection_curve``.
    baselines : sequence of str, default=("random", "stratified")
        Strategies to compare with, under the same scorer, split by split.

    Returns
    -------
    summary : pandas.DataFrame
        Indexed by strategy, scorer, budget and metric, with mean, standard_error, and
        difference and difference_error from every baseline in the curve. Standard
        errors are over splits; splits share respondents, so they are optimistic.
    """
    import pandas as pd

    measures = [c for c in curve.columns if c not in (*_COUNTS, *_KEYS)]
    long = curve.melt(["split", *_KEYS], measures, var_name="metric")
    index = [*_KEYS, "metric"]
    wide = long.pivot_table("value", index, "split", sort=False)
    out = pd.DataFrame({"mean": wide.mean(axis=1), "standard_error": _error(wide)})
    for baseline in baselines:
        if baseline not in wide.index.get_level_values("strategy"):
            continue
        base = wide.xs(baseline, level="strategy")
        other = base.reindex(wide.index.droplevel("strategy"))
        gap = wide - other.to_numpy()
        out[f"difference_{baseline}"] = gap.mean(axis=1)
        out[f"difference_error_{baseline}"] = _error(gap)
    return out


def _error(table):
    return table.std(axis=1, ddof=1) / np.sqrt(table.notna().sum(axis=1))


def recommend_size(
    curve,
    target,
    *,
    metric="spearman",
    strategy="kriging",
    scorer="full_score",
    power=0.8,
    alpha=0.05,
    margin=0.0,
):
    """Return the smallest budget of a curve that reaches a target.

    Parameters
    ----------
    curve : pandas.DataFrame
        From ``selection_curve``.
    target : float
        Smallest rank agreement ("spearman", "kendall", "group_spearman"), largest error
        ("mae", "group_mae"), or the difference between the full scores of two
        respondents that a two-sided test must find ("detectable_difference").
    metric : str, default="spearman"
    strategy, scorer : str
        Which rows of the curve.
    power, alpha : float, default=0.8, 0.05
        Of the test. A difference is detectable if it is at least ``(z_{1 - alpha / 2} +
        z_power)`` times the standard deviation of the error of a difference between two
        held-out respondents scored on the same items.
    margin : float, default=0.0
        Number of standard errors over splits by which the mean must beat the target.

    Returns
    -------
    budget : int or None
        Number of items; None if no budget of the curve reaches the target.

    Raises
    ------
    ValueError
        If the curve has no such strategy, scorer or metric.
    """
    if not isinstance(target, Real):
        raise ValueError(f"target must be a number; got {target!r}.")
    part = curve[(curve["strategy"] == strategy) & (curve["scorer"] == scorer)]
    if part.empty:
        raise ValueError(f"The curve has no strategy {strategy!r} with {scorer!r}.")
    if metric == "detectable_difference":
        z = stats.norm.ppf(1.0 - alpha / 2.0) + stats.norm.ppf(power)
        part = part.assign(detectable_difference=z * part["difference_std"])
    if metric not in part.columns or metric in (*_COUNTS, *_KEYS):
        raise ValueError(f"The curve has no metric {metric!r}.")
    sign = -1.0 if metric in _LOWER_IS_BETTER else 1.0
    by_budget = (sign * part[metric]).groupby(part["budget"])
    n_items = part.groupby("budget")["n_items"].mean().round().astype(int)
    reached = by_budget.mean() - margin * by_budget.sem().fillna(0.0) >= sign * target
    sizes = n_items[reached]
    return int(sizes.min()) if len(sizes) else None
