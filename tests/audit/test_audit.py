"""The audit: tables, findings against the truth, and nothing found in noise."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import (
    ResponseData,
    audit_benchmarks,
    compare_runs,
)
from sklearn_mirt.data.resampling import permuted_within_items
from sklearn_mirt.datasets import make_benchmark_suite, make_responses

EXPECTED = {
    **dict.fromkeys(
        ("MMLU-Pro", "BBH", "GPQA", "MATH", "IFEval", "MuSR"), "measures what it says"
    ),
    **dict.fromkeys(
        (
            "WildGuardTest",
            "StrongREJECT",
            "Do-Anything-Now",
            "TrustLLM-JailbreakTrigger",
        ),
        "measures what it says",
    ),
    "BBQ": "measures another dimension",
    "WMDP": "reversed",
    "ToxiGen": "saturated",
    **dict.fromkeys(("XSTest", "WildJailbreak", "HarmBench"), "mixed"),
}


@pytest.fixture(scope="module")
def suite():
    suite = make_benchmark_suite(scale=0.1, random_state=1)
    return suite.responses, suite.item_table.set_index("item_id")


@pytest.fixture(scope="module")
def audit(suite):
    return audit_benchmarks(suite[0], items=suite[1])


def test_the_findings_of_the_suite_are_right(audit):
    found = audit.benchmarks["verdict"].to_dict()
    # a tenth of the items is too few for the 25 safe prompts of XSTest
    wrong = {b: found[b] for b in EXPECTED if found[b] != EXPECTED[b]}
    assert set(wrong) <= {"XSTest"}
    assert audit.dimensions["name"].tolist() == ["reasoning", "safety"]
    assert audit.dimensions["replicates"].all()
    assert "not safety" in audit.benchmarks.loc["BBQ", "finding"]
    assert "copyright" in audit.benchmarks.loc["HarmBench", "finding"]
    assert audit.findings == audit.benchmarks["finding"].tolist()


def test_tables_have_the_columns_that_others_read(audit, tmp_path):
    for table in (audit.benchmarks, audit.subsets):
        for column in ("n_items", "mean_score", "mdisc", "verdict", "finding"):
            assert column in table
        for prefix in ("r", "p", "q", "low", "high", "cross"):
            assert f"{prefix}_dim2" in table
    assert [c for c in audit.benchmarks if c.startswith("r_")] == ["r_dim1", "r_dim2"]
    between = audit.benchmarks[["low_dim1", "r_dim1", "high_dim1"]].to_numpy()
    assert (np.diff(between) > 0).all()
    assert audit.subsets.loc["HarmBench"].shape[0] == 3
    audit.to_csv(tmp_path)
    assert (tmp_path / "dimensions.csv").exists()


@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_is_found_in_permuted_answers(suite, seed):
    data = permuted_within_items(
        ResponseData.from_wide(suite[0]), np.random.default_rng(seed)
    )
    audit = audit_benchmarks(data, items=suite[1])
    for table in (audit.benchmarks, audit.subsets):
        assert set(table["verdict"]) <= {"not measurable", "saturated"}
    assert not audit.dimensions["replicates"].any()
    assert audit.dimensions["congruence"].abs().max() < 0.5
    assert audit.dimensions["name"].tolist() == ["dimension 1", "dimension 2"]


def test_relabelling_and_reordering_changes_names_only(suite):
    X, items = suite[0].iloc[:, ::8], suite[1].iloc[::8]
    one = audit_benchmarks(X, items=items, n_halves=0)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    other = X.iloc[rows, columns].rename(index=lambda m: f"new {m}")
    other.columns = [f"new {c}" for c in other.columns]
    renamed = items.rename(index=lambda c: f"new {c}")
    two = audit_benchmarks(other, items=renamed, n_halves=0)
    for column in ("r_dim1", "r_dim2", "mean_score", "low_dim1"):
        np.testing.assert_allclose(
            one.benchmarks[column], two.benchmarks[column], atol=2e-4
        )
    assert (one.benchmarks["verdict"] == two.benchmarks["verdict"]).all()
    theta = two.abilities.loc[[f"new {m}" for m in X.index], "dim1"]
    np.testing.assert_allclose(one.abilities["dim1"], theta, atol=2e-3)


def test_families_widen_the_intervals(suite):
    X, items = suite[0].iloc[:, ::12], suite[1].iloc[::12]
    alone = audit_benchmarks(X, items=items, n_halves=0).benchmarks
    family = pd.Series(np.arange(len(X)) // 25, index=X.index)
    grouped = audit_benchmarks(X, items=items, n_halves=0, respondent_groups=family)
    width = [t["high_dim1"] - t["low_dim1"] for t in (alone, grouped.benchmarks)]
    assert (width[1] > width[0]).mean() > 0.8


def test_bootstrap_and_null_control_extend_the_tables(suite):
    X, items = suite[0].iloc[:40, ::10], suite[1].iloc[::10]
    calls = []
    audit = audit_benchmarks(
        X,
        items=items,
        n_bootstrap=5,
        n_null=2,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(k, 5) for k in range(1, 6)] + [(1, 2), (2, 2)]
    assert {"rank_dim1", "low_rank_dim1", "n_tied_dim2"} <= set(audit.abilities)
    assert {"explained", "q_null", "beats_null"} <= set(audit.items)
    assert audit.benchmarks.loc["MMLU-Pro", "null_r"] < 0.9
    assert audit.null.share_of_items > 0.1
    plain = audit_benchmarks(X, items=items).benchmarks
    wider = audit.benchmarks["high_dim1"] - audit.benchmarks["low_dim1"]
    assert (wider >= plain["high_dim1"] - plain["low_dim1"] - 1e-12).all()


def test_item_tables_with_faults_are_refused(suite):
    X, items = suite[0].iloc[:, :20], suite[1].iloc[:20]
    with pytest.raises(ValueError, match="no row for item"):
        audit_benchmarks(X, items=items.iloc[1:])
    with pytest.raises(ValueError, match="more than one row"):
        audit_benchmarks(X, items=pd.concat([items, items.iloc[:1]]))
    with pytest.raises(ValueError, match="has no benchmark"):
        audit_benchmarks(X, items=items.assign(benchmark=None))


# ---- stability and the null


def test_runs_are_compared_with_benchmarks_and_each_other(suite):
    X, items = suite[0].iloc[:, ::8], suite[1].iloc[::8]
    runs = compare_runs(X, items=items, n_dims=(1, 2))
    assert runs.benchmarks.columns.tolist() == [(1, "dim1"), (2, "dim1"), (2, "dim2")]
    assert runs.benchmarks.loc["MMLU-Pro", (1, "dim1")] > 0.9
    assert runs.between.loc[(1, "dim1"), (2, "dim1")] > 0.9
    np.testing.assert_allclose(np.diag(runs.between), 1)


def test_few_items_or_respondents_make_no_dimension_by_themselves():
    data = make_responses(40, 30, 1, random_state=0)
    short = audit_benchmarks(data.responses, n_dims=1)
    # two halves of 15 items cannot agree much, but they agree as much as they can
    assert short.dimensions.loc["dim1", "congruence"] < 0.9
    assert not short.dimensions.loc["dim1", "replicates"]
    assert short.benchmarks["verdict"].tolist() == ["measures"]
    few = audit_benchmarks(data.responses[:3], n_dims=1)
    assert few.benchmarks["verdict"].tolist() == ["not measurable"]
