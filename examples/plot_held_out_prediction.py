"""
Held-out answers, beside baselines
==================================

Ten per cent of the answers are hidden; the model and five baselines predict them. The
additive model (respondent + item) is the baseline to respect.
"""

import numpy as np
import pandas as pd

from sklearn_mirt import (
    AdditiveClassifier,
    GroupMeanScoreClassifier,
    ItemMeanClassifier,
    MeanScoreClassifier,
    MIRTClassifier,
    calibration_table,
)
from sklearn_mirt.datasets import make_benchmark_suite
from sklearn_mirt.metrics import prediction_report
from sklearn_mirt.plots import CalibrationDisplay

suite = make_benchmark_suite(scale=0.03, random_state=0)
answers = suite.responses.rename_axis(columns="item_id").stack().rename("score")
answers = answers.reset_index()
X, y = answers[["model", "item_id"]], answers["score"]
benchmark = suite.item_table.set_index("item_id")["benchmark"]
test = np.random.default_rng(0).random(len(y)) < 0.1

# %%
models = {
    "MIRT, 2 dimensions": MIRTClassifier(2, item_groups=benchmark),
    "respondent + item": AdditiveClassifier(),
    "item": ItemMeanClassifier(),
    "respondent": MeanScoreClassifier(),
    "respondent x benchmark": GroupMeanScoreClassifier(benchmark),
}
rows = {}
for name, model in models.items():
    prob = model.fit(X[~test], y[~test]).predict_proba(X[test])[:, 1]
    rows[name] = prediction_report(X[test], y[test], prob).iloc[0]
    if name.startswith("MIRT"):
        calibration = calibration_table(y[test].to_numpy(float), prob)
print(pd.DataFrame(rows).T.round(3))

# %%
CalibrationDisplay(calibration).plot()
