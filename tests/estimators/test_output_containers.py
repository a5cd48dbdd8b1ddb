"""Tags of the estimators, and the containers that they read and return."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from public_estimators import LONG, WIDE, name
from sklearn.base import clone
from sklearn.utils import get_tags

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.parametrize("estimator", WIDE, ids=name)
def test_tags_of_tables(estimator):
    tags = get_tags(estimator)
    assert tags.input_tags.allow_nan
    assert tags.transformer_tags is not None
    assert not tags.target_tags.required
    assert not tags.no_validation


@pytest.mark.parametrize("estimator", LONG, ids=name)
def test_tags_of_cells(estimator):
    tags = get_tags(estimator)
    assert tags.estimator_type == "classifier"
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.categorical and tags.input_tags.string
    assert tags.target_tags.required
    assert not tags.no_validation


@pytest.mark.parametrize("estimator", WIDE, ids=name)
@pytest.mark.parametrize("kind", ["pandas", "polars", "default"])
def test_output_is_what_was_asked_for(estimator, kind, small_table):
    estimator = clone(estimator).set_output(transform=kind)
    out = estimator.fit(small_table).transform(small_table)
    names = estimator.get_feature_names_out().tolist()
    if kind == "default":
        assert isinstance(out, np.ndarray)
        assert out.shape == (24, len(names))
    else:
        assert isinstance(out, pd.DataFrame if kind == "pandas" else pl.DataFrame)
        assert list(out.columns) == names
    if kind == "pandas":
        assert out.index.tolist() == small_table.index.tolist()


@pytest.mark.parametrize("estimator", WIDE, ids=name)
def test_polars_tables_are_taken(estimator, small_table):
    one = clone(estimator).fit(small_table)
    other = clone(estimator).fit(pl.from_pandas(small_table))
    a = one.transform(small_table)
    b = other.transform(pl.from_pandas(small_table))
    assert_array_equal(np.asarray(a), np.asarray(b))
