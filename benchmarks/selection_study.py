"""Measure item selection on held-out models and write docs/selection_results.md.

The regimes and splits are those of the earlier study whose means are in
selection_reference.csv, so numbers compare split by split. Data come from the folder in
the environment variable SKLEARN_MIRT_DATA; results of finished splits are kept in
``--store`` and not computed again.

    python benchmarks/selection_study.py run --regimes bfcl lcb --splits 10
    python benchmarks/selection_study.py same     # BenchMIRT's claim: the same models
    python benchmarks/selection_study.py models   # how many training models it takes
    python benchmarks/selection_study.py timing
    python benchmarks/selection_study.py report
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import spearmanr

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.selection import InformativeItemSelector
from sklearn_mirt.selection.curves import selection_curve
from sklearn_mirt.selection.ranking import Constraints, greedy_ranking
from sklearn_mirt.selection.strategies import DiscriminationStrategy, KrigingStrategy

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "selection_results.md"
# regime: data set, largest number of items per benchmark, training and test models
REGIMES = {
    "bfcl": ("bfcl_v1", None, 35, None),
    "mmlu_pro": ("mmlu_pro", None, 14, None),
    "nlu": ("nlu_test_sets", 500, 45, None),
    "openllm30": ("openllm_v1", None, 30, 300),
    "openllm100": ("openllm_v1", None, 100, 300),
    "nlu_family": ("nlu_test_sets", 500, 45, None),
    "arc_mixtral": ("arc_mixtral_family", None, 100, None),
    "alpaca": ("alpaca_eval2", None, 29, None),
    "lcb": ("livecodebench_2024", None, 16, None),
}
LCB_PARTS = ["lcb_code_execution", "lcb_code_execution_cot", "lcb_test_output"]
ROUND = (10, 25, 50, 100, 250)
SHARES = (0.01, 0.03, 0.1)
ITEM_FILTER = (0.05, 0.95)
# data set, numbers of training models, number of held-out models
LEARNING = (
    ("bfcl_v1", (10, 15, 20, 30, 45), 26),
    ("openllm_v1", (10, 15, 20, 30, 50, 100, 200), 300),
)


def load(name, cap):
    """Return scores (models x items), benchmark labels and model names."""
    folder = Path(os.environ["SKLEARN_MIRT_DATA"]) / name
    scores = pd.read_csv(folder / "responses.csv.gz", index_col=0)
    items = pd.read_csv(folder / "items.csv.gz").set_index("item_id")
    if items.index.isin(scores.index).mean() > 0.5:
        scores = scores.T
    items = items.loc[scores.columns]
    labels = items["category" if name == "mmlu_pro" else "benchmark"].astype(str)
    if name == "livecodebench_2024":
        kept = labels.isin(LCB_PARTS).to_numpy()
        scores, labels = scores.loc[:, kept], labels[kept]
    X = scores.to_numpy(float)
    X = X / max(1.0, np.nanmax(X))
    complete = np.isnan(X).mean(axis=1) < 0.02
    X, labels, models = X[complete], labels.to_numpy(), scores.index[complete]
    if cap:
        rng = np.random.default_rng(123)
        kept = [
            rng.permutation(np.flatnonzero(labels == label))[:cap]
            for label in np.unique(labels)
        ]
        kept = np.sort(np.concatenate(kept))
        X, labels = X[:, kept], labels[kept]
    return X, labels, models


def split(n_models, n_train, n_test, seed, families=None):
    """Return positions of training and test models, as in the earlier study."""
    rng = np.random.default_rng(1000 + seed)
    order = rng.permutation(n_models)
    if families is not None:
        names = rng.permutation(np.unique(families))
        place = {name: k for k, name in enumerate(names)}
        order = np.array(sorted(order, key=lambda i: place[families[i]]))
        while families[order[n_train - 1]] == families[order[n_train]]:
            n_train += 1
    end = None if n_test is None else n_train + n_test
    return order[:n_train], order[n_train:end]


def regime_splits(regime):
    """Return data and a function from split number to (train, test)."""
    name, cap, n_train, n_test = REGIMES[regime]
    X, labels, models = load(name, cap)
    families = None
    if regime == "nlu_family":
        families = np.array([str(m).rsplit("_", 1)[0] for m in models])
    return X, labels, lambda seed: split(len(X), n_train, n_test, seed, families)


def curve_of(X, labels, parts, seed):
    """Measure one split."""
    common = {
        "item_groups": labels,
        "cv": [parts],
        "item_filter": ITEM_FILTER,
        "random_state": seed,
    }
    curve = selection_curve(
        X,
        budgets=(*ROUND, *SHARES),
        strategies={
            "kriging": "kriging",
            "random": "random",
            "stratified": "stratified",
            "benchmirt": DiscriminationStrategy(),
        },
        scorers=("full_score", "raw_mean"),
        **common,
    )
    return label_budgets(curve.assign(split=seed))


def label_budgets(curve):
    """Name budgets; drop those of under 10 items, over half the bank, or repeated."""
    n, bank = curve["n_items"], curve["bank_size"]
    share = curve["budget"] < 1
    kept = (n >= 10) & (n <= bank // 2) & ~(share & n.isin(ROUND))
    names = np.where(
        share,
        (100 * curve["budget"]).round().astype(int).astype(str) + "%",
        curve["budget"].round().astype(int).astype(str),
    )
    return curve.assign(budget=names)[kept]


def run(args):
    """Measure every split that is not in the store yet."""
    for regime in args.regimes:
        X, labels, parts = regime_splits(regime)
        for seed in range(args.splits):
            path = args.store / f"{regime}-{seed}.csv"
            if path.exists():
                continue
            start = time.perf_counter()
            curve = curve_of(X, labels, parts(seed), seed)
            curve.to_csv(path, index=False)
            print(regime, seed, f"{time.perf_counter() - start:.1f} s", flush=True)


def dominant_dimension(mirt, scores):
    """Return the dimension whose ability follows the mean score most, and its sign."""
    rho = [np.corrcoef(column, scores)[0, 1] for column in mirt.abilities_.T]
    k = int(np.argmax(np.abs(rho)))
    return k, np.sign(rho[k])


def most_discriminating(mirt, k, sign, share=0.1, n_bins=100):
    """Choose as BenchMIRT's item filter does, for one dimension.

    Equal-count bins of the difficulty -d / a_k over all items; of each, the items whose
    signed slope is at or over the bin's (1 - share) quantile.
    """
    slope = sign * mirt.slopes_[:, k]
    order = np.argsort(-mirt.intercepts_ / mirt.slopes_[:, k], kind="stable")
    kept = [
        part[slope[part] >= np.quantile(slope[part], 1.0 - share)]
        for part in np.array_split(order, min(n_bins, len(order) // 2))
    ]
    return np.concatenate(kept)


def agreement(mirt, k, X, labels, chosen):
    """Agreement of a subset with the whole bank on some models."""
    shown = np.full(X.shape, np.nan)
    shown[:, chosen] = X[:, chosen]
    by_benchmark = [
        np.corrcoef(X[:, part].mean(axis=1), X[:, whole].mean(axis=1))[0, 1]
        for whole, part in (
            (labels == label, chosen[labels[chosen] == label])
            for label in np.unique(labels)
        )
        if len(part) and X[:, part].mean(axis=1).std() > 0
    ]
    ability, subset = mirt.transform(X)[:, k], mirt.transform(shown)[:, k]
    return {
        "score": spearmanr(X[:, chosen].mean(axis=1), X.mean(axis=1))[0],
        "ability": spearmanr(ability, subset)[0],
        "benchmark": np.nanmean(by_benchmark),
    }


def same(args):
    """Check BenchMIRT's claim on the models the items come from, and on new ones."""
    rows = []
    for regime in args.regimes:
        X, labels, parts = regime_splits(regime)
        for seed in range(args.splits):
            train, test = parts(seed)
            means = np.nanmean(X[train], axis=0)
            bank = (means > ITEM_FILTER[0]) & (means < ITEM_FILTER[1])
            full = np.where(np.isnan(X), means, X)[:, bank]
            mirt = MIRTTransformer(n_dims=2).fit(full[train])
            k, sign = dominant_dimension(mirt, full[train].mean(axis=1))
            filtered = most_discriminating(mirt, k, sign)
            rng = np.random.default_rng(seed)
            drawn = rng.permutation(bank.sum())[: len(filtered)]
            for where, models in (("same", train), ("new", test)):
                for name, chosen in (("benchmirt", filtered), ("random", drawn)):
                    got = agreement(mirt, k, full[models], labels[bank], chosen)
                    rows.append({"regime": regime, "split": seed, "where": where})
                    rows[-1].update(strategy=name, **got)
    pd.DataFrame(rows).to_csv(args.store / "same.csv", index=False)


def models(args):
    """Measure accuracy by the number of training models."""
    tables = []
    for name, sizes, n_test in LEARNING:
        X, labels, _ = load(name, None)
        for seed in range(args.splits):
            train, test = split(len(X), sizes[-1], n_test, seed)
            for n_train in sizes:
                curve = selection_curve(
                    X,
                    item_groups=labels,
                    budgets=(25, 100),
                    strategies=("kriging", "stratified"),
                    scorers=("full_score",),
                    cv=[(train[:n_train], test)],
                    item_filter=ITEM_FILTER,
                    random_state=seed,
                )
                row = {"split": seed, "data": name, "n_train": n_train}
                tables.append(curve.assign(**row))
        pd.concat(tables).to_csv(args.store / "models.csv", index=False)


def timing(args):
    """Time a selection from simulated answers, models fitted within."""
    rows = []
    for n_models, n_bank, n_items, n_groups in (
        (45, 12_000, 250, 29),
        (100, 34_000, 1000, 12),
    ):
        rng = np.random.default_rng(0)
        groups = rng.integers(0, n_groups, n_bank)
        ability = rng.normal(size=(n_models, 1)) + 0.5 * rng.normal(
            size=(n_models, n_groups)
        )
        eta = ability[:, groups] * rng.lognormal(0, 0.4, n_bank) + rng.normal(
            size=n_bank
        )
        X = (rng.random(eta.shape) < expit(eta)) * 1.0
        selector = InformativeItemSelector(n_items, item_groups=groups)
        start = time.process_time()
        selector.fit(X)
        total = time.process_time() - start
        problem = selector.problem_
        start = time.process_time()
        greedy_ranking(problem, KrigingStrategy(), Constraints.none(n_bank, n_groups))
        rows.append(
            {
                "models": n_models,
                "bank": n_bank,
                "chosen": n_items,
                "fit_and_choose_s": round(total, 1),
                "choose_s": round(time.process_time() - start, 1),
            }
        )
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(args.store / "timing.csv", index=False)


def read_results(store):
    """Return all stored curves with their regime."""
    tables = []
    for regime in REGIMES:
        for path in sorted(store.glob(f"{regime}-*.csv")):
            table = pd.read_csv(path, dtype={"budget": str})
            tables.append(table.assign(regime=regime))
    return pd.concat(tables)


def report(args):
    """Write the tables."""
    from selection_report import write_report

    write_report(read_results(args.store), args.store, RESULTS)


def main():
    """Parse the command line and run one task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["run", "same", "models", "timing", "report"])
    parser.add_argument("--regimes", nargs="+", default=list(REGIMES), choices=REGIMES)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--store", type=Path, default=HERE / "results" / "selection")
    args = parser.parse_args()
    args.store.mkdir(parents=True, exist_ok=True)
    tasks = {f.__name__: f for f in (run, same, models, timing, report)}
    tasks[args.task](args)


if __name__ == "__main__":
    main()
