"""Joint posterior mode by L-BFGS: theta, a ~ N(0, 1), d ~ N(0, 3^2)."""

import numpy as np

from libraries import Fit, sigmoid


def fit(X, n_dims, groups):
    from scipy.optimize import minimize

    (n, p), d = X.shape, n_dims
    seen, y = (X >= 0).astype(float), (X == 1).astype(float)
    rng = np.random.default_rng(0)
    rate = (y.sum(0) + 1) / (seen.sum(0) + 2)
    start = [rng.normal(0, 0.5, (n + p) * d), np.log(rate / (1 - rate))]

    def parts(x):
        theta = x[: n * d].reshape(n, d)
        return theta, x[n * d : (n + p) * d].reshape(p, d), x[(n + p) * d :]

    def objective(x):
        theta, a, b = parts(x)
        eta = theta @ a.T + b
        value = (seen * np.logaddexp(0, eta)).sum() - (y * eta).sum()
        value += 0.5 * ((theta**2).sum() + (a**2).sum() + (b**2).sum() / 9)
        rest = seen * sigmoid(eta) - y
        slopes = rest @ a + theta, rest.T @ theta + a, rest.sum(0) + b / 9
        return value, np.concatenate([part.ravel() for part in slopes])

    options = {"maxiter": 500, "maxfun": 10**6}
    found = minimize(
        objective, np.concatenate(start), jac=True, method="L-BFGS-B", options=options
    )
    theta, a, b = parts(found.x)
    return Fit(lambda: sigmoid(theta @ a.T + b), f"{found.nit} iterations")
