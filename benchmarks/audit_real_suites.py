"""Audits four real response sets and writes docs/audit_of_real_suites.md.

The data may not be redistributed: the environment variable SKLEARN_MIRT_DATA names the
folder with one sub-folder per set. Run with::

    python benchmarks/audit_real_suites.py --sets bfcl_v1 psn_irt

Each set's section is kept in build/audit-SET.md, so that one set can be done again
without the others. READING is written by hand after the tables.
"""

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sklearn_mirt import (
    MIRTTransformer,
    audit_benchmarks,
    choose_dimensions,
    compare_runs,
    dimension_stability,
)
from sklearn_mirt.data.files.read import read_items, read_responses

PAGE = Path(__file__).parents[1] / "docs" / "audit_of_real_suites.md"
BUILD = Path(__file__).parents[1] / "build"
ORDER = ("bfcl_v1", "openllm_v1", "psn_irt", "nlu_test_sets")


@dataclass(frozen=True)
class Plan:
    """What is done with one response set."""

    title: str
    layout: str
    n_dims: tuple
    runs: tuple = (1, 2, 3, 4)
    n_bootstrap: int = 200
    n_null: int = 5
    n_splits: int = 3
    n_starts: int = 2
    families: str = ""
    max_respondents: int = 10**9


PLANS = {
    "bfcl_v1": Plan(
        "Berkeley Function-Calling Leaderboard v1",
        "items-as-rows",
        (2, 3),
        families="models, native and prompted calling taken together",
    ),
    "openllm_v1": Plan(
        "Open LLM Leaderboard v1 (selected items)",
        "wide",
        (2,),
        n_bootstrap=50,
        n_null=1,
        n_splits=1,
        n_starts=1,
        runs=(1, 2, 3),
        families="accounts that publish the models",
        max_respondents=400,
    ),
    "psn_irt": Plan("PSN-IRT", "items-as-rows", (1, 2), runs=(1, 2, 3), n_bootstrap=50),
    "nlu_test_sets": Plan(
        "29 NLU test sets",
        "items-as-rows",
        (2,),
        n_bootstrap=30,
        n_null=1,
        n_splits=1,
        n_starts=0,
        runs=(1, 2, 3),
        families="base models (five checkpoints each)",
    ),
}


def load(name):
    """Return responses, item table and family of each respondent of a set."""
    plan, folder = PLANS[name], Path(os.environ["SKLEARN_MIRT_DATA"]) / name
    items = read_items(
        folder / "items.csv.gz", labels=("benchmark", "subset", "category")
    )
    data = read_responses(
        folder / "responses.csv.gz", layout=plan.layout, items=items
    ).data
    items = items.loc[data.items]
    if name == "bfcl_v1":
        families = [str(m).removesuffix("-FC") for m in data.respondents]
    elif name == "nlu_test_sets":
        models = pd.read_csv(folder / "models.csv.gz", index_col="model")
        families = models.loc[data.respondents, "base"].tolist()
    elif name == "openllm_v1":
        data = some_complete(data, items, plan.max_respondents)
        families = [str(m).partition("/")[0] for m in data.respondents]
        items = items.drop(columns="subset", errors="ignore")
    else:
        families = None
    return data, items, families


def some_complete(data, items, n):
    """Return respondents with answers to every benchmark, `n` of them at random."""
    names, codes = np.unique(items["benchmark"].to_numpy(str), return_inverse=True)
    known = ~np.isnan(data.group_means(codes, len(names))).any(1)
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(known))[:n]
    return data.take(respondents=np.sort(chosen))


def section(name, n_jobs):
    """Return the section of one set as Markdown."""
    plan, start = PLANS[name], time.perf_counter()
    data, items, families = load(name)
    groups = items["benchmark"].to_numpy(object)
    out = [f"## {plan.title} (`{name}`)\n", about(plan, data, families)]
    out.append(dimensions(data, groups, n_jobs))
    model = MIRTTransformer(item_groups=groups, n_jobs=n_jobs)
    runs = compare_runs(data, items=items, n_dims=plan.runs, estimator=model)
    for d in plan.n_dims:
        out.append(one_audit(plan, data, items, families, d, n_jobs))
    out.append("### Runs with different numbers of dimensions\n")
    out.append("Correlation of benchmark scores with the dimensions of each run:\n")
    out.append(markdown(named_columns(runs.benchmarks), "benchmark"))
    out.append("Correlation over respondents between the dimensions of the runs:\n")
    between = named_columns(runs.between)
    between.index = between.columns
    out.append(markdown(between, "run"))
    minutes = (time.perf_counter() - start) / 60
    out.append(f"*({minutes:.1f} minutes on a shared machine)*\n")
    return "\n".join(out)


def about(plan, data, families):
    """Return a line on the size of the set and what counts as independent."""
    text = f"{data.n_respondents} respondents x {data.n_items:,} items."
    if families is not None:
        text += (
            f" Intervals and p-values count {len(set(families))} {plan.families}, not "
            "respondents."
        )
    return text + "\n"


def dimensions(data, groups, n_jobs):
    """Return the two answers to the question how many dimensions there are."""
    out = ["### How many dimensions\n"]
    for by in ("groups", "cells"):
        if by == "groups" and len(set(groups)) < 4:
            continue
        choice = choose_dimensions(data, item_groups=groups, by=by, n_jobs=n_jobs)
        out.append(
            f"Held out {'whole benchmarks' if by == 'groups' else 'cells at random'}: "
            f"**{choice.recommended}** recommended.\n"
        )
        columns = ["log_loss", "excess", "se_excess", "bound", "slope_variance"]
        out.append(markdown(choice.table[columns], "n_dims", digits=4))
    out.append(f"Parallel analysis: {choice.n_parallel} eigenvalues above the null.\n")
    return "\n".join(out)


def one_audit(plan, data, items, families, d, n_jobs):
    """Return the findings with one number of dimensions."""
    audit = audit_benchmarks(
        data,
        items=items,
        n_dims=d,
        respondent_groups=families,
        n_halves=plan.n_splits,
        n_bootstrap=plan.n_bootstrap if data.n_respondents > 20 else 0,
        n_null=plan.n_null,
        n_jobs=n_jobs,
    )
    table = dimension_stability(
        audit.estimator,
        data,
        n_starts=plan.n_starts,
        n_splits=plan.n_splits,
        max_iter=100,
        tol=1e-5,
        n_jobs=n_jobs,
    )
    table.insert(0, "share of logit variance", audit.dimensions["share"])
    out = [f"### {d} dimension{'s' if d > 1 else ''}\n", markdown(table, "dimension")]
    failed = [str(k) for k, ok in table["replicates"].items() if not ok]
    out.append(
        f"**{', '.join(failed)} does not replicate** (congruence of 0.95 or less).\n"
        if failed
        else "All dimensions replicate (congruence over 0.95).\n"
    )
    if d > 1:
        off = audit.ability_correlation.to_numpy()[np.triu_indices(d, 1)]
        listed = ", ".join(f"{value:.2f}" for value in off)
        out.append(f"Correlation of the abilities: {listed}.\n")
    share, null = audit.null.share_of_items, audit.null.null_share
    out.append(
        f"Null control ({plan.n_null} permutations): {share:.0%} of the items beat it"
        + (f" ({null:.1%} of permuted items do).\n" if np.isfinite(null) else ".\n")
    )
    out.append(markdown(interval_table(audit.benchmarks, d), "benchmark"))
    out += [f"- {finding}" for finding in audit.findings]
    if "rank_dim1" in audit.abilities:
        out.append("\n" + ranks(audit, d))
    return "\n".join(out) + "\n"


def interval_table(benchmarks, d):
    """Return correlations with intervals as text, null and verdict."""
    out = benchmarks[["n_items", "mean_score"]].copy()
    for k in range(1, d + 1):
        parts = benchmarks[[f"r_dim{k}", f"low_dim{k}", f"high_dim{k}"]].to_numpy()
        out[f"dim{k}"] = [
            f"{r:.2f} [{low:.2f}, {high:.2f}]" if np.isfinite(r) else "n/a"
            for r, low, high in parts
        ]
        out[f"across halves {k}"] = benchmarks[f"cross_dim{k}"]
    out["null"] = benchmarks["null_r"]
    out["verdict"] = benchmarks["verdict"]
    return out


def ranks(audit, d):
    """Return how far the ranking on each dimension can be trusted."""
    out = []
    for k in range(1, d + 1):
        table = audit.abilities
        width = table[f"high_rank_dim{k}"] - table[f"low_rank_dim{k}"] + 1
        best = table[f"rank_dim{k}"].idxmin()
        out.append(
            f"Ranks on dim{k} (other items of the same benchmarks): the 95% interval "
            f"spans {width.median():.0f} of {len(table)} places (median); "
            f"{table.loc[best, f'n_tied_dim{k}']} cannot be told from the first."
        )
    return "\n\n".join(out) + "\n"


def named_columns(table):
    """Return a table whose columns name run and dimension."""
    table = table.copy()
    table.columns = [f"{d}: {name}" for d, name in table.columns]
    return table


def markdown(table, corner, digits=2):
    """Return a table as Markdown."""

    def text(value):
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        if isinstance(value, (float, np.floating)):
            return "" if np.isnan(value) else f"{value:.{digits}f}"
        if isinstance(value, (int, np.integer)):
            return f"{value:,}"
        return str(value)

    head = [corner, *map(str, table.columns)]
    rows = [head, ["---"] * len(head)]
    rows += [
        [str(name), *(text(v) for v in row)]
        for name, row in zip(table.index, table.itertuples(index=False), strict=True)
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


INTRODUCTION = """# Audit of real suites

*Made by `benchmarks/audit_real_suites.py`; do not edit by hand.*

Each suite is fitted without being told which item belongs to which benchmark (the
benchmark only groups the items for the learned prior). How to read the tables:

- *dim k* is the correlation, over respondents, of the mean score on a benchmark with
  the ability on dimension k, with its 95% interval: other respondents of the same kind
  (families, where they are known), and, with more than 20 respondents, other items of
  the same benchmarks.
- *across halves k* is the same correlation with the score from one half of the items
  and the ability from the other half: no answer is on both sides. The adjusted p-values
  in the findings belong to it.
- *null* is the largest correlation, in size, of that benchmark with any dimension of a
  fit to answers permuted within items: what the overlap of scores and abilities can do.
- *starts* is the smallest congruence of the slopes with those from random starts;
  *halves* that of the abilities from two halves of the items, and *ceiling* what it
  could be for one and the same dimension, given the number of items. A dimension
  replicates if both exceed 0.95.
- The number of dimensions: with whole benchmarks held out, only what several benchmarks
  share counts; with cells held out at random, so do the abilities of single benchmarks.
"""

READING = """## What they say

**bfcl_v1.** With two dimensions, parallel calls are one ability and single calls
another, and `relevance` (do not call a function) runs backwards on the second: r =
-0.78 [-0.86, -0.65], -0.76 across halves, against 0.42 at most in permuted answers.
Both dimensions replicate. With three, `relevance` is an ability of its own: r = 0.96
[0.94, 0.98], 0.95 across halves, null 0.48, congruence of the halves 0.97; it is
uncorrelated with the two calling abilities (-0.01 and -0.01). So the finding survives
intervals, halves and the null, but "runs backwards" is what two dimensions make of a
third ability: beside it, `relevance` correlates with the calling abilities by -0.08
[-0.31, 0.16] and -0.16 [-0.36, 0.05] only. As no other category asks for it, no other
category predicts it: the rule of shared dimensions recommends 1, held-out cells 6.

**openllm_v1.** Grade-school mathematics (gsm8k, r = 0.99) against the rest (truthfulqa
0.92, arc 0.85, hellaswag 0.81); winogrande goes with both, mmlu weakly with the
mathematics (0.53 [0.33, 0.68]). Items are selections of 97 to 552, and the models are
near-copies of one another, so more dimensions (up to the six that were tried) predict
one benchmark from the others: profiles of families, shared by benchmarks.

**psn_irt.** One dimension is what the benchmarks share: with 12 respondents all eleven
correlate with it by 0.78 to 0.97. A second one replicates on halves of the items
(42,000 items fix the profiles of 12 models well) but does not help to predict a
benchmark from the others; only TheoremQA leads on it, and GPQA Diamond goes with both.
Intervals are wide: 12 models are few.

**nlu_test_sets.** Two dimensions, 89% and 11% of the explained variance, come out of
both halves almost exactly (82,756 items fix the profiles of 90 checkpoints), but there
are only 18 independent models. Nearly every test set follows the first (mrqa-nq 0.99,
mnli and qamr 0.98); hellaswag leads on the second (0.72 [0.44, 0.87]) and abductive-nli
goes with both. copa, wsc (50 items each) and winogrande cannot be told from chance.
Held-out test sets ask for five dimensions: more than two are shared, and the runs with
more show them.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=ORDER, choices=ORDER)
    parser.add_argument("--jobs", type=int, default=None)
    args = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    for name in args.sets:
        (BUILD / f"audit-{name}.md").write_text(
            section(name, args.jobs), encoding="utf-8"
        )
    sections = [BUILD / f"audit-{name}.md" for name in ORDER]
    parts = [INTRODUCTION, READING]
    parts += [s.read_text(encoding="utf-8") for s in sections if s.exists()]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
