"""Answers held out and predicted, by the model and by baselines."""

import numpy as np
import pytest

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.diagnostics.held_out import calibration_table, held_out_predictions


def test_held_out_baselines_are_their_means():
    rng = np.random.default_rng(0)
    table = (rng.random((12, 30)) < 0.6).astype(float)
    model = MIRTTransformer(1, max_iter=20, tol=1e-3).fit(table)
    result = held_out_predictions(model, table, share=0.5, random_state=3)
    # cells come item after item
    out = np.random.default_rng(3).random(360) < 0.5
    y = table.T.ravel()
    kept = np.where(out, np.nan, y).reshape(30, 12).T
    mean = np.tile(np.nanmean(kept, axis=1), (30, 1)).ravel()[out]
    brier = result.scores.loc["respondent's mean score", "brier"]
    assert brier == pytest.approx(np.mean((mean - y[out]) ** 2))


def test_calibration_bins():
    table = calibration_table(np.array([0, 1, 1.0]), np.array([0.02, 0.95, 1.0]))
    assert table.index.tolist() == [0, 9] and table["n_answers"].tolist() == [1, 2]
    assert table["observed"].tolist() == [0, 1]


@pytest.mark.parametrize("share", [0, 1, -0.1])
def test_an_impossible_share_is_refused(share):
    table = np.tile([[0.0, 1.0], [1.0, 0.0]], (3, 4))
    model = MIRTTransformer(1, max_iter=5, tol=1).fit(table)
    with pytest.raises(ValueError, match="share must be in"):
        held_out_predictions(model, table, share=share)
