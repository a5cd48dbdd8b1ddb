"""Cross-validation over cells: the item filter, groups, and resuming from a folder."""

import numpy as np
import pandas as pd
import pytest

from sklearn_mirt import (
    GroupMeanScoreClassifier,
    ItemMeanClassifier,
    MeanScoreClassifier,
    ResponseData,
)
from sklearn_mirt.metrics.cross_validation import (
    CellCrossValidation,
    GroupwiseClassifier,
)

GROUPS = ["a"] * 6 + ["b"] * 6


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return (rng.random((40, 12)) < np.linspace(0.2, 0.8, 12)).astype(float)


def validation(table, estimators=None, **settings):
    estimators = estimators or {
        "item": ItemMeanClassifier(),
        "group": GroupMeanScoreClassifier(),
    }
    settings = {"groups": GROUPS, "n_folds": 3, **settings}
    return CellCrossValidation(ResponseData.from_wide(table), estimators, **settings)


def test_a_folder_changes_no_number_and_saves_the_fits(table, tmp_path, monkeypatch):
    whole = validation(table)
    whole.run()
    assert len(whole) == 6
    kept = validation(table, folder=tmp_path)
    kept.run()
    monkeypatch.setattr(CellCrossValidation, "_part", pytest.fail)
    resumed, calls = validation(table, folder=tmp_path), []
    resumed.run(lambda *progress: calls.append(progress))
    assert calls[0] == (0, "fold 1, item") and calls[-1] == (5, "fold 3, group")
    for other in (kept, resumed):
        pd.testing.assert_frame_equal(other.by_fold(), whole.by_fold())
        pd.testing.assert_frame_equal(other.table(), whole.table())


def test_the_order_of_the_estimators_is_part_of_a_folder(table, tmp_path):
    validation(table, folder=tmp_path).run()
    other = {"group": GroupMeanScoreClassifier(), "item": ItemMeanClassifier()}
    with pytest.raises(ValueError, match=r"different estimators\)"):
        validation(table, other, folder=tmp_path)


def test_items_of_almost_one_answer_are_left_out_of_training_and_test(table):
    easy = table.copy()
    easy[:, :2] = 1
    filtered, all_items = validation(easy), validation(easy, item_filter=False)
    for each in (filtered, all_items):
        each.run()
    micro = [
        each.by_fold().query("group == 'micro' and estimator == 'item'")["n_cells"]
        for each in (filtered, all_items)
    ]
    assert [cells.sum() for cells in micro] == [400, 480]
    with pytest.raises(ValueError, match="without the item filter"):
        validation(np.ones((6, 12))).run()


def test_groups_of_an_estimator_of_its_own(table):
    names = {"own": GroupMeanScoreClassifier(), "all": MeanScoreClassifier()}
    one = validation(table, names, other_groups={"own": ["x"] * 12})
    one.run()
    scores = one.table()
    assert scores.loc["own", "log_loss"] == scores.loc["all", "log_loss"]


def test_one_classifier_for_each_group(table):
    X = np.column_stack([np.repeat(np.arange(40), 12), np.tile(np.arange(12), 40)])
    y = table.ravel()
    groups = dict(enumerate(GROUPS))
    model = GroupwiseClassifier(MeanScoreClassifier(), groups).fit(X, y)
    expected = np.where(
        X[:, 1] < 6, table[:, :6].mean(1)[X[:, 0]], table[:, 6:].mean(1)[X[:, 0]]
    )
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)
    np.testing.assert_allclose(model.predict_proba(np.array([[0, 99]]))[0, 1], y.mean())
