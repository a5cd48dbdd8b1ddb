"""Missing answers: of cells, of whole respondents and of whole items."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from response_tables import finite

from sklearn_mirt import InformativeItemSelector, MIRTTransformer
from sklearn_mirt.exceptions import ResponseDataWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


NAN = np.nan


def test_missing_answers_are_nan_and_nothing_is_imputed(table):
    """An item or a respondent with missing answers only changes nothing."""
    X = [[1, NAN], [NAN, 0], [1, 1]]
    mirt = MIRTTransformer(1).fit(X)
    assert finite(mirt)
    assert np.isfinite(mirt.transform(X)).all()
    assert InformativeItemSelector(1, n_dims=1).fit(X).support_.sum() == 1
    X = np.where(np.random.default_rng(0).random(table.shape) < 0.3, NAN, table)
    alone = MIRTTransformer(1).fit(X)
    wide = MIRTTransformer(1).fit(np.column_stack([X, np.full(30, NAN)]))
    tall = MIRTTransformer(1).fit(np.vstack([X, np.full(60, NAN)]))
    for other in (wide, tall):
        assert_allclose(other.slopes_[:60], alone.slopes_, atol=1e-12)
        assert_allclose(other.abilities_[:30], alone.abilities_, atol=1e-12)
    with pytest.raises(ValueError, match="is -1; scores must lie in"):
        MIRTTransformer(1).fit([[1, -1], [-1, 0], [1, 1]])


def test_a_row_without_answers_neither_crashes_nor_is_dropped(table):
    """Scoring once crashed on it, or left it out, or spoiled the other rows."""
    X = table.copy()
    X[5] = NAN
    X[:, 7] = NAN
    message = r"1 respondent\(s\) without answers: 5; 1 item\(s\) without answers: 7"
    with pytest.warns(ResponseDataWarning, match=message):
        mirt = MIRTTransformer().fit(X)
    assert_array_equal(mirt.abilities_[5], [0, 0])
    assert_allclose(mirt.ability_covariances_[5], mirt.ability_correlation_)
    assert_allclose(mirt.ability_posteriors_.standard_errors[5], [1, 1])
    assert mirt.transform(X).shape == (30, 2)
    assert finite(mirt)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_scoring_with_gaps_works_in_every_number_of_dimensions(table, d):
    """Elsewhere scoring with gaps works in one dimension and fails in two or three."""
    mirt = MIRTTransformer(d, max_iter=20).fit(table[:, :5])
    scores = mirt.score_abilities([[1, 1, 1, 1, NAN]])
    assert np.isfinite(scores.mean).all()
    assert np.all(scores.standard_errors > 0)
