"""Do the bootstrap intervals cover? Nominal 95%, over simulated suites of reduced size.

Each suite has new respondents and new items of eight benchmarks of fixed kind; four lean
on one ability, three on another, one on both, and each has an effect of its own. The
targets are what the same analysis would give

- for abilities and ranks: with endless items of the same benchmarks, the respondents
  held (a fit to `ENDLESS` times as many items);
- for correlations: over endless respondents and items, benchmarks of the same number of
  items (one fit to a large population).

    python benchmarks/interval_coverage.py --suites 200 --replicates 100
"""

import argparse
import time

import numpy as np
from scipy import stats
from scipy.special import expit

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.correlations import Scales, fisher_errors, fisher_interval, pearson
from sklearn_mirt.rotation import align
from sklearn_mirt.uncertainty import bootstrap, combined_intervals

# Slopes on two abilities and on the benchmark's own effect, and the mean logit.
BENCHMARKS = np.array(
    [
        [1.1, 0.0, 0.3, 0.0],
        [1.0, 0.1, 0.4, -0.5],
        [0.8, 0.0, 0.5, -0.8],
        [1.2, 0.0, 0.3, 0.5],
        [0.0, 1.2, 0.4, 0.6],
        [0.0, 1.0, 0.3, 0.2],
        [0.1, 1.1, 0.5, 0.4],
        [0.8, 0.7, 0.3, 0.0],
    ]
)
CORRELATION = 0.3
ENDLESS = 15


def draw_respondents(rng, n):
    """Return abilities and benchmark effects, (n, 2 + n_benchmarks)."""
    factor = np.linalg.cholesky([[1, CORRELATION], [CORRELATION, 1]])
    abilities = rng.standard_normal((n, 2)) @ factor.T
    return np.hstack([abilities, rng.standard_normal((n, len(BENCHMARKS)))])


def draw_items(rng, n_each, effects=1.0):
    """Return slopes on abilities and effects, intercepts, benchmark of each item."""
    code = np.repeat(np.arange(len(BENCHMARKS)), n_each)
    strength = rng.lognormal(0, 0.35, len(code))[:, None]
    slopes = np.zeros((len(code), 2 + len(BENCHMARKS)))
    slopes[:, :2] = strength * BENCHMARKS[code, :2]
    slopes[:, :2] += 0.06 * rng.standard_normal((len(code), 2))
    slopes[np.arange(len(code)), 2 + code] = effects * strength[:, 0]
    slopes[np.arange(len(code)), 2 + code] *= BENCHMARKS[code, 2]
    intercepts = BENCHMARKS[code, 3] + rng.standard_normal(len(code))
    return slopes, intercepts, code


def answer(rng, respondents, slopes, intercepts):
    chance = expit(respondents @ slopes.T + intercepts)
    return (rng.random(chance.shape) < chance).astype(float)


def fit(X, code):
    labels = np.array([f"b{c}" for c in code], dtype=object)
    return MIRTTransformer(2, item_groups=labels).fit(X), labels


def population_correlations(n_each, effects, seed=12345):
    """Return r of benchmark scores of `n_each` items with the abilities, at the limit."""
    rng = np.random.default_rng(seed)
    respondents = draw_respondents(rng, 3000)
    slopes, intercepts, code = draw_items(rng, 6 * n_each, effects)
    X = answer(rng, respondents, slopes, intercepts)
    theta = in_order(*fit(X, code)[:1], code)[0]
    r = []
    for part in range(6):
        chosen = np.flatnonzero(np.arange(len(code)) % 6 == part)
        means = np.stack([X[:, chosen[code[chosen] == g]].mean(1) for g in range(8)], 1)
        r.append(pearson(theta, means))
    return np.mean(r, 0)


def in_order(model, code):
    """Return abilities with the dimension of the first benchmark first."""
    first = np.abs(model.slopes_[code == 0]).mean(0)
    order = [0, 1] if first[0] > first[1] else [1, 0]
    return model.abilities_[:, order], order


def one_suite(seed, n_respondents, n_each, n_replicates, effects, target_r):
    """Return whether each interval covers, by kind."""
    rng = np.random.default_rng([seed, 1])
    respondents = draw_respondents(rng, n_respondents)
    slopes, intercepts, code = draw_items(rng, n_each, effects)
    X = answer(rng, respondents, slopes, intercepts)
    model, labels = fit(X, code)
    more = draw_items(rng, ENDLESS * n_each, effects)
    endless, _ = fit(answer(rng, respondents, *more[:2]), more[2])
    _, order = in_order(model, code)
    target = in_order(endless, more[2])[0]
    out, widths = {}, {}
    items = bootstrap(model, X, n_replicates=n_replicates, random_state=seed)
    others = bootstrap(
        model, X, resample="respondents", n_replicates=n_replicates, random_state=seed
    )
    table = items.ability_table()
    low, high = (
        table[[f"{end}_dim{k + 1}" for k in order]].to_numpy() for end in ("low", "high")
    )
    out["ability"] = (low <= target) & (target <= high)
    error = items.abilities.std(0, ddof=1)[:, order]
    out["ability, spread only"] = np.abs(table[[f"dim{k+1}" for k in order]].to_numpy() - target) <= 1.96 * error
    posterior = model.ability_posteriors_.standard_errors[:, order]
    out["ability, posterior only"] = np.abs(table[[f"dim{k+1}" for k in order]].to_numpy() - target) <= 1.96 * posterior
    for position, k in enumerate(order):
        ranks = items.rank_table(k).loc[model.respondents_]
        truth = stats.rankdata(-target[:, position])
        out.setdefault("rank", []).append(
            (ranks["low_rank"] <= truth) & (truth <= ranks["high_rank"])
        )
        widths.setdefault("rank", []).append((ranks["high_rank"]-ranks["low_rank"]).mean())
    for name, parts in {
        "correlation": (items, others),
        "correlation, respondents only": (others,),
        "correlation, items only": (items,),
    }.items():
        r = combined_intervals(*parts)
        low, high = (
            r[[f"{end}_dim{k + 1}" for k in order]].to_numpy() for end in ("low", "high")
        )
        out[name] = (low <= target_r) & (target_r <= high)
    widths["r error"] = (others.observed[:, order] - target_r).mean()
    scales = Scales.from_labels(labels)
    from sklearn_mirt.data import ResponseData

    means = scales.means(ResponseData.from_wide(X))
    error, dof = fisher_errors(model.abilities_, means)
    low, high = fisher_interval(others.observed, error, dof[:, None])
    low, high = low[:, order], high[:, order]
    out["correlation, influence only"] = (low <= target_r) & (target_r <= high)
    total = np.sqrt(error**2 + items.correlation_errors() ** 2)
    low, high = fisher_interval(others.observed, total, dof[:, None])
    low, high = low[:, order], high[:, order]
    out["correlation, influence + items"] = (low <= target_r) & (target_r <= high)
    return {k: np.mean(v) for k, v in out.items()}, widths


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--respondents", type=int, default=60)
    parser.add_argument("--items", type=int, default=40, help="per benchmark")
    parser.add_argument("--effects", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    target_r = population_correlations(args.items, args.effects)
    print(target_r.round(2).tolist())
    start, rows, w = time.time(), [], []
    for seed in range(args.first, args.first + args.suites):
        covered, widths = one_suite(
            seed, args.respondents, args.items, args.replicates, args.effects, target_r
        )
        rows.append(covered); w.append(widths)
        if (seed + 1) % 10 == 0:
            print(seed+1, 'seconds', round(time.time()-start), {k: round(float(np.mean([r[k] for r in rows])),3) for k in rows[0]}, {k: round(float(np.mean([r[k] for r in w])),3) for k in w[0]}, flush=True)


if __name__ == "__main__":
    main()
