"""Held-out cells of real matrices: the model beside its baselines, as in BenchMIRT.

Ten folds over (respondent, item) cells, seed 42, of which the first `--folds` are
run; items with a training accuracy in (0.05, 0.95), decided on training cells only;
priors by benchmark (category for mmlu_pro). Writes a Markdown table.

    SKLEARN_MIRT_DATA=... python benchmarks/held_out_cells.py --out docs/held_out.md
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from sklearn_mirt import (
    AdditiveClassifier,
    GroupMeanScoreClassifier,
    MeanScoreClassifier,
    MIRTClassifier,
)
from sklearn_mirt.metrics import cell_log_loss, cell_mae, rounded_accuracy

# name, group column, respondents, dimensions, accuracy of the prototype
MATRICES = [
    ("bfcl_v1", "benchmark", None, 4, 0.857),
    ("mmlu_pro", "category", None, 4, 0.772),
    ("psn_irt", "benchmark", None, 4, 0.823),
    ("openllm_v1", "benchmark", 1500, 4, 0.865),
    ("nlu_test_sets", "benchmark", None, 6, 0.849),
]


def load(name, group_column, n_respondents):
    """Return scores (respondents x items, NaN missing) and the group of each item."""
    folder = Path(os.environ["SKLEARN_MIRT_DATA"]) / name
    table = pd.read_csv(folder / "responses.csv.gz", index_col=0)
    items = pd.read_csv(folder / "items.csv.gz").set_index("item_id")
    if items.index.isin(table.index).mean() > 0.5:
        table = table.T
    groups = items.loc[table.columns, group_column].astype(str).to_numpy()
    return table.to_numpy(float)[:n_respondents], groups


def split(scores, train, test, cells):
    """Drop items whose training accuracy is outside (0.05, 0.95)."""
    i, j = cells
    n = np.bincount(j[train], minlength=scores.shape[1])
    right = np.bincount(j[train], scores[i[train], j[train]], scores.shape[1])
    rate = right / np.maximum(n, 1)
    keep = (rate > 0.05) & (rate < 0.95)
    return [part[keep[j[part]]] for part in (train, test)]


def run(name, group_column, n_respondents, n_dims, asked, n_folds):
    """Return one row per estimator, means over folds."""
    scores, groups = load(name, group_column, n_respondents)
    cells = np.nonzero(~np.isnan(scores))
    X, y = np.column_stack(cells), scores[cells]
    by_item = dict(enumerate(groups))
    estimators = {
        "respondent mean": MeanScoreClassifier(),
        "respondent x group mean": GroupMeanScoreClassifier(by_item),
        "additive": AdditiveClassifier(),
        f"MIRT, {n_dims} dimensions": MIRTClassifier(n_dims, item_groups=by_item),
    }
    folds = KFold(10, shuffle=True, random_state=42).split(X)
    rows = []
    for _, (train, test) in zip(range(n_folds), folds, strict=False):
        train, test = split(scores, train, test, cells)
        for label, estimator in estimators.items():
            start = time.perf_counter()
            estimator.fit(X[train], y[train])
            seconds = time.perf_counter() - start
            p = estimator.predict_proba(X[test])[:, 1]
            rows.append(
                {
                    "matrix": name,
                    "estimator": label,
                    "accuracy": rounded_accuracy(y[test], p),
                    "log loss": cell_log_loss(y[test], p),
                    "MAE": cell_mae(y[test], p),
                    "fit, s": seconds,
                }
            )
    table = pd.DataFrame(rows).groupby(["matrix", "estimator"], sort=False).mean()
    table["asked"] = ["", "", "", f"{asked:.3f}"]
    return table.reset_index()


def main():
    """Run all matrices and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tables = []
    for matrix in MATRICES:
        if options.only and matrix[0] not in options.only:
            continue
        tables.append(run(*matrix, options.folds))
        print(tables[-1].round(4).to_string(index=False), flush=True)
    if options.out:
        table = pd.concat(tables)
        lines = ["| " + " | ".join(table.columns) + " |"]
        lines.append("|" + "---|" * len(table.columns))
        for row in table.itertuples(index=False):
            cells = [f"{v:.4f}" if isinstance(v, float) else str(v) for v in row]
            lines.append("| " + " | ".join(cells) + " |")
        text = "# Held-out cells of real matrices\n\n" + __doc__ + "\n"
        text += f"\nMeans over the first {options.folds} fold(s).\n\n"
        options.out.write_text(text + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
