"""Do the intervals cover? Nominal 95%, over simulated suites of reduced size.

Each suite has new respondents, singly or in families, and new items of eight benchmarks
of fixed kind: four lean on one ability, three on another, one on both, and each has an
effect of its own. The targets are what the same analysis would give

- for abilities and ranks, whose intervals are from the bootstrap over items: with
  endless items of the same benchmarks, the respondents held (a fit to `ENDLESS` times
  as many);
- for correlations, whose intervals add the bootstrap over items and the influence of
  respondents: over endless respondents, and items of benchmarks of the same size (one
  fit to a large population).

Run with::

    python benchmarks/interval_coverage.py --suites 200 --replicates 80
"""

import argparse
import json
import time

import numpy as np
from scipy import stats
from scipy.special import expit

from sklearn_mirt import MIRTTransformer, ResponseData, bootstrap, combined_intervals
from sklearn_mirt.diagnostics.correlations import (
    Scales,
    fisher_errors,
    fisher_interval,
    pearson,
)

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
FAMILY_SIZE, WITHIN = 3, 0.4  # share of the variance within families
ENDLESS = 20


def draw_respondents(rng, n, families=False):
    """Return abilities and benchmark effects (n, 2 + n_benchmarks), and families."""
    k = 2 + len(BENCHMARKS)
    family = np.arange(n) // (FAMILY_SIZE if families else 1)
    raw = rng.standard_normal((n, k))
    if families:
        centres = rng.standard_normal((family.max() + 1, k))
        raw = np.sqrt(WITHIN) * raw + np.sqrt(1 - WITHIN) * centres[family]
    raw[:, :2] @= np.linalg.cholesky([[1, CORRELATION], [CORRELATION, 1]]).T
    return raw, family


def draw_items(rng, n_each):
    """Return slopes on abilities and effects, intercepts, benchmark of each item."""
    code = np.repeat(np.arange(len(BENCHMARKS)), n_each)
    strength = rng.lognormal(0, 0.35, len(code))
    slopes = np.zeros((len(code), 2 + len(BENCHMARKS)))
    slopes[:, :2] = strength[:, None] * BENCHMARKS[code, :2]
    slopes[:, :2] += 0.06 * rng.standard_normal((len(code), 2))
    slopes[np.arange(len(code)), 2 + code] = strength * BENCHMARKS[code, 2]
    return slopes, BENCHMARKS[code, 3] + rng.standard_normal(len(code)), code


def answers(rng, respondents, slopes, intercepts):
    """Return simulated answers (n_respondents, n_items)."""
    chance = expit(respondents @ slopes.T + intercepts)
    return (rng.random(chance.shape) < chance).astype(float)


def fit(X, code):
    """Return the fit, with benchmarks as item groups."""
    return MIRTTransformer(2, item_groups=code.astype(str).astype(object)).fit(X)


def order_of(model, code):
    """Return the dimensions in the order of the benchmarks that lean on them."""
    first = np.abs(model.slopes_[code == 0]).mean(0)
    return [0, 1] if first[0] > first[1] else [1, 0]


def population_correlations(n_each, seed=12345):
    """Return r of scores on `n_each` items with the abilities, at the limit."""
    rng = np.random.default_rng(seed)
    respondents, _ = draw_respondents(rng, 3000)
    slopes, intercepts, code = draw_items(rng, 6 * n_each)
    X = answers(rng, respondents, slopes, intercepts)
    model = fit(X, code)
    theta, found = model.abilities_[:, order_of(model, code)], []
    for part in range(6):
        chosen = np.arange(len(code)) % 6 == part
        scales = Scales.from_labels(code[chosen])
        found.append(pearson(theta, scales.means(ResponseData.from_wide(X[:, chosen]))))
    return np.mean(found, 0)


class Tally:
    """Which intervals cover, and how wide they are, by kind."""

    def __init__(self):
        self.covers, self.widths = {}, {}

    def note(self, kind, low, high, truth):
        """Add the intervals of one dimension."""
        covered = np.mean((low <= truth) & (truth <= high))
        self.covers.setdefault(kind, []).append(covered)
        self.widths.setdefault(kind, []).append(np.mean(high - low))


def one_suite(seed, args, target_r):
    """Return the Tally of one simulated suite."""
    rng = np.random.default_rng([seed, 1])
    respondents, family = draw_respondents(rng, args.respondents, args.families)
    slopes, intercepts, code = draw_items(rng, args.items)
    X = answers(rng, respondents, slopes, intercepts)
    model, tally = fit(X, code), Tally()
    more = draw_items(rng, ENDLESS * args.items)
    endless = fit(answers(rng, respondents, *more[:2]), more[2])
    target = endless.abilities_[:, order_of(endless, more[2])]
    order = order_of(model, code)
    replicates = bootstrap(model, X, n_replicates=args.replicates, random_state=seed)
    note_abilities(tally, model, replicates, target, order)
    data = ResponseData.from_wide(X)
    means = Scales.from_labels(code).means(data)
    errors, dof = fisher_errors(model.abilities_, means, family)
    total = np.sqrt(errors**2 + replicates.correlation_errors() ** 2)
    for kind, error in (
        ("correlation", total),
        ("correlation, respondents only", errors),
    ):
        low, high = fisher_interval(replicates.observed, error, dof[:, None])
        for k, d in enumerate(order):
            tally.note(kind, low[:, d], high[:, d], target_r[:, k])
    if args.both:
        others = bootstrap(
            model,
            X,
            resample="respondents",
            respondent_groups=family,
            n_replicates=args.replicates,
            random_state=seed,
        )
        note_bootstraps(tally, replicates, others, target_r, order)
    return tally


def note_abilities(tally, model, replicates, target, order):
    """Note the intervals of abilities and ranks."""
    table = replicates.ability_table()
    errors = 1.96 * model.ability_posteriors_.standard_errors
    for k, d in enumerate(order):
        low, high = table[f"low_dim{d + 1}"], table[f"high_dim{d + 1}"]
        tally.note("ability", low, high, target[:, k])
        theta, error = model.abilities_[:, d], errors[:, d]
        kind = "ability, posterior only"
        tally.note(kind, theta - error, theta + error, target[:, k])
        ranks = replicates.rank_table(d).loc[model.respondents_]
        truth = stats.rankdata(-target[:, k])
        tally.note("rank", ranks["low_rank"], ranks["high_rank"], truth)


def note_bootstraps(tally, items, respondents, target_r, order):
    """Note the intervals of correlations from a bootstrap of respondents."""
    for kind, parts in (
        ("correlation, two bootstraps", (items, respondents)),
        ("correlation, bootstrap of respondents", (respondents,)),
    ):
        found = combined_intervals(*parts)
        for k, d in enumerate(order):
            low, high = found[f"low_dim{d + 1}"], found[f"high_dim{d + 1}"]
            tally.note(kind, low, high, target_r[:, k])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=80)
    parser.add_argument("--respondents", type=int, default=60)
    parser.add_argument("--items", type=int, default=40, help="of each benchmark")
    parser.add_argument("--families", action="store_true", help="families of three")
    parser.add_argument("--both", action="store_true", help="bootstrap respondents too")
    args = parser.parse_args()
    target_r = population_correlations(args.items)
    start, rows = time.perf_counter(), []
    for seed in range(args.suites):
        rows.append(one_suite(seed, args, target_r))
        if (seed + 1) % 20 == 0 or seed + 1 == args.suites:
            report = {
                kind: {
                    "coverage": round(
                        float(np.mean([t.covers[kind] for t in rows])), 3
                    ),
                    "width": round(float(np.mean([t.widths[kind] for t in rows])), 3),
                }
                for kind in rows[0].covers
            }
            seconds = round(time.perf_counter() - start)
            print(f"{seed + 1} suites, {seconds} s: {json.dumps(report)}", flush=True)


if __name__ == "__main__":
    main()
