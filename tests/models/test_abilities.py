"""Abilities, and their names in tables."""

import numpy as np

from sklearn_mirt import Abilities
from sklearn_mirt.models.abilities import dimension_columns, dimension_names


def test_dimensions_are_counted_from_one():
    assert dimension_names(3) == ["dim1", "dim2", "dim3"]
    assert dimension_names(0) == []


def test_columns_follow_dimension_after_dimension():
    values = np.arange(6.0).reshape(3, 2)
    columns = dimension_columns({"": values, "se_": -values})
    assert list(columns) == ["dim1", "se_dim1", "dim2", "se_dim2"]
    np.testing.assert_array_equal(columns["se_dim2"], [-1, -3, -5])


def test_a_frame_has_abilities_and_errors_by_respondent():
    mean = np.array([[0.5, -1.0], [0.0, 2.0]])
    covariances = np.array([np.diag([4.0, 9.0]), np.diag([1.0, 0.25])])
    ids = np.array(["a", "b"], dtype=object)
    frame = Abilities(mean, covariances, np.eye(2), ids).to_frame()
    assert frame.index.name == "respondent"
    assert frame.loc["a"].to_dict() == {
        "dim1": 0.5,
        "se_dim1": 2.0,
        "dim2": -1.0,
        "se_dim2": 3.0,
    }
    assert frame["se_dim2"].tolist() == [3.0, 0.5]
