"""The cache of compiled kernels, and machines without a place for it."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest
from interpreters import LIMITED, limits, python, python_with_mounts

import sklearn_mirt
from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.solvers.kernels import compiling, elementwise

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
PACKAGE = Path(sklearn_mirt.__file__).parent
FIT = """
    import numpy as np
    from sklearn_mirt import MIRTTransformer
    mirt = MIRTTransformer(1, max_iter=3).fit(np.tri(6))
    assert np.isfinite(mirt.abilities_).all()
    print("fitted")
"""


@pytest.fixture(scope="module")
def table():
    return make_responses(30, 60, 2, random_state=0).responses


def test_no_place_for_the_compiled_code_is_no_reason_to_fail(monkeypatch):
    """Containers often have no writable folder for the cache of numba."""
    njit = compiling.numba.njit

    def without_cache(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    monkeypatch.setattr(compiling.numba, "njit", without_cache)
    double = compiling.jit(_double)
    assert double(21) == 42


def _double(x):
    return 2 * x


class _FrozenCache:
    __slots__ = ()

    def save_overload(self, *args):
        raise OSError


@pytest.mark.parametrize("cache", [None, object(), _FrozenCache()])
def test_a_numba_with_another_cache_is_left_as_it_is(cache):
    compiled = SimpleNamespace(_cache=cache)
    compiling._tolerate_full_disk(compiled)
    compiling._tolerate_full_disk(object())
    assert compiled._cache is cache


def test_a_full_disk_is_tolerated():
    def full(*args):
        raise OSError("No space left on device")

    compiled = SimpleNamespace(_cache=SimpleNamespace(save_overload=full))
    compiling._tolerate_full_disk(compiled)
    assert compiled._cache.save_overload(1, 2) is None


def test_the_cache_of_this_numba_is_the_one_that_is_guarded():
    save = compiling.jit(_double)._cache.save_overload
    assert save.__name__ == "save_if_possible"


def test_a_second_fit_compiles_nothing(table):
    """Whatever the data type, size and number of dimensions."""
    kernels = [f for f in vars(elementwise).values() if hasattr(f, "signatures")]
    assert len(kernels) > 5
    for dtype in ("float32", "float64"):
        MIRTTransformer(dtype=dtype, max_iter=3).fit(table)
    compiled = [len(f.signatures) for f in kernels]
    for d, n in ((1, 20), (3, 25)):
        for dtype in ("float32", "float64"):
            mirt = MIRTTransformer(d, dtype=dtype, max_iter=3).fit(table[:n])
            mirt.transform(table)
    assert [len(f.signatures) for f in kernels] == compiled


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    """It finds the compiled kernels in the cache."""
    code = """if True:
        import numpy as np
        from sklearn_mirt import MIRTTransformer
        from sklearn_mirt.solvers.kernels import elementwise, gaussian_solves

        mirt = MIRTTransformer(1, max_iter=3).fit(np.tri(6))
        functions = {**vars(elementwise), **vars(gaussian_solves)}.values()
        stats = [f.stats for f in functions if hasattr(f, "stats")]
        hits, misses = (
            sum(sum(getattr(s, name).values()) for s in stats)
            for name in ("cache_hits", "cache_misses")
        )
        print(hits, misses)
    """
    run = [sys.executable, "-W", "ignore", "-c", code]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    hits, compiled = map(int, first.stdout.split())
    assert hits == 0 and compiled > 3
    hits, compiled = map(int, second.stdout.split())
    assert hits > 3 and compiled == 0


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_cache_folder_that_is_a_file_is_no_reason_to_fail(tmp_path):
    (tmp_path / "file").write_text("")
    assert python(FIT, NUMBA_CACHE_DIR=str(tmp_path / "file")) == "fitted\n"


@pytest.mark.slow
def test_a_full_disk_under_the_cache_is_no_reason_to_fail(tmp_path):
    """It once ended the fit with "No space left on device"."""
    mounts = f"mount -t tmpfs -o size=64k tmpfs {tmp_path}"
    out = python_with_mounts(mounts, FIT, NUMBA_CACHE_DIR=str(tmp_path))
    assert out == "fitted\n"


@pytest.mark.slow
@limits
def test_no_room_for_the_cache_is_no_reason_to_fail(tmp_path):
    """The same for everybody who may not mount: files may have 1 kB at most."""
    code = LIMITED.format(size=1000) + textwrap.dedent(FIT)
    assert python(code, NUMBA_CACHE_DIR=str(tmp_path)) == "fitted\n"
    assert not list(tmp_path.rglob("*.nb?"))
