"""Respondents in shards: from files to shards, and the fit streamed from disk."""

import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from shard_files import long_table, pa, pq, write_parts
from sklearn.exceptions import ConvergenceWarning

from sklearn_mirt import MIRTClassifier, MIRTTransformer, ResponseData, ShardedResponses
from sklearn_mirt.data.cells import DenseBlock, SparseBlock
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models import packing
from sklearn_mirt.models.item_design import make_design
from sklearn_mirt.models.priors import GroupPrior, ability_divergence
from sklearn_mirt.solvers.base import SolverResult
from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.kernels.cpu import CpuKernels
from sklearn_mirt.solvers.runners.threads import LocalRunner
from sklearn_mirt.solvers.variational import checkpoint
from sklearn_mirt.solvers.variational.by_items import ItemFit
from sklearn_mirt.solvers.variational.by_respondents import RespondentFit
from sklearn_mirt.solvers.variational.problem import Problem
from sklearn_mirt.solvers.variational.solver import VariationalSolver
from sklearn_mirt.solvers.variational.start import RASCH_PASSES


@pytest.fixture(scope="module")
def table():
    return long_table()


@pytest.fixture
def shards(table, tmp_path):
    source = write_parts(table, tmp_path / "parts")
    return ShardedResponses.from_parquet(source, tmp_path / "shards", n_shards=4)


def as_table(data):
    """Rows (respondent, item, score) of all shards, sorted."""
    rows = []
    for shard in data.shards:
        row, item, scores, _ = shard.load().cells()
        rows += zip(shard.ids()[row], data.items[item], scores, strict=True)
    return sorted((str(r), str(q), float(s)) for r, q, s in rows)


@pytest.mark.parametrize("density", ["dense", "sparse"])
def test_shards_hold_each_answer_once(table, tmp_path, density):
    if density == "sparse":
        table = table.iloc[:400]
    source = write_parts(table, tmp_path / "parts", row_group_size=100)
    data = ShardedResponses.from_parquet(source, tmp_path / "shards", n_shards=4)
    assert as_table(data) == sorted(table.itertuples(index=False, name=None))
    assert data.n_respondents == table.respondent.nunique()
    assert data.n_observed == len(table)
    by_item = table.groupby("item").score.agg(["count", "sum"])
    assert_array_equal(data.item_weight, by_item["count"])
    assert_allclose(data.item_score, by_item["sum"])


def test_shards_do_not_depend_on_the_files(table, tmp_path):
    one = write_parts(table, tmp_path / "one", 1)
    many = write_parts(table.sample(frac=1, random_state=1), tmp_path / "many", 7)
    a = ShardedResponses.from_parquet(one, tmp_path / "a", n_shards=3)
    b = ShardedResponses.from_parquet(many, tmp_path / "b", n_shards=3)
    for x, y in zip(a.shards, b.shards, strict=True):
        with np.load(x.path) as x, np.load(y.path) as y:
            for name in (*x, *y):
                assert_array_equal(x[name], y[name])


def test_ids_may_be_numbers_and_scores_fractions_with_weights(tmp_path):
    frame = pd.DataFrame(
        {
            "who": [7, 7, 3, 3, 5],
            "what": [1, 2, 1, 2, 1],
            "right": [0.5, 1, 0, np.nan, 1],
            "n": [2.0, 1, 1, 1, 0],
        }
    )
    source = write_parts(frame, tmp_path / "parts", 2)
    data = ShardedResponses.from_parquet(
        source,
        tmp_path / "shards",
        respondent="who",
        item="what",
        score="right",
        weight="n",
    )
    assert data.items.tolist() == [1, 2]
    assert (data.n_respondents, data.n_answered, data.n_observed) == (3, 2, 3)
    assert data.item_weight.tolist() == [3, 1]
    assert data.item_score.tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("guessing", [0.0, 0.1])
@pytest.mark.parametrize("missing, kind", [(0.1, DenseBlock), (0.9, SparseBlock)])
def test_a_shard_may_be_swept_in_blocks(tmp_path, monkeypatch, missing, kind, guessing):
    source = write_parts(long_table(160, 24, missing), tmp_path / "parts", 1)
    data = ShardedResponses.from_parquet(source, tmp_path / "shards", n_shards=1)
    blocks = data.shards[0].load().blocks(100)
    assert {type(block) for block in blocks} == {kind} and len(blocks) > 2
    mirt = MIRTTransformer(2, dtype="float64", guessing=guessing, max_iter=4, tol=0.0)
    whole = mirt.fit(data).lower_bounds_
    monkeypatch.setattr(CpuKernels, "block_cells", 100)
    assert_allclose(mirt.fit(data).lower_bounds_, whole, rtol=1e-12)


def _design(data):
    return make_design(data.items, None, None, False)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"guessing": 0.1}, {"positive_slopes": True}])
def test_the_optimum_is_that_of_the_table_in_memory(table, shards, options):
    mirt = MIRTTransformer(2, dtype="float64", tol=1e-8, max_iter=900, **options)
    mirt.fit(shards)
    wide = table.pivot(index="respondent", columns="item", values="score")
    whole = MIRTTransformer(
        2, dtype="float64", tol=1e-8, max_iter=900, solver="variational", **options
    ).fit(wide)
    assert_allclose(mirt.lower_bounds_[-1], whole.lower_bounds_[-1], atol=0.01)
    assert_allclose(
        mirt.inverse_transform(np.zeros((1, 2))),
        whole.inverse_transform(np.zeros((1, 2))),
        atol=5e-3,
    )
    assert (np.diff(mirt.lower_bounds_) > -1e-6).all()
    found, known = mirt.sharded_abilities_.find(wide.index)
    assert known.all()
    if not options:  # up to a rotation that near ties may turn
        assert_allclose(
            mirt.slopes_ @ found.mean.T, whole.slopes_ @ whole.abilities_.T, atol=0.05
        )


def test_the_bound_is_that_of_the_table_in_memory(shards, table):
    mirt = MIRTTransformer(2, dtype="float64", max_iter=3, rotation=None)
    with pytest.warns(ConvergenceWarning):
        mirt.fit(shards)
    data = ResponseData.from_wide(
        table.pivot(index="respondent", columns="item", values="score")
    )
    # the state of the fit of shards, its bound from the other code
    found, _ = mirt.sharded_abilities_.find(data.respondents)
    items, packed = mirt.item_parameters_, packing.pack(found.covariances)
    prior = GroupPrior(mirt.item_prior_means_, mirt.item_prior_covariances_)
    start = SolverResult(items, found, prior, np.empty(0), False)
    float64 = np.dtype(np.float64)
    settings = get_kernels(), LocalRunner(1), float64
    fit = ItemFit(Problem.of(data, _design(data), *settings))
    fit.begin(2, start)
    fit.state = replace(fit.state, divergence=0.0)
    divergence = prior.divergence(
        np.array([float(items.n_items)]),
        items.mean.sum(0)[None],
        packing.second_moments(items.mean, items.covariances).sum(0)[None],
        np.linalg.slogdet(items.covariances)[1].sum(),
    )
    divergence += ability_divergence(
        found.mean, packed, np.linalg.slogdet(found.covariances)[1]
    )
    bound = fit.evaluate() - divergence
    assert_allclose(mirt.lower_bounds_[-1], bound, rtol=1e-12)


def test_threads_and_files_change_no_byte(shards):
    one = MIRTTransformer(2, n_jobs=1).fit(shards)
    two = MIRTTransformer(2, n_jobs=2).fit(shards)
    assert one.slopes_.tobytes() == two.slopes_.tobytes()
    for k in range(4):
        a, b = one.sharded_abilities_[k], two.sharded_abilities_[k]
        assert a.mean.tobytes() == b.mean.tobytes()


def test_float32_is_close(shards):
    a = MIRTTransformer(2, dtype="float64").fit(shards)
    b = MIRTTransformer(2, dtype="float32").fit(shards)
    assert_allclose(a.lower_bounds_[-1], b.lower_bounds_[-1], rtol=1e-5)


def test_who_answered_nothing_keeps_the_prior(tmp_path):
    table = long_table(80, 10)
    table.loc[len(table)] = ["silent", "q00", np.nan]
    source = write_parts(table, tmp_path / "parts")
    data = ShardedResponses.from_parquet(source, tmp_path / "shards", n_shards=2)
    with pytest.warns(UserWarning, match="1 respondent.s. without answers"):
        mirt = MIRTTransformer(1).fit(data)
    found, known = mirt.sharded_abilities_.find(["silent", "nobody"])
    assert known.tolist() == [True, False]
    assert_array_equal(found.mean, 0.0)
    assert_allclose(found.covariances, 1.0)


def test_abilities_are_written_shard_by_shard(shards, tmp_path):
    mirt = MIRTClassifier(2).fit(shards)
    mirt.sharded_abilities_.to_parquet(tmp_path / "abilities")
    written = pd.read_parquet(tmp_path / "abilities").set_index("respondent")
    assert len(written) == shards.n_respondents
    found, _ = mirt.sharded_abilities_.find(written.index)
    assert_array_equal(written[["ability_1", "ability_2"]], found.mean)
    assert_array_equal(written["standard_error_2"], found.standard_errors[:, 1])
    with pytest.raises(FileExistsError):
        mirt.sharded_abilities_.to_parquet(tmp_path / "abilities")


def test_a_rotation_takes_the_abilities_along(shards):
    mirt = MIRTTransformer(2).fit(shards)
    turned = mirt.rotate("varimax")
    a, b = (m.sharded_abilities_.find(["r0001", "r0002"])[0] for m in (mirt, turned))
    assert not np.allclose(a.mean, b.mean)
    assert_allclose(a.mean @ mirt.slopes_.T, b.mean @ turned.slopes_.T, atol=1e-10)
    assert_allclose(b.prior_covariance, turned.ability_correlation_)
    assert ("respondents", "300") in turned._summary()


@pytest.mark.slow
def test_a_classifier_predicts_respondents_of_shards(table, shards):
    clf = MIRTClassifier(2, dtype="float64", tol=1e-9).fit(shards)
    whole = MIRTClassifier(2, dtype="float64", solver="variational", tol=1e-9)
    whole.fit(table[["respondent", "item"]], table["score"])
    X = table[["respondent", "item"]].iloc[:50]
    assert_allclose(clf.predict_proba(X), whole.predict_proba(X), atol=2e-3)
    new = [["nobody", "q01"], ["r0001", "q99"]]
    new = pd.DataFrame(new, columns=["respondent", "item"])
    assert_allclose(clf.predict_proba(new), whole.predict_proba(new), atol=2e-3)
    with pytest.raises(ValueError, match="'nobody' was not seen"):
        clf.set_params(handle_unknown="error").predict(new)


def test_memory_limits_threads_and_the_size_of_shards(shards, monkeypatch):
    from sklearn_mirt.data.shards.folder import ShardFile
    from sklearn_mirt.data.shards.long_table import number_of_shards
    from sklearn_mirt.data.shards.responses import bytes_of
    from sklearn_mirt.estimators.shards import most_threads

    assert bytes_of("2GB") == bytes_of(2e9) == bytes_of("2000 MB") == 2_000_000_000
    with pytest.raises(ValueError, match="such as '2GB', got 'much'"):
        bytes_of("much")
    assert [number_of_shards(n, 2 * 10**9) for n in (10, 10**7, 10**10)] == [
        1,
        64,
        2048,
    ]
    rows = 10**9 / number_of_shards(10**9, 10**8)
    assert 10**7 < rows * 64 < 10**8 / 4  # bytes to sort them
    monkeypatch.setattr(ShardFile, "size", lambda self: 10**8)
    few, many = (most_threads(_with(shards, memory), 2) for memory in ("1GB", "4GB"))
    assert 1 <= few < many < 20
    with pytest.raises(ValueError, match="max_memory of 400 MB is too little: 5.. MB"):
        MIRTTransformer(2).fit(_with(shards, "400MB"))


def _with(shards, memory):
    return ShardedResponses.open(shards.folder, max_memory=memory)


def test_a_full_disk_leaves_nothing(table, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    source = write_parts(table, tmp_path / "parts")
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        ShardedResponses.from_parquet(source, tmp_path / "shards")
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


# ------------------------------------------------------------------------ wide tables


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.3, 0.95])
def test_a_memory_map_is_read_by_runs_of_rows(tmp_path, monkeypatch, missing):
    from sklearn_mirt.data.shards import wide_table as wide_sharding

    wide = make_responses(200, 15, 1, missing=missing, random_state=0).responses
    np.save(tmp_path / "wide.npy", wide)
    monkeypatch.setattr(wide_sharding, "_RUN_CELLS", 15 * 64)
    X = np.load(tmp_path / "wide.npy", mmap_mode="r")
    data = ShardedResponses.from_wide(X, tmp_path / "shards")
    assert len(data.shards) == 4
    assert data.n_observed == np.count_nonzero(~np.isnan(wide))
    mirt = MIRTTransformer(1, dtype="float64", tol=1e-10).fit(data)
    with_all = ResponseData.from_wide(wide)
    result = VariationalSolver(500, 1e-10, "float64").solve(
        with_all, 1, _design(with_all)
    )
    assert_allclose(mirt.lower_bounds_[-1], result.trace[-1], atol=0.01)


def test_wide_parquet_files(tmp_path, table):
    wide = table.pivot(index="respondent", columns="item", values="score")
    source = write_parts(wide.reset_index(), tmp_path / "parts", 3)
    data = ShardedResponses.from_parquet(source, tmp_path / "shards", layout="wide")
    assert as_table(data) == sorted(table.itertuples(index=False, name=None))


def test_a_respondent_of_two_rows_is_named_with_its_files(tmp_path, table, monkeypatch):
    from sklearn_mirt.data.shards import wide_table as wide_sharding

    monkeypatch.setattr(wide_sharding, "SHARD_ROWS", 100)  # ids in several parts
    wide = table.pivot(index="respondent", columns="item", values="score").reset_index()
    wide.loc[270, "respondent"] = wide.loc[3, "respondent"]
    source = write_parts(wide, tmp_path / "parts", 3)
    places = r"row 3 of .*part-00.parquet, row 70 of .*part-02.parquet$"
    with pytest.raises(ValueError, match=rf"'r0003' has more than one row: {places}"):
        ShardedResponses.from_parquet(source, tmp_path / "shards", layout="wide")
    assert not (tmp_path / "shards").exists()


def test_what_is_of_long_tables_is_refused_for_wide_ones(tmp_path):
    with pytest.raises(ValueError, match="aggregate needs layout='long'"):
        ShardedResponses.from_parquet(
            tmp_path, tmp_path / "s", layout="wide", aggregate="mean"
        )


def test_a_bad_score_of_a_wide_table_is_named(tmp_path):
    wide = np.zeros((6, 3))
    wide[4, 1] = 2
    with pytest.raises(ValueError, match=r"row 4 \(item 1\) is 2; scores must lie"):
        ShardedResponses.from_wide(wide, tmp_path / "shards")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------- bad files


def refused(source, tmp_path, **options):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError) as caught:
        ShardedResponses.from_parquet(source, tmp_path / "shards", **options)
    assert sorted(tmp_path.rglob("*")) == before  # nothing half-written
    return str(caught.value)


def test_one_corrupt_file_among_100_is_named(table, tmp_path):
    source = write_parts(table, tmp_path / "parts", 100)
    (source / "part-57.parquet").write_bytes(b"PAR1 this is no Parquet file PAR1")
    message = refused(source, tmp_path)
    assert "part-57.parquet is no Parquet file" in message
    assert message.count(".parquet") == 1


def test_a_corrupt_page_is_named(table, tmp_path):
    source = write_parts(table, tmp_path / "parts", 5, compression="snappy")
    path = source / "part-03.parquet"
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    assert "part-03.parquet cannot be read" in refused(source, tmp_path)


def test_one_file_with_other_columns_is_named(table, tmp_path):
    source = write_parts(table, tmp_path / "parts", 100)
    other = pa.table({"student": ["r1"], "item": ["q1"], "score": [1.0]})
    pq.write_table(other, source / "part-08.parquet")
    message = refused(source, tmp_path)
    assert "part-08.parquet has no column 'respondent'" in message
    assert "student" in message


def test_scores_of_2_in_row_7_of_file_31(table, tmp_path):
    source = write_parts(table, tmp_path / "parts", 100, row_group_size=5)
    part = pd.read_parquet(source / "part-31.parquet")
    part.loc[7, "score"] = 2
    table = pa.Table.from_pandas(part, preserve_index=False)
    pq.write_table(table, source / "part-31.parquet", row_group_size=5)
    message = refused(source, tmp_path)
    assert "row 7 of " in message and "part-31.parquet" in message
    assert f"respondent {part.respondent[7]!r}, item {part.item[7]!r}" in message
    assert "is 2; scores must lie in [0, 1]" in message


def test_an_item_that_is_not_known_is_named_with_its_row(table, tmp_path):
    source = write_parts(table, tmp_path / "parts", 2)
    known = sorted(set(table.item) - {"q05"})
    k = int(np.argmax(table.item == "q05"))
    message = refused(source, tmp_path, items=known)
    assert f"The item 'q05' in row {k} of " in message
    assert "part-00.parquet is none of the 23 known items" in message


def test_a_repeated_answer_is_named_with_both_rows(table, tmp_path):
    table = pd.concat([table, table.iloc[[3]]], ignore_index=True)
    source = write_parts(table, tmp_path / "parts", 2)
    who, what = table.respondent[3], table.item[3]
    message = refused(source, tmp_path, n_shards=4)
    assert f"Respondent {who!r} has more than one answer to item {what!r}" in message
    assert "row 3 of " in message and "part-01.parquet" in message
    data = ShardedResponses.from_parquet(
        source, tmp_path / "shards", aggregate="mean", n_shards=4
    )
    assert data.n_observed == len(table) - 1


def test_a_missing_id_is_named_with_its_row(table, tmp_path):
    table = table.copy()
    table.loc[11, "respondent"] = None
    source = write_parts(table, tmp_path / "parts", 1)
    assert "respondent id is missing in row 11 of" in refused(source, tmp_path)


def test_a_folder_without_files_or_shards(tmp_path):
    assert "ends in .parquet" in refused(tmp_path, tmp_path)
    with pytest.raises(ValueError, match="holds no shards"):
        ShardedResponses.open(tmp_path)


def test_shards_are_opened_again_but_not_overwritten(table, shards, tmp_path):
    again = ShardedResponses.open(tmp_path / "shards")
    assert repr(again) == repr(shards)
    with pytest.raises(FileExistsError, match="is there already"):
        ShardedResponses.from_parquet(tmp_path / "parts", tmp_path / "shards")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"solver": "quadrature"}, "solver='quadrature'"),
        ({"n_dims": "auto"}, "need a number for n_dims"),
        ({"item_model": "3pl"}, "item_model='3pl'"),
        ({"device": "cuda"}, "device='cuda'"),
    ],
)
def test_what_shards_are_not_fitted_with(shards, options, message):
    with pytest.raises(ValueError, match=message):
        MIRTTransformer(**options).fit(shards)


def test_a_checkpoint_needs_shards(tmp_path):
    with pytest.raises(ValueError, match="checkpoint_dir needs answers in shards"):
        MIRTTransformer(1, checkpoint_dir=tmp_path).fit([[0, 1], [1, 0], [1, 1]])


# ------------------------------------------------------------------------ checkpoints


class _KilledError(Exception):
    pass


def _killed_in_pass(monkeypatch, n, error=_KilledError):
    """Let the n-th pass after those of the start fail half way."""
    n = n + RASCH_PASSES
    passes = iter(range(n + 1))
    original = RespondentFit.pass_

    def fails(self, learn_prior):
        if next(passes) == n - 1:
            if error is KeyboardInterrupt:
                signal.raise_signal(signal.SIGINT)
            raise error
        return original(self, learn_prior)

    monkeypatch.setattr(RespondentFit, "pass_", fails)


@pytest.mark.slow
@pytest.mark.parametrize(
    "n, error", [(2, _KilledError), (7, KeyboardInterrupt), (9, _KilledError)]
)
def test_a_fit_goes_on_from_its_checkpoint(shards, tmp_path, monkeypatch, n, error):
    options = {"n_dims": 2, "tol": 1e-9, "checkpoint_dir": tmp_path / "saved"}
    monkeypatch.setattr(VariationalSolver, "_plain_passes", lambda self, data: 5)
    whole = MIRTTransformer(2, tol=1e-9).fit(shards)
    assert whole.n_iter_ > 10
    seconds = 0.0 if error is _KilledError else 1e9  # an interrupt saves by itself
    monkeypatch.setattr(checkpoint, "SECONDS", seconds)
    with monkeypatch.context() as patch:
        _killed_in_pass(patch, n, error)
        with pytest.raises(error) as caught:
            MIRTTransformer(**options).fit(shards)
    assert "warm_start=True" in caught.value.__notes__[0]
    resumed = MIRTTransformer(**options, warm_start=True).fit(shards)
    assert resumed.slopes_.tobytes() == whole.slopes_.tobytes()
    assert_array_equal(resumed.lower_bounds_, whole.lower_bounds_)
    for k in range(4):
        a, b = resumed.sharded_abilities_[k], whole.sharded_abilities_[k]
        assert a.covariances.tobytes() == b.covariances.tobytes()
    folders = [p for p in (tmp_path / "saved").iterdir() if p.is_dir()]
    assert len(folders) <= 3  # the current state, the one before, one before a jump


def test_a_checkpoint_of_another_fit_is_refused(shards, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    MIRTTransformer(1, checkpoint_dir=tmp_path / "saved").fit(shards)
    other = MIRTTransformer(2, checkpoint_dir=tmp_path / "saved", warm_start=True)
    with pytest.raises(ValueError, match="is of another fit"):
        other.fit(shards)
