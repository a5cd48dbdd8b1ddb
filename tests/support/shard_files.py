"""Long tables, and Parquet files that hold them."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt.datasets import make_responses

pa = pytest.importorskip("pyarrow")


pq = pytest.importorskip("pyarrow.parquet")


def long_table(n_respondents=300, n_items=24, missing=0.4, seed=0, fractions=False):
    sim = make_responses(
        n_respondents, n_items, 2, missing=missing, n_groups=2, random_state=seed
    )
    scores = sim.responses
    if fractions:
        scores = scores * np.random.default_rng(1).choice([0.5, 1], scores.shape)
    i, j = np.nonzero(~np.isnan(scores))
    order = np.random.default_rng(seed).permutation(len(i))  # as answers come in
    i, j = i[order], j[order]
    return pd.DataFrame(
        {
            "respondent": [f"r{k:04d}" for k in i],
            "item": [f"q{k:02d}" for k in j],
            "score": scores[i, j],
        }
    )


def write_parts(frame, folder, n_files=5, **options):
    folder.mkdir(exist_ok=True)
    for k, part in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        table = pa.Table.from_pandas(frame.iloc[part], preserve_index=False)
        pq.write_table(table, folder / f"part-{k:02d}.parquet", **options)
    return folder
