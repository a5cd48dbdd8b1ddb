"""girth's multidimensional marginal maximum likelihood; abilities by their mode."""

import numpy as np

from libraries import Fit, sigmoid


def fit(X, n_dims, groups):
    from girth.multidimensional import multidimensional_twopl_mml
    from girth.utilities.utils import INVALID_RESPONSE

    answers = np.where(X < 0, INVALID_RESPONSE, X.astype(int)).T
    found = multidimensional_twopl_mml(answers, n_dims)
    a, d = np.asarray(found["Discrimination"]), np.asarray(found["Difficulty"])
    return Fit(lambda: sigmoid(_modes(X, a, d) @ a.T + d))


def _modes(X, a, d, n_steps=30):
    """Newton steps to the mode of each respondent's posterior."""
    seen, theta = X >= 0, np.zeros((len(X), a.shape[1]))
    for _ in range(n_steps):
        p = sigmoid(theta @ a.T + d)
        gradient = (seen * (X - p)) @ a - theta
        weight = seen * p * (1 - p)
        curvature = np.einsum("nj,jp,jq->npq", weight, a, a) + np.eye(a.shape[1])
        theta += np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
    return theta
