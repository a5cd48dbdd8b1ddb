"""
Scoring a new model from 100 items
==================================

Choose items with some models, ask a new model only these, and estimate its score on the
whole bank, with a standard error. (The mean of the chosen items is no such estimate.)
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_mirt import FullScoreRegressor, InformativeItemSelector
from sklearn_mirt.datasets import make_benchmark_suite

suite = make_benchmark_suite(scale=0.02, random_state=0)
benchmark = suite.item_table["benchmark"].to_numpy()
bank = suite.responses.astype(float).to_numpy()
known, new = bank[:80], bank[80:]

# %%
selector = InformativeItemSelector(100, item_groups=benchmark).fit(known)
scorer = FullScoreRegressor(item_groups=benchmark).fit(known)
answers = np.full(new.shape, np.nan)
answers[:, selector.support_] = new[:, selector.support_]
scores, errors = scorer.predict(answers, return_std=True)

# %%
truth = new.mean(axis=1)
print("mean absolute error:", np.abs(scores[:, 0] - truth).mean().round(4))
plt.errorbar(truth, scores[:, 0], yerr=1.645 * errors[:, 0], fmt="o", capsize=2)
plt.axline((truth.mean(), truth.mean()), slope=1, ls="--", color="grey")
plt.xlabel(f"score on all {bank.shape[1]} items")
plt.ylabel("estimate from 100 items, 90% interval")
