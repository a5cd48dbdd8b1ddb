"""Ours, with its defaults; `SKLEARN_MIRT_JOBS` threads."""

import os

from libraries import Fit, with_nan


def fit(X, n_dims, groups):
    from sklearn_mirt import MIRTTransformer

    jobs = int(os.environ.get("SKLEARN_MIRT_JOBS", 1))
    answers = with_nan(X)
    model = MIRTTransformer(n_dims, item_groups=groups, n_jobs=jobs).fit(answers)
    return Fit(lambda: model.expected_scores(answers), f"{model.n_iter_} passes")
