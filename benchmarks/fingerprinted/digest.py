"""Hashes of results: from a value to canonical bytes to a short SHA-256."""

import dataclasses
import hashlib

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator

from sklearn_mirt import ResponseData

# what a fitted object keeps for its own use, of classes that are not public
_INTERNAL = {
    "bank_",
    "calibration_",
    "exact_fit_",
    "item_model_",
    "problem_",
    "sharded_abilities_",
    "surrogate_",
}
_EXACT_FIT = (
    *("items", "slopes", "extras", "intercepts", "guessing", "ceiling", "mdisc"),
    *("mdiff", "ability_covariance", "free", "nodes", "log_base", "adaptive", "rule"),
    *("log_likelihood", "log_prior", "log_likelihoods", "converged", "n_iter"),
    *("gradient_norm", "n_respondents", "categories", "information", "covariance"),
    *("determined", "n_parameters", "aic", "bic", "sabic"),
)


def leaves(name, value):
    """Yield the names and values that a result is made of.

    Dataclasses, dictionaries, fitted estimators, exact fits and responses are taken
    apart, so that a difference tells where it is.
    """
    parts = _parts(value)
    if parts is None:
        yield name, value
        return
    for part, inner in parts.items():
        yield from leaves(f"{name}.{part}", inner)


def _parts(value):
    if isinstance(value, dict):
        return value
    if isinstance(value, BaseEstimator):
        kept = {k: v for k, v in vars(value).items() if k.endswith("_")}
        return {k: v for k, v in kept.items() if k[0] != "_" and k not in _INTERNAL}
    if isinstance(value, ResponseData):
        names = ("respondents", "items", "is_sparse", "n_observed")
        return {n: getattr(value, n) for n in names} | {"scores": value.to_wide()}
    if hasattr(value, "parameter_table"):
        table = {"parameters": value.parameter_table()}
        return {n: getattr(value, n) for n in _EXACT_FIT} | table
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return None


def describe(value):
    """Return the short hash of a value, and of numbers their shape and mean."""
    digest = hashlib.sha256()
    _feed(digest.update, value)
    return f"{digest.hexdigest()[:16]}{_hint(value)}"


def _hint(value):
    """Return what helps to see how far two values are apart."""
    if isinstance(value, float):
        return f" {float(value)!r}"
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        known = value[np.isfinite(value)]
        mean = float(known.mean(dtype=np.float64)) if known.size else np.nan
        return f" {value.dtype}{list(value.shape)} mean {mean!r}"
    return ""


def _feed(add, value):
    """Feed canonical bytes of a value: its kind, its size, its content."""
    if isinstance(value, pd.DataFrame):
        _feed_all(add, b"frame", [list(value.columns), *_labels(value.index)])
        for k in range(value.shape[1]):
            _feed(add, value.iloc[:, k].to_numpy())
    elif isinstance(value, pd.Series):
        _feed_all(add, b"series", [value.name, *_labels(value.index)])
        _feed(add, value.to_numpy())
    elif sparse.issparse(value):
        coo = value.tocoo()
        _feed_all(add, b"sparse", [value.shape, coo.row, coo.col, coo.data])
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        add(f"array{value.dtype.str}{value.shape}".encode())
        add(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.ndarray):
        _feed_all(add, f"objects{value.shape}".encode(), value.ravel().tolist())
    elif isinstance(value, list | tuple):
        _feed_all(add, b"list", value)
    else:
        _feed_one(add, value)


def _labels(index):
    return list(index.names), index.to_numpy()


def _feed_all(add, kind, values):
    add(kind + f"({len(values)})".encode())
    for value in values:
        _feed(add, value)


def _feed_one(add, value):
    if isinstance(value, bytes):
        add(f"bytes{len(value)}:".encode() + value)
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        add(f"text{len(text)}:".encode() + text)
    elif isinstance(value, float):
        add(f"float {float(value).hex()};".encode())
    elif isinstance(value, np.generic):
        _feed(add, np.asarray(value))
    elif value is None or value is pd.NA or isinstance(value, int):
        add(f"{value!r};".encode())
    elif isinstance(value, dict | BaseEstimator) or dataclasses.is_dataclass(value):
        pairs = list(leaves("", value))
        _feed_all(add, b"parts", [text for pair in pairs for text in pair])
    else:
        raise TypeError(f"no fingerprint of a {type(value).__name__}")
