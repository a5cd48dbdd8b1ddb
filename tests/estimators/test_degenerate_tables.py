"""Random degenerate tables through all estimators (see `benchmarks/torture.py`)."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "torture.py"

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason="the benchmarks are not part of this installation"
)


@pytest.fixture(scope="module")
def torture():
    spec = importlib.util.spec_from_file_location("torture", SCRIPT)
    module = sys.modules["torture"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["torture"]


# the last ones had faults
@pytest.mark.parametrize("index", [*range(20), 810, 2907])
def test_a_degenerate_matrix_is_fitted_or_refused_clearly(torture, index):
    outcomes = torture.run(index, seed=0)["outcomes"]
    faults = {name: what for name, what in outcomes.items() if "FAULT" in what}
    assert not faults


def test_a_case_is_the_same_every_time(torture):
    for index in range(10):
        one, two = (torture.make_case(3, index) for _ in range(2))
        np.testing.assert_array_equal(one.X, two.X)
        assert one.items == two.items
        assert one.kind == two.kind


def test_faults_are_seen(torture):
    """What the script would say of an estimator that is broken."""
    case = torture.make_case(0, 1)
    case.X[:] = 0.5

    def nan(case):
        torture.check_numbers([1.0, np.nan], "scores")

    def crash(case):
        np.linalg.inv(np.zeros((2, 2)))

    def index_error(case):
        return [][0]

    for broken in (nan, crash, index_error):
        torture.ATTEMPTS["broken"] = broken
        assert torture.attempt("broken", case).startswith("FAULT")
    del torture.ATTEMPTS["broken"]
