"""The null control finds ability where there is some, and explained shares."""

import numpy as np
import pytest

from sklearn_mirt import MIRTTransformer, ResponseData, null_control
from sklearn_mirt.data.resampling import permuted_within_items, with_cells
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.diagnostics.null_control import explained_shares


def test_items_beat_the_null_when_there_is_ability_and_only_then():
    data = make_responses(60, 300, 2, random_state=0)
    model = MIRTTransformer(2).fit(data.responses)
    control = null_control(model, data.responses, n_repeats=3)
    assert control.share_of_items > 0.3
    assert control.null_share < 0.02
    noise = permuted_within_items(
        ResponseData.from_wide(data.responses), np.random.default_rng(5)
    )
    of_noise = null_control(MIRTTransformer(2).fit(noise), noise, n_repeats=3)
    assert of_noise.share_of_items < 0.02


@pytest.mark.parametrize("missing", [0.0, 0.9])
def test_explained_shares_are_those_of_least_squares(missing):
    rng = np.random.default_rng(0)
    X = (rng.random((40, 9)) < 0.5).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 0] = 1
    data = ResponseData.from_wide(X)
    if missing:
        data = with_cells(data, np.ones(data.n_observed, dtype=bool))
    theta = rng.standard_normal((40, 2))
    shares = explained_shares(data, theta)
    assert np.isnan(shares[0])
    for j in range(1, 9):
        seen = ~np.isnan(X[:, j])
        y = X[seen, j]
        if seen.sum() < 4 or np.ptp(y) == 0:
            assert np.isnan(shares[j])
            continue
        A = np.column_stack([np.ones(seen.sum()), theta[seen]])
        residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
        want = 1 - (residual**2).sum() / ((y - y.mean()) ** 2).sum()
        assert shares[j] == pytest.approx(want, abs=1e-5)
