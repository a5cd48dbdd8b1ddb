"""
First audit
===========

What does each benchmark of a suite measure? The suite is **synthetic**, in the shape of
the study of BenchMIRT: 16 benchmarks that state reasoning or safety.
"""

from sklearn_mirt import audit_benchmarks
from sklearn_mirt.datasets import make_benchmark_suite
from sklearn_mirt.plots import BenchmarkHeatmapDisplay, DiscriminationDisplay

suite = make_benchmark_suite(scale=0.1, random_state=0)
items = suite.item_table.set_index("item_id")
print(items.head())

# %%
# One call fits the model, compares two halves of the items, and holds answers out.
audit = audit_benchmarks(suite.responses, items=items, held_out=0.1)
print(*audit.findings, sep="\n")

# %%
# The table behind the sentences.
BenchmarkHeatmapDisplay.from_audit(audit)

# %%
# Every item by its slopes: WMDP is on the left, its items are failed by better models.
DiscriminationDisplay.from_audit(audit)

# %%
# Does the model predict answers that it has not seen, and better than baselines?
print(audit.held_out.scores.round(3))
