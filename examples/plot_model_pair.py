"""
Two models, item by item
========================

A model and its variant answered the same items: paired differences, with errors that
know that items of one benchmark go together, by how well items tell ability apart.
"""

from sklearn_mirt import MIRTTransformer, compare_respondents
from sklearn_mirt.datasets import make_benchmark_suite
from sklearn_mirt.plots import PairDisplay

suite = make_benchmark_suite(scale=0.1, random_state=0)
benchmark = suite.item_table["benchmark"].to_numpy()
mirt = MIRTTransformer(2, item_groups=benchmark).fit(suite.responses)
base, variant = suite.responses.index[:2]

# %%
table = compare_respondents(mirt, suite.responses, base, variant)
print(table[["n_items", "difference", "low", "high", "q"]].round(3))

# %%
PairDisplay.from_table(table)
