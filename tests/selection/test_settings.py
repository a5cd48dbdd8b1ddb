"""Settings of the selector: refusals, costs and seeds."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import InformativeItemSelector, ResponseData
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.selection.strategies import DiscriminationStrategy

pytestmark = pytest.mark.filterwarnings("ignore")


X = make_responses(12, 6, 1, random_state=0).responses


FRAME = pd.DataFrame(X, columns=list("abcdef"))


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"target_weights": np.zeros(6)}, "zero for every item"),
        ({"target_weights": {"overall": -1.0}}, "at least 0, and not all 0"),
        ({"target_weights": {"overall": 0.0}}, "at least 0, and not all 0"),
        ({"costs": {"a": 1.0}, "max_cost": 1}, "no value for item 'b'"),
        ({"costs": np.ones(6), "max_cost": 0}, "max_cost must be positive; got 0"),
        ({"strategy": DiscriminationStrategy(by="x")}, "by must be .* got 'x'"),
        ({"strategy": DiscriminationStrategy(per="x")}, "per must be .* got 'x'"),
    ],
)
def test_settings_of_the_selector_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        InformativeItemSelector(2, n_dims=1, **settings).fit(FRAME)


def test_costs_by_name_are_costs_in_order():
    costs = dict(zip("fedcba", range(1, 7), strict=True))
    by_name, in_order = (
        InformativeItemSelector(None, n_dims=1, costs=c, max_cost=7.0).fit(FRAME)
        for c in (costs, [6, 5, 4, 3, 2, 1])
    )
    np.testing.assert_array_equal(by_name.ranking_, in_order.ranking_)
    assert sum(costs[name] for name in FRAME.columns[by_name.support_]) <= 7


def test_a_generator_of_numpy_seeds_a_choice():
    one, two = (
        InformativeItemSelector(
            3, strategy="random", n_dims=1, random_state=np.random.RandomState(5)
        )
        .fit(X)
        .ranking_
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)


def test_integers_are_refused_where_columns_are_named_by_numbers():
    frame = pd.DataFrame(np.asarray(X), columns=range(1, 7))
    selector = InformativeItemSelector(2, strategy="random", include=[1])
    with pytest.raises(ValueError, match="include holds integers.* give a mask"):
        selector.fit(frame)
    mask = np.arange(6) == 0
    chosen = InformativeItemSelector(2, strategy="random", include=mask).fit(frame)
    assert chosen.items_[chosen.ranking_[0]] == 1


def test_a_refit_on_response_data_forgets_the_names_of_columns():
    selector = InformativeItemSelector(2, strategy="random").fit(FRAME)
    data = ResponseData.from_wide(np.asarray(X)[:, :5])
    assert not hasattr(selector.fit(data), "feature_names_in_")
    assert selector.n_features_in_ == 5
