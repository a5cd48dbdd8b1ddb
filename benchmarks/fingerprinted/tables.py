"""Reading, holding and simulating responses."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy import sparse

from fingerprinted.blocks import block
from fingerprinted.sets import as_answers, thinned, with_gaps
from sklearn_mirt import ResponseData, datasets, read_items, read_responses


def _contents(data, codes):
    """Yield what can be asked of responses."""
    yield "data", data
    yield "sums", list(data.sums())
    yield "item means", data.item_means()
    yield "respondent means", data.respondent_means()
    yield "group means", data.group_means(codes, 3)
    yield "group sums", list(data.group_sums(codes, 3))
    yield "some", data.take(respondents=[3, 1], items=np.arange(0, 90, 7))


@block("responses")
def _responses():
    table, _ = thinned("livecodebench_2024", None, 300)
    codes = np.arange(300) % 3
    scarce = with_gaps(table, 0.8)
    values = np.nan_to_num(scarce.to_numpy())
    weights = np.random.default_rng(0).choice([0.5, 2.0], values.shape)
    built = {
        "wide": ResponseData.from_wide(table),
        "weighted": ResponseData.from_wide(table.to_numpy(), weights=weights),
        "scarce": ResponseData.from_wide(scarce),
        "sparse": ResponseData.from_sparse(
            sparse.csr_array(values), require_zeros=False
        ),
    }
    for label, data in built.items():
        for key, value in _contents(data, codes):
            yield f"{label} {key}", value


@block("responses, long")
def _long():
    table, _ = thinned("bfcl_v1", None, 200)
    pairs, scores = as_answers(with_gaps(table))
    who, what = pairs.T
    yield "plain", ResponseData.from_long(who, what, scores)
    twice = [np.append(part, part[:99]) for part in (who, what, scores)]
    for how in ("mean", "first", "count"):
        data = ResponseData.from_long(*twice, aggregate=how)
        yield how, data
        yield f"{how} sums", list(data.sums())


@block("files")
def _files():
    folder = Path(os.environ["SKLEARN_MIRT_DATA"])
    for name in ("bfcl_v1", "livecodebench_2024", "mmlu_pro"):
        items = read_items(folder / name / "items.csv.gz")
        loaded = read_responses(folder / name / "responses.csv.gz", items=items)
        yield f"{name} items", items
        yield f"{name} responses", loaded.data
        yield f"{name} layout", loaded.layout
        yield f"{name} notes", loaded.notes
    with TemporaryDirectory() as scratch:
        table, _ = thinned("bfcl_v1", 20, 60)
        pairs, scores = as_answers(table)
        path = Path(scratch) / "long.csv"
        lines = [f"{a},{b},{s:g}" for (a, b), s in zip(pairs, scores, strict=True)]
        path.write_text("\n".join(["model,item,score", *lines]), encoding="utf-8")
        yield "long", read_responses(path).data


@block("simulated")
def _simulated():
    yield "lsat7", dict(datasets.load_lsat7())
    made = datasets.make_responses(
        40, 60, 2, ability_correlation=0.3, guessing=0.1, missing=0.2, random_state=4
    )
    yield "responses", dict(made)
    frame = datasets.make_responses(20, 30, n_groups=3, as_frame=True, random_state=1)
    yield "frame", dict(frame)
    suite = datasets.make_benchmark_suite(30, scale=0.05, random_state=2)
    yield "suite", dict(suite)
