"""Tools on fits: how many dimensions, how sure, what differs, kept in a file."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet

from fingerprinted.blocks import block
from fingerprinted.sets import families, real_set, thinned, with_gaps
from sklearn_mirt import (
    ItemBank,
    MIRTTransformer,
    align_fits,
    benchmirt_pair_comparison,
    bootstrap,
    choose_dimensions,
    combined_intervals,
    compare_respondents,
    compare_runs,
    dimension_stability,
    load_item_bank,
    null_control,
    save_item_bank,
)


def _fitted(name="bfcl_v1", *size, n_dims=2):
    table, groups = thinned(name, *size)
    return MIRTTransformer(n_dims, item_groups=groups).fit(table), table, groups


@block("choose_dimensions")
def _choose_dimensions():
    options = {"n_dims": (1, 2, 3), "n_permutations": 2, "n_folds": 3}
    for name in ("bfcl_v1", "livecodebench_2024"):
        table, groups = thinned(name, None, 600)
        for by in ("groups", "cells"):
            choice = choose_dimensions(table, item_groups=groups, by=by, **options)
            yield f"{name} {by}", choice
    table, groups = thinned("openllm_v1", 1000, 400)  # is thinned further
    yield "openllm_v1", choose_dimensions(table, item_groups=groups, **options)


@block("dimension_stability")
def _stability():
    model, table, _ = _fitted()
    yield "table", dimension_stability(model, table, n_starts=2, n_splits=2)


@block("null_control")
def _null_control():
    model, table, groups = _fitted("bfcl_v1", None, 800)
    yield "groups", null_control(model, table, n_repeats=2)
    halves = np.arange(len(groups)) % 2
    yield "scales", null_control(model, table, scales=halves, n_repeats=1)


@block("bootstrap")
def _bootstrap():
    model, table, _ = _fitted("bfcl_v1", None, 800)
    items = bootstrap(model, table, n_replicates=5, random_state=1)
    people = bootstrap(
        model,
        table,
        resample="respondents",
        respondent_groups=families(table),
        n_replicates=4,
    )
    for label, found in {"items": items, "respondents": people}.items():
        for part in ("correlations", "observed", "scales", "n_units"):
            yield f"{label} {part}", getattr(found, part)
        yield f"{label} errors", found.correlation_errors()
        yield f"{label} table", found.correlation_table()
    yield "abilities", items.abilities
    yield "ability errors", items.ability_errors()
    yield "ability table", items.ability_table()
    yield "ranks", items.rank_table(dim=1)
    yield "tied", items.tied()
    yield "mdisc", people.mdisc
    yield "mdisc table", people.mdisc_table()
    yield "combined", combined_intervals(items, people)
    yield "level", combined_intervals(items, level=0.9)
    threads = bootstrap(model, table, n_replicates=5, random_state=1, n_jobs=2)
    yield "two threads", threads.abilities


@block("comparisons")
def _comparisons():
    model, table, groups = _fitted()
    first, second = table.index[[5, 40]]
    for label, table_of in {
        "compare_respondents": compare_respondents,
        "benchmirt_pair_comparison": benchmirt_pair_comparison,
    }.items():
        yield label, table_of(model, table, first, second)
        yield f"{label}, tail", table_of(model, table, first, second, tail=0.2)
    own = np.arange(len(groups)) % 50
    options = {"item_groups": own, "n_bins": 3, "level": 0.9}
    yield "groups", compare_respondents(model, table, first, second, **options)


@block("align_fits")
def _align_fits():
    reference, table, _ = _fitted(n_dims=3)
    part, _, _ = _fitted("bfcl_v1", None, 700, n_dims=3)
    for method in ("orthogonal", "oblique", "permutation"):
        aligned, congruence = align_fits(
            reference, part, reference.rotate("varimax"), method=method
        )
        yield f"{method} congruence", congruence
        yield f"{method} aligned", dict(enumerate(aligned))


@block("compare_runs")
def _compare_runs():
    table, items = real_set("bfcl_v1")
    yield "runs", compare_runs(table, items=items[["benchmark"]], n_dims=(1, 2, 3))


def _without_version(header):
    """Return the header of a bank without the version of the package."""
    training = {k: v for k, v in header["training"].items() if k != "sklearn_mirt"}
    return json.dumps(header | {"training": training}, sort_keys=True)


def _bank_parts(bank):
    names = ("items", "groups", "group_labels", "group_sizes", "prior", "determined")
    yield from ((name, getattr(bank, name)) for name in names)
    yield "ability_correlation", bank.ability_correlation
    yield "rotation", bank.rotation


@block("item banks")
def _item_banks():
    model, table, _ = _fitted()
    sat12, _ = real_set("sat12")
    exact = MIRTTransformer(1, item_model="3pl").fit(sat12)
    with TemporaryDirectory() as folder:
        for label, (fit, X) in {"": (model, table), "3pl ": (exact, sat12)}.items():
            for ending in (".json", ".parquet"):
                path = Path(folder) / f"{label}bank{ending}"
                save_item_bank(fit, path, training={"source": "here"})
                yield f"{label}{ending}", _content(path)
                bank = load_item_bank(path)
                for key, value in _bank_parts(bank):
                    yield f"{label}{ending} {key}", value
                loaded = MIRTTransformer.from_item_bank(path)
                yield f"{label}{ending} transform", loaded.transform(X.iloc[:9])
    taken = ItemBank.from_estimator(model).take(np.arange(0, 900, 9))
    yield from ((f"some {key}", value) for key, value in _bank_parts(taken))


def _content(path):
    if path.suffix == ".json":
        return _without_version(json.loads(path.read_text(encoding="utf-8")))
    table = pyarrow.parquet.read_table(path)
    header = json.loads(table.schema.metadata[b"sklearn_mirt_item_bank"])
    return [_without_version(header), table.to_pandas()]


@block("scores from a bank")
def _scores_from_a_bank():
    """Score respondents with few answers on the items of a bank."""
    model, table, _ = _fitted("mmlu_pro", None, 2000)
    bank = MIRTTransformer.from_item_bank(ItemBank.from_estimator(model), n_jobs=2)
    yield "abilities", bank.score_abilities(with_gaps(table, 0.95))
    for name in ("mdisc", "mdiff"):
        yield name, getattr(model.item_parameters_, name)
    theta = model.abilities_[:4]
    yield "probability", model.item_parameters_.probability(theta)
    yield "logit", model.item_parameters_.logit(theta)
