"""Answers to short tests, simulated for exact fits."""

import numpy as np
from scipy.special import expit


def simulate(n=400, n_items=8, n_dims=1, seed=0):
    """Return responses, slopes and intercepts of a two-parameter model."""
    rng = np.random.default_rng(seed)
    slopes = rng.lognormal(0.0, 0.3, (n_items, n_dims))
    slopes *= np.arange(n_items)[:, None] % n_dims == np.arange(n_dims)
    intercepts = rng.normal(size=n_items)
    theta = rng.normal(size=(n, n_dims))
    p = expit(theta @ slopes.T + intercepts)
    return (rng.random(p.shape) < p) * 1.0, slopes, intercepts
