"""Bad input: one clear error that says what was got, where, and what to do."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import (
    AdditiveClassifier,
    GroupMeanScoreClassifier,
    MeanScoreClassifier,
    MIRTClassifier,
    MIRTTransformer,
)
from sklearn_mirt.datasets import make_responses

NAN = np.nan


PAIRS = [["m1", "q1"], ["m1", "q2"], ["m2", "q1"], ["m2", "q2"]]


Y = [1, 0, 1, 1]


LONG = [MIRTClassifier(1), MeanScoreClassifier(), AdditiveClassifier()]


EACH_LONG = pytest.mark.parametrize("clf", LONG, ids=lambda c: type(c).__name__)


def frame(values):
    return pd.DataFrame(values, index=["m1", "m2"], columns=["q1", "q2"])


@EACH_LONG
@pytest.mark.parametrize("width", [1, 3])
def test_wrong_number_of_columns(clf, width):
    X = np.array(PAIRS, dtype=object)[:, [0, 1, 1][:width]]
    with pytest.raises(ValueError, match=f"exactly two columns.* got {width} column"):
        clf.fit(X, Y)
    clf.fit(PAIRS, Y)
    with pytest.raises(ValueError, match=f"X has {width} features, but .* 2 features"):
        clf.predict_proba(X)


@EACH_LONG
@pytest.mark.parametrize(
    "X, y, message",
    [
        (np.empty((0, 2)), [], r"0 sample\(s\)"),
        (PAIRS, [1, 0, 1], r"inconsistent numbers of samples: \[4, 3\]"),
        (PAIRS, None, "requires y to be passed"),
        (["m1", "m2"], [1, 0], "Expected 2D array, got 1D array"),
        (PAIRS, ["a", "b", "c", "a"], "Unknown label type: multiclass"),
        (PAIRS, [0, 1, 2, 1], "Unknown label type: multiclass"),
        (PAIRS, [0.5, 1.5, 0.25, 1], "Unknown label type"),
        (PAIRS, [-0.5, 1, 0.25, 1], "Unknown label type"),
        (PAIRS, ["right"] * 4, "need two labels"),
        (PAIRS, [NAN] * 4, "every score of y is missing"),
        (PAIRS, [[1, 0]] * 4, "1d array"),
        ([["m1", "q1"]] * 2, [1, 0], "'m1' has more than one answer to item 'q1'"),
        ([["m1", "q1"], [None, "q1"]], [1, 0], "respondent id is missing in row 1"),
        ([["m1", "q1"], ["m2", NAN]], [1, 0], "item id is missing in row 1"),
    ],
)
def test_wrong_answers(clf, X, y, message):
    with pytest.raises(ValueError, match=message):
        clf.fit(X, y)


@EACH_LONG
def test_wrong_weights(clf):
    for weights, message in (
        ([1, 1, 1], r"sample_weight has shape \(3,\), expected \(4,\)"),
        ([[1], [1], [1], [1]], "sample_weight has shape"),
        ([1, 1, -1, 1], r"weight of row 2 \(respondent 'm2', item 'q1'\) is -1"),
        ([1, 1, NAN, 1], r"weight of row 2 \(respondent 'm2', item 'q1'\) is nan"),
        ([1, 1, 1e9, 1], r"weight of row 2 .* is 1e\+09; a weight is a number of answ"),
        ([0, 0, 0, 0], "There are no answers: every weight in sample_weight is zero"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.fit(PAIRS, Y, sample_weight=weights)


@EACH_LONG
def test_missing_ids_in_prediction(clf):
    clf.fit(PAIRS, Y)
    with pytest.raises(ValueError, match="An id is missing in row 1"):
        clf.predict_proba([["m1", "q1"], ["m1", None]])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        clf.predict_proba(np.empty((0, 2), dtype=object))


@pytest.mark.parametrize(
    "X, message",
    [
        (
            frame([[1, 0], [2, 1]]),
            "respondent 'm2', item 'q1' is 2; scores must lie in",
        ),
        (frame([[1, 0], [-0.1, 1]]), "item 'q1' is -0.1; scores must lie"),
        (frame([[1, np.inf], [0, 1]]), "item 'q2' is infinity"),
        (
            frame([[1, "no"], [0, 1]]),
            "respondent 'm1', item 'q2' is 'no', which is not",
        ),
        (frame([[NAN, NAN], [NAN, NAN]]), "There are no answers: all 2 x 2 cells"),
        (np.empty((0, 3)), r"0 sample\(s\).* no respondents"),
        (np.empty((3, 0)), r"0 feature\(s\).* no items"),
        ([1, 0, 1], "Expected 2D array, got 1D array"),
        (
            pd.DataFrame([[1, 0]], columns=["q", "q"]),
            # scikit-learn's own words, or ours where its version does not look
            "(?s)unique column names.*'q'|item id 'q' is given more than once",
        ),
    ],
)
def test_wrong_tables(X, message):
    with pytest.raises(ValueError, match=message):
        MIRTTransformer(1).fit(X)


def test_wrong_tables_to_transform():
    X = make_responses(20, 10, 1, random_state=0).responses
    mirt = MIRTTransformer(1).fit(X)
    with pytest.raises(ValueError, match="X has 9 features, but .* 10 features"):
        mirt.transform(X[:, :9])
    with pytest.raises(ValueError, match="respondent 1, item 2 is 7"):
        mirt.transform(np.where(np.arange(20).reshape(2, 10) == 12, 7, X[:2]))
    with pytest.raises(ValueError, match="got 1D array"):
        mirt.transform(X[0])


def test_fewer_respondents_than_dimensions():
    X = make_responses(3, 10, 1, random_state=0).responses
    with pytest.raises(ValueError, match="n_dims=4 .*respondents.*n_samples=3"):
        MIRTTransformer(4).fit(X)
    with pytest.raises(ValueError, match="n_dims=4 .*respondents"):
        MIRTClassifier(4).fit([["a", i] for i in range(9)], [0, 1, 0] * 3)


@pytest.mark.parametrize(
    "groups, message",
    [
        ({"q1": "a"}, "item_groups has no value for item 'q2'; it has 1 values"),
        ({"q1": "a", "q2": None}, "item_groups has no group for item 'q2'"),
        ({"q1": "a", "q2": NAN}, "item_groups has no group for item 'q2'"),
        (pd.Series({"q2": "a"}), "item_groups has no value for item 'q1'"),
        (
            pd.Series(["a", "b", "a"], ["q1", "q2", "q1"]),
            "more than one value for .*'q1'",
        ),
        (["a"], "item_groups has 1 values for 2 items"),
        ("ab", "item_groups must be a mapping.*got str"),
        ([["a"], ["b"]], "item_groups must be a mapping.*got list"),
    ],
)
def test_wrong_groups(groups, message):
    for fit in (
        lambda: MIRTTransformer(1, item_groups=groups).fit(frame([[1, 0], [0, 1]])),
        lambda: MIRTClassifier(1, item_groups=groups).fit(PAIRS, Y),
        lambda: GroupMeanScoreClassifier(groups).fit(PAIRS, Y),
    ):
        with pytest.raises(ValueError, match=message):
            fit()


@pytest.mark.parametrize(
    "guessing, message",
    [
        (1.0, "guessing floor of item 'q1' is 1; it must be at least 0 and under 1"),
        (-0.1, "guessing floor of item 'q1' is -0.1"),
        (NAN, "guessing floor of item 'q1' is nan"),
        ({"q1": 0.1}, "guessing has no value for item 'q2'"),
        ([0.1, 0.2, 0.3], "guessing has 3 values for 2 items"),
        ({"q1": 0.1, "q2": 2}, "guessing floor of item 'q2' is 2"),
    ],
)
def test_wrong_guessing_floors(guessing, message):
    with pytest.raises(ValueError, match=message):
        MIRTTransformer(1, guessing=guessing).fit(frame([[1, 0], [0, 1]]))


@pytest.mark.parametrize(
    "name, value, wish",
    [
        ("n_dims", 0, "an integer of at least 1"),
        ("n_dims", 1.5, "an integer of at least 1"),
        ("n_dims", True, "an integer of at least 1"),
        ("n_dims", "2", "an integer of at least 1"),
        ("solver", "newton", "one of"),
        ("rotation", "sideways", "one of"),
        ("rotation", "target", "one of"),
        ("positive_slopes", "yes", "True or False"),
        ("max_iter", 0, "an integer of at least 1"),
        ("tol", -1e-3, "a number >= 0"),
        ("tol", NAN, "a number >= 0"),
        ("device", "tpu", "'cpu' or 'cuda'"),
        ("dtype", "float16", "'auto', 'float32' or 'float64'"),
        ("n_jobs", 0, "None or an integer other than 0"),
        ("n_jobs", 1.5, "None or an integer other than 0"),
        ("warm_start", 1, "True or False"),
        ("handle_unknown", "ignore", "'prior' or 'error'"),
    ],
)
def test_wrong_parameters(name, value, wish):
    X, y = np.array(PAIRS, dtype=object), Y
    for estimator in (MIRTTransformer(1), MIRTClassifier(1)):
        if name not in estimator.get_params():
            continue
        estimator.set_params(**{name: value})
        message = f"'{name}' parameter of {type(estimator).__name__} must be .*{wish}"
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, y)


def test_a_parameter_that_is_no_parameter():
    with pytest.raises(TypeError, match="n_factors"):
        MIRTTransformer(n_factors=2)
    with pytest.raises(TypeError):
        MIRTTransformer(2, "variational")
