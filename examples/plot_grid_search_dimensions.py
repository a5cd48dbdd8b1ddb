"""
How many dimensions? GridSearchCV
=================================

In the long layout a row is one answer, so that ``KFold`` holds out cells of the table
and a grid search over the number of dimensions is an ordinary one. Cells held out at
random favour too many dimensions in large data; ``choose_dimensions`` holds out whole
item groups instead.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_mirt import MIRTClassifier, choose_dimensions
from sklearn_mirt.datasets import make_responses

table = make_responses(60, 240, n_dims=2, random_state=0).responses
respondent, item = np.nonzero(~np.isnan(table))
X, y = np.column_stack([respondent, item]), table[respondent, item]

# %%
search = GridSearchCV(
    MIRTClassifier(max_iter=40, tol=1e-4),
    {"n_dims": [1, 2, 3, 4]},
    scoring="neg_log_loss",
    cv=KFold(5, shuffle=True, random_state=0),
).fit(X, y.astype(int))
print(search.best_params_)

# %%
scores = search.cv_results_
plt.errorbar(
    [1, 2, 3, 4], -scores["mean_test_score"], scores["std_test_score"] / np.sqrt(5)
)
plt.xlabel("dimensions")
plt.ylabel("held-out log loss (nats an answer)")

# %%
# Without item groups, this too holds out cells.
print(choose_dimensions(table, n_dims=(1, 2, 3, 4), n_permutations=0).table)
