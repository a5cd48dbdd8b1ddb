"""make_benchmark_suite: a synthetic suite in the shape of BenchMIRT's study."""

import csv
from importlib import resources
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.utils import Bunch

from sklearn_mirt.datasets.simulation import correlation_matrix, make_ids

_DIMENSIONS = ("reasoning", "safety")
_SUITE_CORRELATION = 0.3


class _Block(NamedTuple):
    """Items of one benchmark that share a distribution of item parameters."""

    benchmark: str
    category: str
    stated: str
    mean: float  # mean score over models and items
    reasoning: float  # median slopes, in logits
    safety: float
    effect: float  # median slope on the block's own, unshared model effect
    sizes: dict[str, int]  # number of items of each subset


def _read_blocks():
    """Return the blocks of the suite, one row of suite.csv for each subset.

    Names and stated dimensions: the benchmark list of BenchMIRT. The ratios of slopes
    give the published correlations: with slopes (a, b), effect c and ability
    correlation rho, r(reasoning) = (a + rho b) / sqrt(a^2 + b^2 + 2 rho a b + c^2).
    """
    table = resources.files("sklearn_mirt.datasets") / "suite.csv"
    rows = csv.reader(table.read_text(encoding="utf-8").splitlines()[1:])
    blocks = []
    for about, subsets in groupby(rows, key=lambda row: row[:7]):
        sizes = {name: int(size) for *_, name, size in subsets}
        mean, reasoning, safety, effect = map(float, about[3:])
        benchmark, category, stated = about[:3]
        blocks.append(
            _Block(benchmark, category, stated, mean, reasoning, safety, effect, sizes)
        )
    return blocks


_SUITE_DESCR = """\
SYNTHETIC benchmark suite in the shape of BenchMIRT's study: drawn from a
two-dimensional logistic model. No real model answered any real prompt here; the
benchmark names say which published finding the simulated items imitate.
"""


def make_benchmark_suite(
    n_respondents=100, *, scale=1.0, random_state=0, as_frame=True
):
    """Simulate a suite of 16 benchmarks in the shape of BenchMIRT's study.

    The answers are SYNTHETIC: no real model answered any real prompt. 100 models in
    families meet about 34,000 items driven by two abilities of correlation 0.3,
    reasoning and safety. Names and stated dimensions of the benchmarks are those of
    BenchMIRT; the sizes are in the shape of the public releases. The loadings imitate
    the published findings: MMLU-Pro, BBH and GPQA follow reasoning (r = 0.97, 0.94,
    0.81) and so does BBQ (0.85; with safety -0.06); WMDP is reversed (-0.89); ToxiGen
    is saturated (mean 92%); WildJailbreak's harmful half follows safety, its benign
    half reasoning and, weakly, the reverse of safety; copyright items of HarmBench
    follow reasoning, its other items safety. All other strengths are choices of ours.

    Parameters
    ----------
    n_respondents : int, default=100
        Number of models, at least 10.
    scale : float in (0, 1], default=1.0
        Share of the items of every subset, of which at least 4 are kept.
    random_state : int, numpy.random.Generator or None, default=0
        Seed.
    as_frame : bool, default=True
        Whether tables are pandas objects; otherwise arrays, and dictionaries of
        arrays for ``item_table`` and ``respondent_table``.

    Returns
    -------
    suite : Bunch
        responses
            (n_respondents, n_items) int8, 0 / 1 without gaps.
        item_table
            item_id, benchmark, subset, category, stated_dimension of each item.
        respondent_table
            model and family of each respondent.
        abilities
            (n_respondents, 2), with mean 0, variance 1 and the correlation exactly
            as stated in the sample.
        slopes, intercepts
            (n_items, 2) and (n_items,), in logits.
        effects, effect_slopes
            (n_respondents, n_blocks) model effects, uncorrelated with the abilities,
            that one block of items shares, and the slope of each item on its own
            block's effect: what keeps benchmarks from being perfect measures.
        ability_correlation
            (2, 2).
        correlations, subset_correlations
            Pearson correlation of mean scores with the true abilities, by benchmark
            and by benchmark and subset; NaN where all models score alike.
        mean_scores
            Mean score of each benchmark.
        dominant_dimension
            For each benchmark the dimension of greater absolute correlation, None if
            no absolute correlation reaches 0.5 (ToxiGen).
        benchmark_names, dimension_names, DESCR
            Row and column order of the tables, and a description.

    Raises
    ------
    ValueError
        If n_respondents is under 10 or scale is not in (0, 1].

    Notes
    -----
    The frames are under ``item_table`` and ``respondent_table`` because a Bunch is a
    dictionary, whose ``items`` is a method. A full suite takes about 3.4 MB and under
    a second.

    References
    ----------
    Allen Institute for AI (2026). BenchMIRT: What are LLM benchmarks actually
    measuring? https://github.com/allenai/BenchMIRT

    Examples
    --------
    >>> from sklearn_mirt.datasets import make_benchmark_suite
    >>> suite = make_benchmark_suite(scale=0.1)
    >>> suite.dominant_dimension["BBQ"]
    'reasoning'
    """
    if n_respondents < 10:
        raise ValueError(f"n_respondents must be at least 10, got {n_respondents!r}.")
    if not 0 < scale <= 1:
        raise ValueError(f"scale must be in (0, 1], got {scale!r}.")
    import pandas as pd

    blocks = _read_blocks()
    rng = np.random.default_rng(random_state)
    models = pd.Index(make_ids("synthetic-model", n_respondents), name="model")
    families, abilities = _model_families(n_respondents, rng)
    effects = _orthogonal_effects(abilities, len(blocks), rng)
    parts = [
        _simulate_block(block, scale, abilities, effects[:, number], rng)
        for number, block in enumerate(blocks)
    ]
    items = pd.concat([part.table for part in parts], ignore_index=True)
    ids, dims = pd.Index(items["item_id"]), list(_DIMENSIONS)
    responses = np.concatenate([part.responses for part in parts], axis=1)
    slopes = np.concatenate([part.slopes for part in parts])
    vectors = {
        name: pd.Series(np.concatenate([part[name] for part in parts]), ids, name=name)
        for name in ("intercepts", "effect_slopes")
    }
    block_names = [f"{block.benchmark}: {block.category}" for block in blocks]
    suite = Bunch(
        responses=pd.DataFrame(responses, models, ids),
        item_table=items,
        respondent_table=pd.DataFrame({"model": models, "family": families}),
        abilities=pd.DataFrame(abilities, models, dims),
        slopes=pd.DataFrame(slopes, ids, dims),
        **vectors,
        effects=pd.DataFrame(effects, models, block_names),
        ability_correlation=pd.DataFrame(
            correlation_matrix(_SUITE_CORRELATION, 2), dims, dims
        ),
        **_truth_tables(responses, items, abilities),
        benchmark_names=list(dict.fromkeys(block.benchmark for block in blocks)),
        dimension_names=dims,
        DESCR=_SUITE_DESCR,
    )
    return suite if as_frame else _plain(suite)


def _model_families(n_respondents, rng):
    """Draw families and abilities; the sample has exactly the stated moments."""
    n_families = max(2, n_respondents // 8)
    family = np.sort(rng.integers(n_families, size=n_respondents))
    centres = rng.standard_normal((n_families, 2))
    raw = centres[family] + 0.8 * rng.standard_normal((n_respondents, 2))
    raw -= raw.mean(axis=0)
    # Exact sample moments keep the truth comparable from seed to seed.
    white = np.linalg.solve(np.linalg.cholesky(raw.T @ raw / n_respondents), raw.T).T
    correlation = correlation_matrix(_SUITE_CORRELATION, 2)
    names = [f"synthetic-family-{number:02d}" for number in family]
    return names, white @ np.linalg.cholesky(correlation).T


def _orthogonal_effects(abilities, n_effects, rng):
    """Draw effects of unit variance, uncorrelated with the abilities."""
    n = len(abilities)
    basis, _ = np.linalg.qr(np.column_stack([np.ones(n), abilities]))
    effects = rng.standard_normal((n, n_effects))
    effects -= basis @ (basis.T @ effects)
    if n > n_effects + basis.shape[1]:
        # With room for it, uncorrelated with each other too: chance correlations of
        # effects would look like a third ability.
        effects, _ = np.linalg.qr(effects)
    return effects / effects.std(axis=0)


def _simulate_block(block, scale, abilities, effect, rng):
    sizes = [max(4, round(scale * size)) for size in block.sizes.values()]
    n_items = sum(sizes)
    strength = rng.lognormal(0.0, 0.35, n_items)
    slopes = strength[:, None] * (block.reasoning, block.safety)
    slopes += 0.06 * rng.standard_normal((n_items, 2))
    effect_slopes = block.effect * strength
    intercepts = np.repeat(0.3 * rng.standard_normal(len(sizes)), sizes)
    intercepts += 1.2 * rng.standard_normal(n_items)
    cross = 2 * _SUITE_CORRELATION * slopes[:, 0] * slopes[:, 1]
    variance = (slopes**2).sum(axis=1) + cross + effect_slopes**2
    intercepts += _shift_to_mean(intercepts, variance, block.mean)
    logits = abilities @ slopes.T + np.outer(effect, effect_slopes) + intercepts
    draws = rng.random(logits.shape, dtype=np.float32)
    return Bunch(
        responses=(draws < expit(logits.astype(np.float32))).view(np.int8),
        slopes=slopes,
        intercepts=intercepts,
        effect_slopes=effect_slopes,
        table=_item_table(block, list(block.sizes), sizes),
    )


def _item_table(block, subsets, sizes):
    import pandas as pd

    table = pd.DataFrame({"subset": np.repeat(np.array(subsets, dtype=object), sizes)})
    number = table.groupby("subset").cumcount().astype(str).str.zfill(4)
    table.insert(0, "item_id", block.benchmark + "/" + table["subset"] + "/" + number)
    table.insert(1, "benchmark", block.benchmark)
    return table.assign(category=block.category, stated_dimension=block.stated)


def _shift_to_mean(intercepts, variance, mean):
    """Return the shift of the intercepts that gives the expected mean score."""
    # E sigmoid(N(m, v)) = sigmoid(m / sqrt(1 + pi v / 8)) (MacKay 1992).
    scale = 1 / np.sqrt(1 + np.pi * variance / 8)
    return brentq(
        lambda shift: expit((intercepts + shift) * scale).mean() - mean, -12, 12
    )


def _truth_tables(responses, items, abilities):
    """Return mean scores, correlations and dominant dimension of each benchmark."""
    import pandas as pd

    by_item = pd.DataFrame(responses.T)
    scores = by_item.groupby(items["benchmark"], sort=False).mean()
    subset_keys = [items["benchmark"], items["subset"]]
    correlations = _correlations(scores, abilities)
    size = correlations.abs().fillna(0)
    dominant = size.idxmax(axis=1).astype(object).where(size.max(axis=1) >= 0.5, None)
    return {
        "mean_scores": scores.mean(axis=1).rename("mean_score"),
        "correlations": correlations,
        "subset_correlations": _correlations(
            by_item.groupby(subset_keys, sort=False).mean(), abilities
        ),
        "dominant_dimension": dominant.rename("dominant_dimension"),
    }


def _correlations(scores, abilities):
    """Return Pearson correlations of mean scores (groups x models) and abilities."""
    import pandas as pd

    n = len(scores)
    with np.errstate(invalid="ignore"):  # a constant score correlates with nothing: NaN
        table = np.corrcoef(scores.to_numpy(), abilities.T)[:n, n:]
    return pd.DataFrame(table, index=scores.index, columns=list(_DIMENSIONS))


def _plain(suite):
    """Return the suite with arrays for frames, and dictionaries for the tables."""
    for name, value in suite.items():
        if name.endswith("_table"):
            suite[name] = {key: column.to_numpy() for key, column in value.items()}
        elif hasattr(value, "to_numpy"):
            suite[name] = value.to_numpy()
    return suite
