"""Input that ResponseData refuses, with the respondent and the item in the message."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from sklearn_mirt import ResponseData

NAN = np.nan


BINARY = np.array([[1, 0, NAN, 1], [NAN, 1, 1, 0], [0, 0, NAN, 1]])


REPEATS = (["m", "m", "m", "n"], ["q", "q", "q", "q"], [1, 0, 1, 0])


def frame(values):
    return pd.DataFrame(
        values, index=["m1", "m2", "m3"], columns=["q1", "q2", "q3", "q4"]
    )


def stored(values):
    """Sparse array that stores every observed score, zeros too."""
    i, j = np.nonzero(~np.isnan(values))
    return sparse.coo_array((values[i, j], (i, j)), shape=values.shape)


WRONG = {
    "over one": ([[1, 2]], "respondent 'a', item 'y' is 2; scores must lie in"),
    "negative": ([[-1, 1]], "respondent 'a', item 'x' is -1; scores must lie in"),
    "infinite": ([[1, np.inf]], "respondent 'a', item 'y' is infinity"),
    "a word": ([[1, "yes"]], "respondent 'a', item 'y' is 'yes', which is not a num"),
    "complex": ([[1, 1j]], "Complex data not supported"),
    "no rows": (np.empty((0, 2)), r"0 sample\(s\)"),
    "no columns": (np.empty((1, 0)), r"0 feature\(s\)"),
    "one dimension": ([1, 0], "Expected 2D array, got 1D array"),
    "three dimensions": (np.zeros((1, 2, 1)), "Expected 2D array, got 3D array"),
}


@pytest.mark.parametrize("X, message", WRONG.values(), ids=WRONG)
def test_a_wrong_table_is_refused_with_the_place(X, message):
    shape = np.shape(X)
    rows = ["a"] if shape[0] else []
    items = ["x", "y"] if len(shape) > 1 and shape[1] else []
    with pytest.raises(ValueError, match=message):
        ResponseData.from_wide(X, respondents=rows, items=items)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"x": [1, 0], "y": ["1", "no"]}, index=["a", "b"]),
        pd.DataFrame({"x": [1, 0], "y": pd.array(["1", "no"], "string")}, ["a", "b"]),
        pd.DataFrame({"x": [1, 0], "y": [None, "no"]}, index=["a", "b"]),
    ],
)
def test_a_word_in_a_frame_is_named(X):
    with pytest.raises(ValueError, match="respondent 'b', item 'y' is 'no'"):
        ResponseData.from_wide(X)


def test_a_word_in_polars_is_named():
    X = pl.DataFrame({"x": [1, 0], "y": ["1", "no"]})
    with pytest.raises(ValueError, match="respondent 1, item 'y' is 'no'"):
        ResponseData.from_wide(X)


@pytest.mark.parametrize(
    "ids, message",
    [
        (["a", "b", "a"], "respondent id 'a' is given more than once"),
        (["a", "b"], "Got 2 respondent ids for 3 respondents"),
        (["a", None, "b"], "respondent id is missing in place 1"),
        ([0.0, 1.0, NAN], "respondent id is missing in place 2"),
    ],
)
def test_wrong_ids_are_refused(ids, message):
    with pytest.raises(ValueError, match=message):
        ResponseData.from_wide(BINARY, respondents=ids)
    with pytest.raises(ValueError, match=message):
        ResponseData.from_sparse(stored(BINARY), respondents=ids)


def test_a_frame_with_the_same_column_twice_is_refused():
    with pytest.raises(ValueError, match="item id 'q1' is given more than once"):
        ResponseData.from_wide(frame(BINARY).set_axis(["q1", "q1", "a", "b"], axis=1))


@pytest.mark.parametrize("weight", [-1, np.inf, NAN])
def test_wrong_weights_are_refused_with_the_place(weight):
    weights = np.ones((3, 4))
    weights[1, 2] = weight
    with pytest.raises(ValueError, match="weight of respondent 'm2', item 'q3' is"):
        ResponseData.from_wide(frame(BINARY), weights=weights)
    with pytest.raises(ValueError, match=r"row 1 \(respondent 'b', item 'y'\)"):
        ResponseData.from_long(["a", "b"], ["x", "y"], [1, 0], weights=[1, weight])
    with pytest.raises(ValueError, match="weights have shape"):
        ResponseData.from_wide(BINARY, weights=np.ones((3, 3)))


LONG_WRONG = {
    "score": (["a", "b"], ["x", "y"], [1, 5], r"row 1 \(respondent 'b', item 'y'\) is"),
    "word": (["a", "b"], ["x", "y"], [1, "no"], "item 'y'.* is 'no', which is not"),
    "lengths": (["a"], ["x", "y"], [1, 0], "same length, got 1, 2 and 2"),
    "respondent": (
        ["a", None],
        ["x", "y"],
        [1, 0],
        "respondent id is missing in row 1",
    ),
    "item": (["a", "b"], ["x", NAN], [1, 0], "item id is missing in row 1"),
    "empty": ([], [], [], r"0 sample\(s\)"),
}


@pytest.mark.parametrize(
    "row, item, score, message", LONG_WRONG.values(), ids=LONG_WRONG
)
def test_wrong_long_answers_are_refused(row, item, score, message):
    with pytest.raises(ValueError, match=message):
        ResponseData.from_long(row, item, score)


def test_wrong_weights_and_aggregates_of_long_answers_are_refused():
    with pytest.raises(ValueError, match="Got 1 weights for 2 answers"):
        ResponseData.from_long(["a", "b"], ["x", "y"], [1, 0], weights=[1])
    with pytest.raises(ValueError, match="aggregate must be None or one of.*'median'"):
        ResponseData.from_long(*REPEATS, aggregate="median")


def test_a_sparse_table_with_a_cell_twice_is_refused():
    X = sparse.coo_array(([1.0, 0.0], ([0, 0], [1, 1])), shape=(2, 2))
    with pytest.raises(ValueError, match="Respondent 0 has more than one answer"):
        ResponseData.from_sparse(X)


def test_a_wrong_score_in_a_sparse_table_is_named():
    with pytest.raises(ValueError, match="respondent 'm1', item 'q2' is 3"):
        ResponseData.from_sparse(
            stored(np.array([[0, 3.0]])), respondents=["m1"], items=["q1", "q2"]
        )
