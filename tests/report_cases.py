"""Small audits for the tests of the report."""

import numpy as np
import pandas as pd

from sklearn_mirt import audit_benchmarks
from sklearn_mirt.datasets import make_benchmark_suite, make_responses

HOSTILE = (
    "<script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "</script><script>window.hit=1</script>",
    "<!--<script>",
    "{{ 7 * 7 }} {% raw %}",
    "javascript:window.hit=1",
    "' onmouseover='window.hit=1",
    "\u202eمعيار\u2066 right to left",
    "🦜🏳️‍🌈 emoji",
    "a\u2028b\nc\td\x00e",
    "long " + "x" * 1995,
    "&lt;b&gt; &amp; \\u003cscript\\u003e",
)


def suite_audit(**options):
    """Audit of a small synthetic suite."""
    suite = make_benchmark_suite(40, scale=0.02, random_state=0)
    items = suite.item_table.set_index("item_id")
    items["text"] = ["What is the answer to " + name + "?" for name in items.index]
    return audit_benchmarks(
        suite.responses, items=items, random_state=0, **{"held_out": 0.1, **options}
    )


def hostile_audit():
    """Audit in which every name and text is one of `HOSTILE`."""
    table = make_responses(24, 48, 2, random_state=0).responses
    table = np.array(table, dtype=float)
    table[0, :3] = np.nan
    n = len(HOSTILE)
    ids = [f"{HOSTILE[j % n]} item {j}" for j in range(48)]
    people = [f"{HOSTILE[i % n]} model {i}" for i in range(24)]
    items = pd.DataFrame(
        {
            "benchmark": [HOSTILE[j // 4] for j in range(48)],
            "subset": [f"{HOSTILE[j // 4]} subset {j % 2}" for j in range(48)],
            "stated_dimension": [HOSTILE[j // 24] for j in range(48)],
            "text": [HOSTILE[(j + 5) % n] for j in range(48)],
        },
        index=ids,
    )
    return audit_benchmarks(
        pd.DataFrame(table, people, ids), items=items, held_out=0.1, n_bootstrap=10
    )
