"""Replicates that are kept: an interrupted run goes on and ends in the same numbers."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import MIRTTransformer, bootstrap
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.exceptions import ResponseDataWarning


@pytest.fixture(scope="module")
def table():
    return np.array(make_responses(20, 40, 1, random_state=0).responses)


@pytest.fixture(scope="module")
def fitted(table):
    return MIRTTransformer(1, solver="variational").fit(table)


def stop_after(n):
    def progress(done, total):
        if done == n:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("resample", ["items", "respondents"])
def test_an_interrupted_bootstrap_goes_on_to_the_same(
    tmp_path, table, fitted, resample
):
    options = {"resample": resample, "n_replicates": 7, "random_state": 3, "n_jobs": 1}
    whole = bootstrap(fitted, table, **options)
    with pytest.warns(ResponseDataWarning, match="4 of 7 replicates"):
        bootstrap(fitted, table, keep=tmp_path, progress=stop_after(4), **options)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    assert 4 <= len(kept) <= 7
    again = bootstrap(fitted, table, keep=tmp_path, **options)
    assert len(list(tmp_path.glob("*.npz"))) == 7
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())
    np.testing.assert_array_equal(again.correlations, whole.correlations)
    for name in ("abilities", "mdisc"):
        first, second = getattr(again, name), getattr(whole, name)
        assert (first is None) == (second is None)
        if first is not None:
            np.testing.assert_array_equal(first, second)
            assert first.dtype == second.dtype


def test_replicates_of_something_else_are_refused(tmp_path, table, fitted):
    options = {"n_replicates": 3, "keep": tmp_path}
    bootstrap(fitted, table, **options)
    for other in (
        {"random_state": 1},
        {"resample": "respondents"},
        {"max_iter": 3},
        {"scales": np.arange(40) % 2},
    ):
        with pytest.raises(ValueError, match="other data or settings"):
            bootstrap(fitted, table, **options, **other)
    bootstrap(fitted, table, **{**options, "n_replicates": 5})  # more of the same


@pytest.mark.slow
def test_the_command_goes_on_where_it_was_interrupted(tmp_path, table, monkeypatch):
    testing = pytest.importorskip("typer.testing")
    pytest.importorskip("rich")
    from sklearn_mirt.cli import progress as console
    from sklearn_mirt.cli.app import app

    monkeypatch.chdir(tmp_path)
    names = pd.Index([f"m{i}" for i in range(len(table))], name="model")
    pd.DataFrame(table, names).add_prefix("q").to_csv("r.csv")

    def audit(out, *more):
        words = ["audit", "r.csv", "--dims", "1", "--held-out", "0", "--bootstrap", "5"]
        return testing.CliRunner().invoke(app, [*words, "--out", out, *more])

    assert audit("whole").exit_code == 0
    assert not (tmp_path / "whole-unfinished").exists()
    stop = stop_after(3)
    with monkeypatch.context() as patch:
        patch.setattr(console._Passes, "on_replicate", lambda self, *n: stop(*n))
        result = audit("half")
    assert "3 of 5 replicates" in result.output
    kept = list((tmp_path / "half-unfinished").glob("*.npz"))
    assert len(kept) >= 3
    assert audit("half").exit_code == 2  # the folder is in use
    assert audit("half", "--resume").exit_code == 0
    assert not (tmp_path / "half-unfinished").exists()
    first, second = ((tmp_path / n / "abilities.csv") for n in ("whole", "half"))
    assert first.read_bytes() == second.read_bytes()
