"""
Choosing 100 items
==================

A short test is judged on models that had no part in choosing it, against random items.
"""

from sklearn_mirt import InformativeItemSelector, selection_curve
from sklearn_mirt.datasets import make_benchmark_suite
from sklearn_mirt.plots import SelectionCurveDisplay

suite = make_benchmark_suite(scale=0.02, random_state=0)
benchmark = suite.item_table["benchmark"].to_numpy()
responses = suite.responses.astype(float)

# %%
curve = selection_curve(
    responses,
    item_groups=benchmark,
    budgets=(10, 25, 50, 100),
    strategies=("kriging", "random"),
    cv=3,
    n_draws=2,
)
SelectionCurveDisplay.from_curve(curve)

# %%
# The chosen items themselves, the most useful first.
selector = InformativeItemSelector(100, item_groups=benchmark).fit(responses)
print(list(selector.items_[selector.ranking_[:5]]))
