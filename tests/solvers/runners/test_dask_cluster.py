"""The same fits over two worker processes of a Dask cluster, to the last bit."""

import os
import signal
from contextlib import contextmanager, suppress
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from shard_files import long_table, write_parts
from sklearn.model_selection import GridSearchCV

from sklearn_mirt import (
    MIRTClassifier,
    MIRTTransformer,
    ShardedResponses,
    bootstrap,
)
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models.item_design import make_design
from sklearn_mirt.solvers.kernels.respondent_blocks import sweep_respondents
from sklearn_mirt.solvers.runners.threads import LocalRunner
from sklearn_mirt.solvers.variational import checkpoint
from sklearn_mirt.solvers.variational.by_respondents import RespondentFit
from sklearn_mirt.solvers.variational.shards import ShardedSolver
from sklearn_mirt.solvers.variational.start import RASCH_PASSES

DaskRunner = pytest.importorskip("sklearn_mirt.solvers.runners.dask_cluster").DaskRunner
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

OPTIONS = {"n_dims": 2, "max_iter": 4, "tol": 0}
# each test starts a cluster
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The fit stopped after"),
]


@contextmanager
def _cluster(n_workers=2):
    settings = {"distributed.worker.profile.enabled": False}
    with dask.config.set(settings):
        with distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def cluster():
    with _cluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def _folder(tmp_path_factory, missing, n_shards):
    folder = tmp_path_factory.mktemp("dask")
    source = write_parts(long_table(missing=missing), folder / "parts")
    ShardedResponses.from_parquet(source, folder / "shards", n_shards=n_shards)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of sparse shards."""
    return _folder(tmp_path_factory, 0.9, 4)


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """A folder of dense shards, more than there are runs of them."""
    return _folder(tmp_path_factory, 0.4, 17)


def contents(mirt):
    """All bytes of a fit to shards."""
    abilities = mirt.sharded_abilities_
    parts = [mirt.slopes_, mirt.intercepts_, mirt.item_covariances_]
    parts += [mirt.lower_bounds_, mirt.item_prior_means_]
    for k in range(len(abilities)):
        parts += [abilities[k].mean, abilities[k].covariances]
    return b"".join(part.tobytes() for part in parts)


@pytest.fixture(scope="module")
def streamed(folder):
    """The fit without a cluster."""
    return contents(_fit(folder))


def _fit(folder, **options):
    return MIRTTransformer(**OPTIONS | options).fit(_open(folder))


def _open(folder):
    return ShardedResponses.open(folder / "shards")


@pytest.mark.parametrize("kind", ["dense", "folder"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_cluster_gives_the_bytes_of_one_process(kind, cluster, dtype, request):
    folder = request.getfixturevalue(kind)
    alone = contents(_fit(folder, dtype=dtype))
    with distributed.Client(cluster):
        assert contents(_fit(folder, dtype=dtype)) == alone


def test_bytes_do_not_depend_on_the_number_of_workers(dense):
    alone = contents(_fit(dense))
    with _cluster(5) as cluster, distributed.Client(cluster):
        assert contents(_fit(dense)) == alone


def test_shards_of_a_cluster_are_those_of_one_process(folder, client, tmp_path):
    data = ShardedResponses.from_parquet(folder / "parts", tmp_path / "s", n_shards=4)
    for a, b in zip(data.shards, _open(folder).shards, strict=True):
        with np.load(a.path) as a, np.load(b.path) as b:
            assert all(a[name].tobytes() == b[name].tobytes() for name in (*a, *b))


def test_what_travels_does_not_grow_with_respondents(client, tmp_path):
    moved = []
    for n in (200, 600):
        table = long_table(n, 20)
        source = write_parts(table, tmp_path / f"parts{n}")
        data = ShardedResponses.from_parquet(source, tmp_path / f"s{n}", n_shards=16)
        runner = DaskRunner(client)
        solver = ShardedSolver(runner, 2, 0.0, "float64")
        solver.solve(data, 2, _design(data))
        moved.append((runner.bytes_sent, runner.bytes_received))
    assert moved[0] == moved[1]
    # start, 2 passes, the last bound: sums of 16 runs of (J, 6) and (J, 3), 9 numbers
    passes = 4 * 16 * 8 * (20 * 9 + 9)
    start = 5 * 16 * 8 * 20 * 10  # 4 iterations and one more, of 10 vectors
    # the Rasch fit before it: one dimension, start and passes
    rasch = (1 + RASCH_PASSES) * 16 * 8 * (20 * 5 + 5)
    assert_allclose(moved[0][1], rasch + passes + start, rtol=0.02)


def _design(data):
    return make_design(data.items, None, None, False)


# ------------------------------------------------------------------------------ faults


@pytest.mark.parametrize("n_killed", [1, 2])
@pytest.mark.timeout(90)  # a cluster that waits for ever would wait here for ever
def test_workers_killed_in_the_third_pass_change_no_byte(
    n_killed, folder, streamed, tmp_path, monkeypatch
):
    original, passes = RespondentFit._sweep, []
    late = 3 + RASCH_PASSES  # those of the start come first

    def deadly(function):
        def run(block, *task):  # on a worker, in the middle of the pass
            for k in range(n_killed):
                with suppress(FileExistsError):
                    (tmp_path / f"{k}").touch(exist_ok=False)
                    os.kill(os.getpid(), signal.SIGKILL)
            return function(block, *task)

        return run

    def sweep(self, function, *args):
        if function is sweep_respondents:
            passes.append(function)
            function = deadly(function) if len(passes) == late else function
        return original(self, function, *args)

    monkeypatch.setattr(RespondentFit, "_sweep", sweep)
    with _cluster() as cluster, distributed.Client(cluster):
        assert contents(_fit(folder)) == streamed
    assert len(list(tmp_path.iterdir())) == n_killed


def test_a_client_that_was_lost_goes_on_from_the_checkpoint(
    folder, streamed, cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    original, seen = RespondentFit.pass_, []

    def lost(self, learn_prior):
        seen.append(1)
        if len(seen) == 3 + RASCH_PASSES:
            raise ConnectionError("lost")
        return original(self, learn_prior)

    saved = tmp_path / "saved"
    with monkeypatch.context() as patch, distributed.Client(cluster):
        patch.setattr(RespondentFit, "pass_", lost)
        with pytest.raises(ConnectionError):
            _fit(folder, checkpoint_dir=saved)
    with distributed.Client(cluster):
        again = _fit(folder, checkpoint_dir=saved, warm_start=True)
        assert contents(again) == streamed


# ------------------------------------------------------------------------- collections


def test_a_dask_array(client):
    X = make_responses(120, 20, 2, missing=0.3, random_state=0).responses
    chunks = da.from_array(X, chunks=(50, 8))
    mirt = MIRTTransformer(**OPTIONS, dtype="float64").fit(chunks)
    assert len(mirt.sharded_abilities_) == 3
    lazy = mirt.transform(chunks)
    assert lazy.chunks == ((50, 50, 20), (2,))
    assert_allclose(lazy.compute(), mirt.transform(X), atol=1e-12)
    assert_allclose(
        mirt.score_samples(chunks).compute(), mirt.score_samples(X), rtol=1e-12
    )
    assert_allclose(mirt.score(chunks), mirt.score(X), rtol=1e-12)
    assert mirt.expected_scores(chunks).shape == (120, 20)


def test_a_dask_array_without_a_cluster():
    X = make_responses(120, 20, 2, missing=0.3, random_state=0).responses
    mirt = MIRTTransformer(**OPTIONS).fit(da.from_array(X, chunks=(50, 20)))
    whole = MIRTTransformer(**OPTIONS).fit(da.from_array(X, chunks=120))
    assert_allclose(mirt.lower_bounds_, whole.lower_bounds_, rtol=1e-6)


def test_a_dask_array_of_many_items(client):
    X = make_responses(30, 300, 2, missing=0.3, random_state=0).responses
    over = MIRTTransformer(**OPTIONS).fit(da.from_array(X, chunks=(20, 70)))
    alone = MIRTTransformer(**OPTIONS).fit(X)
    assert over.slopes_.tobytes() == alone.slopes_.tobytes()
    assert_array_equal(over.abilities_, alone.abilities_)


def test_a_wide_dask_frame(client):
    X = make_responses(120, 20, 2, missing=0.3, as_frame=True, random_state=0)
    X = X.responses
    frame = dd.from_pandas(X, npartitions=3)
    mirt = MIRTTransformer(**OPTIONS).fit(frame)
    assert mirt.feature_names_in_.tolist() == X.columns.tolist()
    assert mirt.items_.tolist() == X.columns.tolist()
    lazy = mirt.transform(frame)
    assert lazy.npartitions == 3
    assert_allclose(lazy.compute(), mirt.transform(X), atol=1e-12)
    assert_allclose(mirt.score(frame), mirt.score(X), rtol=1e-12)


def test_a_bad_score_of_a_dask_array(client):
    X = np.zeros((120, 20))
    X[70, 3] = -1
    with pytest.raises(ValueError, match=r"row 70 \(item 3\) is -1; scores must"):
        MIRTTransformer(1).fit(da.from_array(X, chunks=(50, 20)))


def test_a_long_dask_frame(client, tmp_path):
    table = long_table()
    frame = dd.from_pandas(table, npartitions=4, sort=False)
    X, y = frame[["respondent", "item"]], frame["score"]
    clf = MIRTClassifier(**OPTIONS).fit(X, y)
    lazy = clf.predict_proba(X)
    assert lazy.npartitions == 4
    pandas_X = table[["respondent", "item"]]
    assert_allclose(lazy.compute(), clf.predict_proba(pandas_X), atol=1e-12)
    assert_array_equal(clf.predict(X).compute(), clf.predict(pandas_X))
    assert_allclose(clf.score(X, y), clf.score(pandas_X, table["score"]))
    written = clf.sharded_abilities_.to_dask()
    assert written.npartitions == len(clf.sharded_abilities_)
    assert len(written) == table.respondent.nunique()


def test_bad_answers_of_a_dask_frame(client):
    table = long_table()
    table.loc[table.index[-2], "score"] = 3.0
    frame = dd.from_pandas(table, npartitions=4, sort=False)
    rows = len(frame.partitions[3])
    wish = f"row {rows - 2} of partition 3 .* is 3; scores must lie"
    with pytest.raises(ValueError, match=wish):
        MIRTClassifier(1).fit(frame[["respondent", "item"]], frame["score"])
    table["score"] = 1.0
    table = pd.concat([table, table.iloc[:1]])
    frame = dd.from_pandas(table, npartitions=4, sort=False)
    with pytest.raises(ValueError, match="row 0 of partition 0, row .* of partition 3"):
        MIRTClassifier(1).fit(frame[["respondent", "item"]], frame["score"])


def test_one_corrupt_file_is_named_over_a_cluster(client, tmp_path):
    source = write_parts(long_table(), tmp_path / "parts", 5, compression="snappy")
    path = source / "part-03.parquet"
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="part-03.parquet cannot be read"):
        ShardedResponses.from_parquet(source, tmp_path / "shards")
    assert [p.name for p in tmp_path.iterdir()] == ["parts"]


# ---------------------------------------------------------------- joblib's backend


def test_a_grid_search_runs_on_the_workers(client):
    X = make_responses(60, 20, 2, missing=0.3, random_state=0).responses
    search = GridSearchCV(MIRTTransformer(max_iter=5), {"n_dims": [1, 2]}, cv=2)
    alone = search.fit(X).cv_results_["mean_test_score"]
    with joblib.parallel_config(backend="dask"):
        over = search.fit(X).cv_results_["mean_test_score"]
    assert_array_equal(over, alone)


def test_a_bootstrap_runs_on_the_workers(client):
    X = make_responses(60, 20, 1, n_groups=2, as_frame=True, random_state=0)
    mirt = MIRTTransformer(1, item_groups=X.item_groups, max_iter=5).fit(X.responses)
    draw = partial(bootstrap, mirt, X.responses, n_replicates=4, random_state=0)
    alone = draw()
    with joblib.parallel_config(backend="dask"):
        over = draw()
    assert_array_equal(over.correlations, alone.correlations)


def _threads_of_a_fit():
    return os.getpid(), LocalRunner(None).n_jobs


def test_workers_are_not_oversubscribed(client):
    with joblib.parallel_config(backend="dask"):
        assert LocalRunner(None).n_jobs == 1
        calls = [joblib.delayed(_threads_of_a_fit)() for _ in range(4)]
        told = joblib.Parallel()(calls)
    assert {n for _, n in told} == {1}
    assert os.getpid() not in {pid for pid, _ in told}
