"""What the machine does to a program: interrupts it, kills it, has no room for it."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV

import sklearn_mirt
from sklearn_mirt import (
    ItemBank,
    ItemParameters,
    MIRTTransformer,
    load_item_bank,
    save_item_bank,
)
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.estimators.callbacks import PassReporter

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::sklearn_mirt.exceptions.ResponseDataWarning",
)
PACKAGE = Path(sklearn_mirt.__file__).parent
FIT = """
    import numpy as np
    from sklearn_mirt import MIRTTransformer
    mirt = MIRTTransformer(1, max_iter=3).fit(np.tri(6))
    assert np.isfinite(mirt.abilities_).all()
    print("fitted")
"""

# larger files are refused with an OSError, or end the process by SIGXFSZ
LIMITED = """
import resource, signal
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
"""
limits = pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limits here")


def python(code, **environment):
    """Run code in a new interpreter; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        **_options(environment),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def python_with_mounts(mounts, code, **environment):
    """Run code where file systems are mounted that nobody else sees."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here: file systems cannot be mounted for a test")
    unshare = ["unshare", "--mount"]
    if os.geteuid() != 0:  # root of a name space of its own
        unshare += ["--user", "--map-root-user"]
    probe = subprocess.run(
        [*unshare, "sh", "-c", mounts], capture_output=True, check=False
    )
    if probe.returncode:
        pytest.skip(f"mounting is not permitted here: {probe.stderr.decode().strip()}")
    command = f'{mounts} && exec "$0" -W ignore -c "$1"'
    done = subprocess.run(
        [*unshare, "sh", "-c", command, sys.executable, textwrap.dedent(code)],
        **_options(environment),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _options(environment):
    return {
        "capture_output": True,
        "text": True,
        "timeout": 300,
        "check": False,
        "env": {**os.environ, **environment},
    }


def a_bank(n_items, intercept=0.0):
    return ItemBank.from_items(
        ItemParameters(
            np.random.default_rng(0).normal(size=(n_items, 1)),
            np.full(n_items, intercept),
            np.zeros(n_items),
            np.zeros((n_items, 2, 2)),
            np.array([f"q{j}" for j in range(n_items)], dtype=object),
        )
    )


# -------------------------------------------------------- no place, no room, no home


def test_a_fit_needs_no_home_and_no_place_to_write():
    """The package lies on a read-only file system; only then can root not write."""
    where = f'"{PACKAGE}"'
    mounts = f"mount --bind {where} {where} && mount -o remount,ro,bind {where}"
    code = f"""
        import os
        try:
            open({str(PACKAGE / "written")!r}, "w")
        except OSError:
            pass
        else:
            raise SystemExit("the package can be written to")
    """
    out = python_with_mounts(
        mounts,
        textwrap.dedent(code) + textwrap.dedent(FIT),
        HOME="/nonexistent",
        NUMBA_CACHE_DIR="",
        XDG_CACHE_HOME="/nonexistent",
    )
    assert out == "fitted\n"


def test_a_cache_folder_that_is_a_file_is_no_reason_to_fail(tmp_path):
    (tmp_path / "file").write_text("")
    assert python(FIT, NUMBA_CACHE_DIR=str(tmp_path / "file")) == "fitted\n"


def test_a_full_disk_under_the_cache_is_no_reason_to_fail(tmp_path):
    """It once ended the fit with "No space left on device"."""
    mounts = f"mount -t tmpfs -o size=64k tmpfs {tmp_path}"
    out = python_with_mounts(mounts, FIT, NUMBA_CACHE_DIR=str(tmp_path))
    assert out == "fitted\n"


@limits
def test_no_room_for_the_cache_is_no_reason_to_fail(tmp_path):
    """The same for everybody who may not mount: files may have 1 kB at most."""
    code = LIMITED.format(size=1000) + textwrap.dedent(FIT)
    assert python(code, NUMBA_CACHE_DIR=str(tmp_path)) == "fitted\n"
    assert not list(tmp_path.rglob("*.nb?"))


@pytest.mark.parametrize("name", ["bank.json", "bank.parquet"])
def test_a_full_disk_leaves_the_old_item_bank_whole(tmp_path, name):
    path = tmp_path / name
    code = f"""
        import errno, os, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_faults import a_bank
        from sklearn_mirt import load_item_bank, save_item_bank
        save_item_bank(a_bank(3), {str(path)!r})
        try:
            save_item_bank(a_bank(20_000), {str(path)!r}, force=True)
        except OSError as error:
            assert error.errno == errno.ENOSPC or "space" in str(error), error
        else:
            raise SystemExit("there was room")
        kept = load_item_bank({str(path)!r}).items.n_items
        print(kept, os.listdir({str(tmp_path)!r}))
    """
    mounts = f"mount -t tmpfs -o size=64k tmpfs {tmp_path}"
    assert python_with_mounts(mounts, code) == f"3 ['{name}']\n"


@limits
@pytest.mark.parametrize("name", ["bank.json", "bank.parquet"])
@pytest.mark.parametrize("killed", [False, True])
def test_no_room_in_the_middle_of_an_item_bank_leaves_the_old_one(
    tmp_path, name, killed
):
    """At byte 8,000 the system refuses to write, or kills who writes."""
    path = tmp_path / name
    save_item_bank(a_bank(3), path)
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_faults import a_bank
from sklearn_mirt import save_item_bank
if {killed}:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
save_item_bank(a_bank(20_000), {str(path)!r}, force=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(size=8000) + code], **_options({})
    )
    if killed:
        assert done.returncode == -signal.SIGXFSZ
        cut = [p.stat().st_size for p in tmp_path.iterdir() if p != path]
        assert len(cut) == 1 and cut[0] > 0  # it was in the middle
    else:
        assert "File too large" in done.stderr
        assert os.listdir(tmp_path) == [name]
    assert load_item_bank(path).items.n_items == 3


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_device_is_not_replaced_by_a_file():
    for force in (False, True):
        with pytest.raises(FileExistsError, match="device or a pipe"):
            save_item_bank(a_bank(1), "/dev/full", force=force)
    assert not os.path.isfile("/dev/full")


def test_a_file_that_cannot_be_made_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        save_item_bank(a_bank(1), tmp_path / "none" / "bank.json")


# -------------------------------------------------------------------- killed, stopped


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_while_writing_an_item_bank_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "bank.json"
    code = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_faults import a_bank
        from sklearn_mirt import save_item_bank
        banks = [a_bank(300, float(k)) for k in range(2)]
        save_item_bank(banks[0], {str(path)!r})
        print("ready", flush=True)
        while True:
            for bank in banks:
                save_item_bank(bank, {str(path)!r}, force=True)
    """
    for wait in (0.02, 0.05):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout.readline() == "ready\n"
            threading.Event().wait(wait)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        bank = load_item_bank(path)
        assert bank.items.n_items == 300
        assert set(bank.items.intercepts) in ({0.0}, {1.0})
        path.unlink()


class Killed(MIRTTransformer):
    """Ends the process it is fitted in, as a machine without memory does."""

    def fit(self, X, y=None):
        os.kill(os.getpid(), signal.SIGKILL)


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
    assert threading.active_count() <= 3  # the pool's threads end with the fit
    assert_array_equal(small.fit(X).slopes_, before)


# ------------------------------------------------------------------- many at one time


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


def test_a_spawned_process_gives_the_same_bytes():
    X = make_responses(30, 40, 2, random_state=0).responses
    X.setflags(write=False)
    mirt = MIRTTransformer(max_iter=10)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        other = pool.apply(mirt.fit, (X,))
    mirt.fit(X)
    for name in ("slopes_", "intercepts_", "abilities_", "item_covariances_"):
        assert getattr(mirt, name).tobytes() == getattr(other, name).tobytes(), name
