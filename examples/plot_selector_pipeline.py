"""
A pipeline that predicts an external score
==========================================

Choose informative items, reduce them to abilities, and predict a score from outside
(here: simulated human preference). All steps are learned within each fold.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from sklearn_mirt import InformativeItemSelector, MIRTTransformer
from sklearn_mirt.datasets import make_benchmark_suite

suite = make_benchmark_suite(scale=0.02, random_state=0)
rng = np.random.default_rng(0)
weights = np.array([1.0, 0.5])
preference = suite.abilities.to_numpy() @ weights + rng.normal(0, 0.3, 100)

# %%
pipeline = make_pipeline(InformativeItemSelector(0.2), MIRTTransformer(2), Ridge())
folds = KFold(4, shuffle=True, random_state=0)
responses = suite.responses.astype(float)
predicted = cross_val_predict(pipeline, responses, preference, cv=folds)
print("correlation:", np.corrcoef(predicted, preference)[0, 1].round(3))

# %%
plt.plot(preference, predicted, "o", ms=4)
plt.xlabel("human preference (simulated)")
plt.ylabel("predicted from a fifth of the items")
