"""Pickles of fitted estimators: contents and versions."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from public_estimators import LONG, WIDE, name
from response_tables import long
from sklearn.base import clone

import sklearn_mirt
from sklearn_mirt import (
    MIRTClassifier,
    MIRTTransformer,
)
from sklearn_mirt.estimators import pickling as versions
from sklearn_mirt.exceptions import PickleVersionWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.mark.parametrize("estimator", WIDE + LONG, ids=name)
def test_a_pickle_of_another_version_warns(
    estimator, small_table, small_cells, monkeypatch
):
    estimator = clone(estimator)
    is_long = name(estimator) in map(name, LONG)
    fit = estimator.fit(*small_cells) if is_long else estimator.fit(small_table)
    stored = pickle.dumps(fit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = pickle.loads(stored)
        copy.deepcopy(fit)
        clone(fit)
    assert vars(same).keys() == vars(fit).keys()
    monkeypatch.setattr(versions, "__version__", "99.0")
    message = f"{name(fit)} was pickled by sklearn-mirt {sklearn_mirt.__version__} .*99"
    with pytest.warns(PickleVersionWarning, match=message):
        pickle.loads(stored)


def test_a_pickle_without_a_version_warns():
    state = MIRTTransformer(1).__getstate__()
    del state["_sklearn_mirt_version"]
    with pytest.warns(PickleVersionWarning, match="by sklearn-mirt unknown"):
        MIRTTransformer().__setstate__(state)


def test_a_pickle_holds_arrays_and_nothing_compiled(table):
    """Compiled code would not load on another machine."""
    X, y = long(table)
    for fit in (MIRTTransformer().fit(table), MIRTClassifier().fit(X, y)):
        stored = pickle.dumps(fit)
        assert b"numba" not in stored
        assert b"llvm" not in stored
        for attribute, value in vars(fit).items():
            assert isinstance(
                value, np.ndarray | int | float | str | bool | type(None)
            ), attribute
