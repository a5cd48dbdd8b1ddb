"""A smoke run of the benchmarks on tiny sizes: they start, skip and compare."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not BENCHMARKS.is_dir(),
        reason="the benchmarks are not part of this installation",
    ),
]


def run(script, *arguments):
    command = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_run_measures_what_is_there_and_says_what_is_not(tmp_path):
    out = tmp_path / "results.json"
    libraries = ["sklearn_mirt", "factor_analysis", "nonsense"]
    done = run(
        "run.py", "--problems", "tiny", "--repeats", 1, "--libraries", *libraries,
        "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours, analysis, absent = json.loads(out.read_text())
    assert "No module named" in absent["skipped"]
    for row in (ours, analysis):
        assert 0.3 < row["log_loss"] < 0.7
        assert row["accuracy"] > 0.6
        assert row["cpu"][0] > 0
        assert row["peak_mib"] > 20
    assert "passes" in ours["note"]
    same = run("compare.py", out, out)
    assert same.returncode == 0
    assert "| tiny | sklearn_mirt |" in same.stdout
    rows = json.loads(out.read_text())
    rows[0]["cpu"][0] *= 2
    slower = tmp_path / "slower.json"
    slower.write_text(json.dumps(rows))
    assert run("compare.py", out, slower).returncode == 1


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["limit.py", "--items", 300], "ratio"),
        (["scaling.py", "--small"], "two threads do"),
    ],
)
def test_what_speed_is_compared_with_can_be_measured(command, said):
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_every_adapter_has_the_one_signature():
    import inspect

    sys.path.insert(0, str(BENCHMARKS))
    try:
        from libraries import LIBRARIES, get_fit

        for name in LIBRARIES:
            assert list(inspect.signature(get_fit(name)).parameters) == [
                "X",
                "n_dims",
                "groups",
            ]
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_the_simulated_problems_are_the_same_every_time():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from problems import make_problem

        one, two = make_problem("tiny"), make_problem("tiny")
    finally:
        sys.path.remove(str(BENCHMARKS))
    assert (one.X == two.X).all()
    assert (one.X[one.test] == -1).all()
    assert len(one.y) == one.test.sum() > 0
