"""Random degenerate tables through all estimators, the selector and the audit."""

import degenerate_tables
import numpy as np
import pytest
from degenerate_tables import ATTEMPTS, attempt, check_numbers, make_case
from hypothesis import example, given
from hypothesis import strategies as st


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTEMPTS)
@given(index=st.integers(0, 2**32 - 1))
@example(index=810)  # had faults
@example(index=2907)
def test_a_degenerate_table_is_fitted_or_refused_clearly(name, index):
    assert not attempt(name, make_case(index)).startswith("FAULT")


def test_a_case_is_the_same_every_time():
    for index in range(10):
        one, two = (make_case(index) for _ in range(2))
        np.testing.assert_array_equal(one.X, two.X)
        assert one.items == two.items
        assert one.kind == two.kind


def nan(case):
    check_numbers([1.0, np.nan], "scores")


def crash(case):
    np.linalg.inv(np.zeros((2, 2)))


def index_error(case):
    return [][0]


@pytest.mark.parametrize("broken", [nan, crash, index_error])
def test_faults_are_seen(broken, monkeypatch):
    case = make_case(1)
    case.X[:] = 0.5
    monkeypatch.setitem(degenerate_tables.ATTEMPTS, "broken", broken)
    assert attempt("broken", case).startswith("FAULT")
