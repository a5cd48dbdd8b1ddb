"""scikit-learn's FactorAnalysis on answers with item means in the gaps."""

import numpy as np

from libraries import Fit


def fit(X, n_dims, groups):
    from sklearn.decomposition import FactorAnalysis

    seen = X >= 0
    mean = (X * seen).sum(0) / np.maximum(seen.sum(0), 1)
    model = FactorAnalysis(n_dims, svd_method="randomized", random_state=0)
    theta = model.fit_transform(np.where(seen, X, mean))

    def probability():
        return np.clip(theta @ model.components_ + model.mean_, 0.01, 0.99)

    return Fit(probability, f"{model.n_iter_} iterations")
