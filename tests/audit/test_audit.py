"""The audit: tables, findings against the truth, and nothing found in noise."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import (
    MIRTTransformer,
    ResponseData,
    audit_benchmarks,
    compare_runs,
    dimension_stability,
    null_control,
)
from sklearn_mirt.data.resampling import permuted_within_items, with_cells
from sklearn_mirt.datasets import make_benchmark_suite, make_responses
from sklearn_mirt.diagnostics.null_control import explained_shares
from sklearn_mirt.diagnostics.stability import item_halves

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


def test_real_dimensions_replicate_and_surplus_ones_do_not():
    data = make_responses(80, 600, 2, random_state=0)
    model = MIRTTransformer(3).fit(data.responses)
    table = dimension_stability(model, data.responses, n_starts=2, n_splits=2)
    assert table["replicates"].tolist() == [True, True, False]
    assert (table["halves"] <= table["ceiling"] + 0.02).all()


def test_halves_are_disjoint_and_balanced():
    groups = np.repeat(["a", "b"], [31, 20])
    X = make_responses(30, 51, 1, random_state=0).responses
    model = MIRTTransformer(1, item_groups=groups).fit(X)
    result = item_halves(model, X, n_splits=2)
    for first, second in result.halves:
        np.testing.assert_array_equal(np.sort(np.r_[first, second]), np.arange(51))
        assert abs((groups[first] == "a").sum() - (groups[second] == "a").sum()) <= 1
    assert result.abilities.shape == (2, 2, 30, 1)


def test_items_beat_the_null_when_there_is_ability_and_only_then():
    data = make_responses(60, 300, 2, random_state=0)
    model = MIRTTransformer(2).fit(data.responses)
    control = null_control(model, data.responses, n_repeats=3)
    assert control.share_of_items > 0.3
    assert control.null_share < 0.02
    noise = permuted_within_items(
        ResponseData.from_wide(data.responses), np.random.default_rng(5)
    )
    of_noise = null_control(MIRTTransformer(2).fit(noise), noise, n_repeats=3)
    assert of_noise.share_of_items < 0.02


@pytest.mark.parametrize("missing", [0.0, 0.9])
def test_explained_shares_are_those_of_least_squares(missing):
    rng = np.random.default_rng(0)
    X = (rng.random((40, 9)) < 0.5).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 0] = 1
    data = ResponseData.from_wide(X)
    if missing:
        data = with_cells(data, np.ones(data.n_observed, dtype=bool))
    theta = rng.standard_normal((40, 2))
    shares = explained_shares(data, theta)
    assert np.isnan(shares[0])
    for j in range(1, 9):
        seen = ~np.isnan(X[:, j])
        y = X[seen, j]
        if seen.sum() < 4 or np.ptp(y) == 0:
            assert np.isnan(shares[j])
            continue
        A = np.column_stack([np.ones(seen.sum()), theta[seen]])
        residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
        want = 1 - (residual**2).sum() / ((y - y.mean()) ** 2).sum()
        assert shares[j] == pytest.approx(want, abs=1e-5)


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
