"""Sparse tables: absent entries are missing answers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from sklearn_mirt import MIRTTransformer, ResponseData

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


NAN = np.nan


def test_absent_entries_of_a_sparse_table_are_missing_not_wrong():
    """An absent entry is not a zero."""
    with pytest.raises(ValueError, match="zeros have probably been eliminated"):
        MIRTTransformer(1).fit(sparse.csr_matrix([[1, 0], [0, 1]]))
    X = sparse.csr_matrix(([1, 0, 1.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 3))
    data = ResponseData.from_wide(X)
    assert_array_equal(data.to_wide(), [[1, 0, NAN], [NAN, 1, NAN]])
