"""Tables that several test modules of the estimators fit."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses


@pytest.fixture(scope="module")
def table():
    """Answers of 30 respondents to 60 items, in two dimensions."""
    return make_responses(30, 60, 2, random_state=0).responses


@pytest.fixture(scope="module")
def fitted(table):
    """MIRTTransformer with its defaults, fitted to the table."""
    return MIRTTransformer().fit(table)


@pytest.fixture(scope="module")
def small_table():
    """A DataFrame of 24 respondents and 10 named items."""
    X = make_responses(24, 10, 1, random_state=0).responses
    return pd.DataFrame(X, columns=[f"q{j}" for j in range(10)])


@pytest.fixture(scope="module")
def small_cells(small_table):
    """The answers of the small table: pairs of places, and scores."""
    i, j = np.indices(small_table.shape).reshape(2, -1)
    return np.column_stack([i, j]), small_table.to_numpy()[i, j]
