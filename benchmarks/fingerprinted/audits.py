"""Audits: every table, every sentence, every file of numbers."""

from pathlib import Path
from tempfile import TemporaryDirectory

from fingerprinted.blocks import block
from fingerprinted.sets import families, real_set, thinned
from sklearn_mirt import MIRTTransformer, audit_benchmarks, datasets

TABLES = (
    *("benchmarks", "subsets", "abilities", "items", "ability_correlation"),
    *("dimensions", "findings", "null", "held_out", "estimator"),
)
# differ from run to run, and with what is installed
_PASSING = ("made", "seconds", "versions", "platform")


def _content(audit):
    for name in TABLES:
        yield name, getattr(audit, name)
    yield "about", {k: v for k, v in audit.about.items() if k not in _PASSING}
    if audit.bootstrap is not None:
        yield "bootstrap abilities", audit.bootstrap.abilities
        yield "bootstrap correlations", audit.bootstrap.correlations
    for guard in (False, True):
        with TemporaryDirectory() as folder:
            audit.to_csv(folder, guard_formulas=guard)
            for path in sorted(Path(folder).glob("*.csv")):
                yield f"{path.name}, guard {guard}", path.read_bytes()


@block("audit bfcl_v1")
def _bfcl():
    table, items = real_set("bfcl_v1")
    yield from _content(
        audit_benchmarks(
            table,
            items=items[["benchmark"]],
            respondent_groups=families(table),
            n_halves=2,
            n_bootstrap=5,
            n_null=1,
            held_out=0.1,
        )
    )


@block("audit nlu_test_sets")
def _nlu():
    table, groups = thinned("nlu_test_sets", None, 8000)
    items = groups.to_frame("benchmark")
    yield from _content(audit_benchmarks(table, items=items, n_dims=3))


@block("audit livecodebench_2024")
def _livecodebench():
    table, items = real_set("livecodebench_2024")
    model = MIRTTransformer(2, rotation="varimax", dtype="float64")
    yield from _content(
        audit_benchmarks(
            table, items=items[["benchmark"]], estimator=model, n_halves=0, held_out=0.2
        )
    )


@block("audit of the synthetic suite")
def _suite():
    suite = datasets.make_benchmark_suite(60, scale=0.1, random_state=0)
    items = suite.item_table
    if "item_id" in items:
        items = items.set_index("item_id")
    yield from _content(audit_benchmarks(suite.responses, items=items, n_bootstrap=3))
