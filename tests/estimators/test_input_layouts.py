"""Layouts and types of the caller's tables: ids, data types, memory maps."""

import inspect

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from sklearn.model_selection import cross_val_score

from sklearn_mirt import MIRTClassifier, MIRTTransformer
from sklearn_mirt.datasets import make_responses

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def test_ids_and_answers_are_not_paired_by_position(table):
    """The order of ids may differ between the fit, the groups and later calls."""
    frame = pd.DataFrame(table, columns=[f"q{j}" for j in range(60)])
    cells = frame.stack().rename_axis(["r", "i"]).reset_index(name="y")
    other = cells.sample(frac=1, random_state=0)
    one = MIRTClassifier().fit(cells[["r", "i"]], cells["y"])
    two = MIRTClassifier().fit(other[["r", "i"]], other["y"])
    assert_array_equal(one.items_, two.items_)
    assert_array_equal(one.slopes_, two.slopes_)
    groups = {f"q{j}": j % 3 for j in range(60)}
    shuffled = pd.Series(groups).sample(frac=1, random_state=1)
    assert_array_equal(
        MIRTTransformer(item_groups=groups).fit(frame).slopes_,
        MIRTTransformer(item_groups=shuffled).fit(frame).slopes_,
    )


def test_the_callers_frame_is_not_changed(table):
    """Neither by fitting nor by predicting."""
    frame = pd.DataFrame(table).astype("boolean")
    before = frame.copy(deep=True)
    mirt = MIRTTransformer().fit(frame)
    mirt.transform(frame)
    mirt.score(frame)
    pd.testing.assert_frame_equal(frame, before)
    cells = frame.stack().rename_axis(["r", "i"]).reset_index(name="y")
    before = cells.copy(deep=True)
    MIRTClassifier(1).fit(cells[["r", "i"]], cells["y"]).predict(cells[["r", "i"]])
    pd.testing.assert_frame_equal(cells, before)


def test_item_metadata_is_not_split_where_there_are_as_many_items_as_models():
    """scikit-learn splits fit parameters that have as many values as X has rows."""
    X = make_responses(40, 40, 1, random_state=0).responses
    for estimator in (MIRTTransformer, MIRTClassifier):
        assert set(inspect.signature(estimator.fit).parameters) <= {
            "self",
            "X",
            "y",
            "sample_weight",
        }
    mirt = MIRTTransformer(1, item_groups=np.arange(40) % 2)
    scores = cross_val_score(mirt, X, cv=4, error_score="raise")
    assert np.isfinite(scores).all()


def test_read_only_memory_maps_can_be_fitted(tmp_path):
    """joblib hands arrays of over 1 MB to its workers as read-only memory maps."""
    X = make_responses(400, 400, 1, random_state=0).responses
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    fits = Parallel(2, backend="threading")(
        delayed(_slopes)(table) for table in (X, mapped)
    )
    assert_array_equal(*fits)


def _slopes(X):
    return MIRTTransformer(1, max_iter=4).fit(X).slopes_


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.float32),
        lambda X: X.astype(bool),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    ],
    ids=["int8", "float32", "bool", "Fortran", "strided"],
)
def test_no_type_or_layout_of_input_gives_a_typing_error(table, fitted, change):
    """Kernels are compiled for few types: tables are converted first."""
    mirt = MIRTTransformer().fit(change(table))
    assert_array_equal(mirt.slopes_, fitted.slopes_)
    assert_array_equal(mirt.transform(change(table)), fitted.transform(table))
