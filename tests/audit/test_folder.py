"""Folders of audit tables."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import audit_benchmarks

FORMULAS = ["=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1"]


@pytest.mark.filterwarnings("ignore")
def test_an_audit_can_be_written_for_a_spreadsheet(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (12, 6)).astype(float))
    frame.index = [*FORMULAS, *"abcdef"]
    frame.columns = [f"=q{k}" for k in range(5)] + ["a\rb"]
    items = pd.DataFrame(
        {"benchmark": ["=b", "+c"] * 3, "subset": ["-s", "@t", "u"] * 2},
        index=frame.columns,
    )
    audit = audit_benchmarks(frame, items=items, n_dims=1, n_halves=0)
    audit.to_csv(tmp_path, guard_formulas=True)
    written = list(tmp_path.glob("*.csv"))
    assert len(written) == 6
    for path in written:
        table = pd.read_csv(path, dtype=object, keep_default_na=False)
        numbers = table.apply(pd.to_numeric, errors="coerce").notna()
        text = table.where(~numbers, "").to_numpy().ravel()
        bad = [t for t in text if t.startswith(("=", "+", "-", "@", "\t", "\r"))]
        assert not bad, (path.name, bad)
        assert ',"=' not in path.read_text()
    audit.to_csv(tmp_path)
    assert pd.read_csv(tmp_path / "items.csv")["item"].tolist() == [*frame.columns]
