"""Answers in shards of respondents, streamed from disk."""

from pathlib import Path
from tempfile import TemporaryDirectory

import dask.array
import numpy as np
import pandas as pd

from fingerprinted.blocks import block
from fingerprinted.sets import as_answers, thinned
from sklearn_mirt import MIRTClassifier, MIRTTransformer, ShardedResponses


def _table():
    return thinned("openllm_v1", 3000, 300)


def _put(folder, **options):
    """Put the answers into shards, from three files."""
    table, groups = _table()
    pairs, scores = as_answers(table)
    frame = pd.DataFrame(pairs, columns=["respondent", "item"]).assign(score=scores)
    (folder / "parts").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(folder / "parts" / f"{k}.parquet", index=False)
    data = ShardedResponses.from_parquet(folder / "parts", folder / "shards", **options)
    return data, groups.to_dict(), frame


def _content(data):
    """Yield what is in the shards."""
    names = ("items", "item_weight", "item_score", "n_respondents", "n_observed")
    for name in names:
        yield name, getattr(data, name)
    yield "respondents", [list(ids) for ids in data.respondents()]


def _abilities(model):
    """Yield the abilities of each shard."""
    for k in range(len(model.sharded_abilities_)):
        yield f"abilities of shard {k}", model.sharded_abilities_[k]


@block("shards")
def _fits():
    with TemporaryDirectory() as folder:
        data, groups, frame = _put(Path(folder), n_shards=4, max_memory="500MB")
        yield from _content(data)
        fits = {
            "plain": MIRTTransformer(2),
            "options": MIRTTransformer(
                3, item_groups=groups, guessing=0.1, dtype="float64", rotation=None
            ),
            "positive": MIRTTransformer(2, positive_slopes=True, n_jobs=2),
            "long": MIRTClassifier(2, item_groups=groups, dtype="float32"),
        }
        for label, model in fits.items():
            yield label, model.fit(data)
            for key, value in _abilities(model):
                yield f"{label} {key}", value
        some = frame[["respondent", "item"]].iloc[:50]
        yield "predict_proba", fits["long"].predict_proba(some)
        found, known = fits["plain"].sharded_abilities_.find(some["respondent"])
        yield "found", found
        yield "known", known
        turned = fits["plain"].rotate("varimax")
        for key, value in _abilities(turned):
            yield f"rotated {key}", value
        fits["plain"].sharded_abilities_.to_parquet(Path(folder) / "abilities")
        written = sorted((Path(folder) / "abilities").iterdir())
        yield "written", [pd.read_parquet(path) for path in written]


@block("shards, other ways in")
def _other_ways_in():
    with TemporaryDirectory() as folder:
        data, _, _ = _put(Path(folder))
        yield "default", MIRTTransformer(2).fit(data)
        again = ShardedResponses.open(Path(folder) / "shards", max_memory="350MB")
        yield "little memory", MIRTTransformer(2, n_jobs=2).fit(again)
    table, _ = _table()
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "table.npy", table.to_numpy(np.float32))
        mapped = np.load(Path(folder) / "table.npy", mmap_mode="r")
        data = ShardedResponses.from_wide(mapped, Path(folder) / "shards")
        yield "wide", MIRTTransformer(2).fit(data)
        named = table.rename_axis("respondent").reset_index()
        named.to_parquet(Path(folder) / "wide.parquet", index=False)
        wide = ShardedResponses.from_parquet(
            Path(folder) / "wide.parquet", Path(folder) / "other", layout="wide"
        )
        yield "wide file", MIRTTransformer(2).fit(wide)


@block("shards, checkpoint")
def _checkpoint():
    with TemporaryDirectory() as folder:
        data, _, _ = _put(Path(folder), n_shards=3)
        model = MIRTTransformer(
            2, max_iter=4, warm_start=True, checkpoint_dir=Path(folder) / "kept"
        )
        yield "stopped", model.fit(data)
        yield "gone on", model.set_params(max_iter=200).fit(data)


@block("dask collections")
def _dask_collections():
    table, groups = _table()
    rows = dask.array.from_array(table.to_numpy(), chunks=(1000, -1))
    model = MIRTTransformer(2, item_groups=groups.to_numpy())
    yield "rows", model.fit(rows)
    yield "rows, transform", model.transform(rows).compute()
    yield "rows, expected", model.expected_scores(rows[:1000]).compute()
    few = dask.array.from_array(table.to_numpy()[:80], chunks=(40, -1))
    yield "few rows", MIRTTransformer(2).fit(few)
