"""Fits in threads and processes, interrupted and killed."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from joblib import parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy.testing import assert_array_equal
from response_tables import long
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklearn_mirt import MIRTClassifier, MIRTTransformer
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.estimators.callbacks import PassReporter

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_fits_run_side_by_side(table, backend):
    """Threads within threads or processes neither abort nor hang."""
    X, y = long(table)
    clf = MIRTClassifier(1, max_iter=5, n_jobs=2)
    alone = cross_val_score(clf, X, y, cv=2)
    with parallel_config(backend, n_jobs=2):
        assert_array_equal(cross_val_score(clf, X, y, cv=2), alone)


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork here"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fit_in_a_forked_process_after_a_fit_does_not_hang(table):
    """A forked process has no threads of its parent."""
    context = multiprocessing.get_context("fork")
    MIRTTransformer(1, n_jobs=2, max_iter=5).fit(table)
    child = context.Process(target=_fit_in_child, args=(table,))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def _fit_in_child(table):
    MIRTTransformer(1, n_jobs=2, max_iter=5).fit(table)


def test_the_result_is_the_same_for_any_number_of_threads():
    """Sums are added in a fixed order."""
    X = make_responses(80, 3000, 2, random_state=0).responses
    one, four = (MIRTTransformer(n_jobs=n, max_iter=6).fit(X) for n in (1, 4))
    assert_array_equal(one.slopes_, four.slopes_)
    assert_array_equal(one.lower_bounds_, four.lower_bounds_)


class Killed(MIRTTransformer):
    """Ends the process it is fitted in, as a machine without memory does."""

    def fit(self, X, y=None):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_workers_of_a_grid_search_are_a_clear_error():
    X = make_responses(8, 6, 1, random_state=0).responses
    search = GridSearchCV(Killed(), {"n_dims": [1]}, cv=2)
    with (
        parallel_config("loky", n_jobs=2),
        pytest.raises(TerminatedWorkerError, match="unexpectedly terminated"),
    ):
        search.fit(X)
    assert not hasattr(search, "best_estimator_")


@pytest.fixture
def interruptible():
    """The signal is ignored where tests run in the background of a shell."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("solver", ["variational", "quadrature"])
def test_an_interrupted_fit_leaves_everything_usable(solver, monkeypatch):
    """The signal comes after the second pass, while the threads of the fit are up."""
    X = make_responses(30, 12, 2, random_state=0).responses
    small = MIRTTransformer(1, solver=solver, max_iter=3)
    before = small.fit(X).slopes_
    threads = set(threading.enumerate())
    report = PassReporter.__call__

    def interrupted(self, n_iter, *bound):
        report(self, n_iter, *bound)
        if n_iter == 2:
            signal.raise_signal(signal.SIGINT)

    mirt = MIRTTransformer(solver=solver, tol=0.0, n_jobs=2)
    with monkeypatch.context() as patch:
        patch.setattr(PassReporter, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mirt.fit(X)
    assert not hasattr(mirt, "slopes_")
    assert set(threading.enumerate()) <= threads  # those of the fit have ended
    assert_array_equal(small.fit(X).slopes_, before)


def test_threads_may_fit_at_once():
    tables = [make_responses(30, 20, 2, random_state=k).responses for k in range(4)]

    def slopes(X):
        return MIRTTransformer(max_iter=10, n_jobs=2).fit(X).slopes_

    alone = [slopes(X) for X in tables]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(slopes, tables))
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one, other)


def test_one_estimator_may_transform_in_many_threads():
    X = make_responses(40, 20, 2, random_state=0).responses
    mirt = MIRTTransformer(max_iter=10).fit(X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(mirt.transform, [X] * 8):
            assert_array_equal(found, mirt.transform(X))


@pytest.mark.slow
def test_a_spawned_process_gives_the_same_bytes():
    X = make_responses(30, 40, 2, random_state=0).responses
    X.setflags(write=False)
    mirt = MIRTTransformer(max_iter=10)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        other = pool.apply(mirt.fit, (X,))
    mirt.fit(X)
    for name in ("slopes_", "intercepts_", "abilities_", "item_covariances_"):
        assert getattr(mirt, name).tobytes() == getattr(other, name).tobytes(), name
