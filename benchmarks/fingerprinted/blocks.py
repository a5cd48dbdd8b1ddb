"""Blocks: named functions that yield results, and how one is run."""

import warnings
from functools import partial

from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from fingerprinted.digest import describe, leaves
from sklearn_mirt import exceptions

BLOCKS = {}
_TOLD = (
    ConvergenceWarning,
    UndefinedMetricWarning,
    exceptions.NotConvergedWarning,
    exceptions.ResponseDataWarning,
)


def block(name, *args):
    """Register a generator function of (name, result), called with `args`."""

    def register(function):
        if name in BLOCKS:
            raise ValueError(f"two blocks are called {name!r}")
        BLOCKS[name] = partial(function, *args)
        return function

    return register


def run_block(name):
    """Return the fingerprints of a block: its results, its warnings, its error."""
    found = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for key, leaf in _results(name):
                if key in found:
                    raise ValueError(f"two results are called {key!r}")
                found[key] = describe(leaf)
        except Exception as error:  # one block must not stop the others
            text = " ".join(str(error).split())[:300]
            found[f"{name}: ERROR {type(error).__name__}: {text}"] = ""
    told = {_as_text(w) for w in caught if issubclass(w.category, _TOLD)}
    found[f"{name}: warnings"] = describe(sorted(told))
    return found


def _results(name):
    for key, value in BLOCKS[name]():
        yield from leaves(f"{name}: {key}", value)


def _as_text(warning):
    return f"{warning.category.__name__}: {warning.message}"
