"""One adapter per package, all with the same signature.

``bench_<name>.fit(X, n_dims, groups)`` takes int8 answers (n_respondents, n_items),
-1 where missing, and returns a :class:`Fit`. An adapter imports its package inside
`fit`, so that an absent one is a reason to skip it and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

LIBRARIES = (
    "sklearn_mirt",
    "additive",
    "factor_analysis",
    "naive_map",
    "py_irt",
    "mirt",
    "girth",
    "torch_measure",
    "theta_irt",
)


@dataclass(frozen=True, eq=False)
class Fit:
    """What an adapter returns.

    Parameters
    ----------
    probability : function without arguments
        Returns the probability of a right answer in every cell, an array
        (n_respondents, n_items); called outside the time that is taken.
    note : str
        Passes, epochs; what was left out.
    full_seconds : float or None
        CPU seconds of the published recipe where it was extrapolated from fewer epochs.
    """

    probability: Callable[[], np.ndarray]
    note: str = ""
    full_seconds: float | None = None


def get_fit(name):
    """Return the fit function of an adapter."""
    return import_module(f"libraries.bench_{name}").fit


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(x, dtype=float)))


def with_nan(X):
    """Return float answers, NaN where missing."""
    return np.where(X < 0, np.nan, X.astype(float))
