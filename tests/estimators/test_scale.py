"""Sign, rotation and unit of the scale of abilities and slopes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def test_the_model_with_all_answers_right_ranks_first(table):
    """The sign of a dimension is arbitrary: it once could rank this model last."""
    X = np.vstack([table, np.ones(60), np.zeros(60)])
    mirt = MIRTTransformer(1).fit(X)
    assert mirt.abilities_[:, 0].argmax() == 30
    assert mirt.abilities_[:, 0].argmin() == 31
    two = MIRTTransformer(2).fit(X)
    assert np.all(two.slopes_.mean(axis=0) > 0)
    strength = (two.slopes_**2).sum(axis=0)
    assert strength[0] >= strength[1]


@pytest.mark.parametrize("rotation", ["oblimin", "promax", "varimax"])
def test_rotated_parameters_predict_the_same_answers(table, rotation):
    """Rotation changes slopes and abilities together."""
    plain = MIRTTransformer(2, rotation=None).fit(table)
    turned = MIRTTransformer(2, rotation=rotation).fit(table)
    assert not np.allclose(plain.slopes_, turned.slopes_, atol=1e-3)
    assert_allclose(
        turned.item_parameters_.probability(turned.abilities_),
        plain.item_parameters_.probability(plain.abilities_),
        atol=1e-10,
    )


def test_one_metric_everywhere_and_it_is_the_logit(table, fitted):
    """Scores on the normal-ogive scale do not go with logistic probabilities."""
    data = make_responses(400, 300, 1, slopes=np.full((300, 1), 1.3), random_state=0)
    mirt = MIRTTransformer(1).fit(data.responses)
    assert mirt.slopes_.mean() == pytest.approx(
        1.3, rel=0.1
    )  # 0.76 on the probit scale
    for turned in (None, "varimax", "promax"):
        two = fitted.rotate(turned)
        scores = two.transform(table)
        eta = scores @ two.slopes_.T + two.intercepts_
        p = two.item_parameters_.probability(scores)
        assert_allclose(p, 1 / (1 + np.exp(-eta)))
        assert_allclose(scores, two.abilities_, atol=0.01)


def test_an_item_that_better_models_fail_has_a_negative_slope_unless_told():
    """`positive_slopes` decides about the sign, not the version of the library."""
    X = make_responses(60, 80, 1, random_state=0).responses
    X[:, ::4] = 1 - X[:, ::4]
    signed = MIRTTransformer(1).fit(X).slopes_[:, 0]
    assert signed[::4].max() < 0.1
    assert signed[::4].mean() < -0.5
    kept = MIRTTransformer(1, positive_slopes=True).fit(X).slopes_[:, 0]
    assert kept.min() == 0
    assert kept[::4].max() < 0.3
