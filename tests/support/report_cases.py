"""Small audits for the tests of the report."""

from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from sklearn_mirt import ResponseData, audit_benchmarks
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


@cache
def suite_audit(**options):
    """Audit of a small synthetic suite; one fit for all tests of a process."""
    suite = make_benchmark_suite(40, scale=0.02, random_state=0)
    items = suite.item_table.set_index("item_id")
    items["text"] = ["What is the answer to " + name + "?" for name in items.index]
    return audit_benchmarks(
        suite.responses, items=items, random_state=0, **{"held_out": 0.1, **options}
    )


@cache
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


def enlarged(audit, n_items, n_respondents):
    """Audit whose item table is repeated to a size; answers are drawn at random.

    What was found out of other fits goes, since it is about other respondents.
    """
    rng = np.random.default_rng(0)
    place = np.arange(n_items) % len(audit.items)
    items = audit.items.iloc[place].copy()
    items.index = [f"{name} copy {j}" for j, name in enumerate(items.index)]
    items["text"] = "A text of some length. " * 5
    model = copy(audit.estimator)
    for name in ("slopes_", "intercepts_", "guessing_", "item_covariances_", "items_"):
        setattr(model, name, getattr(model, name)[place])
    table = rng.integers(0, 2, (n_respondents, n_items)).astype(float)
    return replace(
        audit,
        bootstrap=None,
        held_out=None,
        items=items,
        estimator=model,
        responses=ResponseData.from_wide(table),
        abilities=audit.abilities.iloc[np.arange(n_respondents) % len(audit.abilities)],
    )
