"""Constructor parameters of the estimators: what each may be."""

import numbers
import os

import numpy as np

from sklearn_mirt.models.rotation.criteria import ROTATION_METHODS

_SOLVERS = ("auto", "variational", "quadrature")
_ITEM_MODELS = ("2pl", "1pl", "rasch", "3pl")


def _is_integer(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _whole(low):
    return lambda v: _is_integer(v) and v >= low


def _one_of(*values):
    return lambda v: any(v is w or (isinstance(v, str) and v == w) for w in values)


def _is_flag(value):
    return isinstance(value, bool | np.bool_)


def _is_seed(value):
    if _is_integer(value):
        return 0 <= value < 2**32
    return value is None or isinstance(value, np.random.RandomState)


# rotations to a target need one, which is no constructor parameter
_ROTATIONS = (None, *(m for m in ROTATION_METHODS if not m.startswith("target")))
_PARAMETERS = {
    "n_dims": (
        lambda v: _whole(1)(v) or (isinstance(v, str) and v == "auto"),
        "an integer of at least 1 or 'auto'",
    ),
    "solver": (_one_of(*_SOLVERS), f"one of {_SOLVERS}"),
    "item_model": (_one_of(*_ITEM_MODELS), f"one of {_ITEM_MODELS}"),
    "rotation": (_one_of(*_ROTATIONS), f"one of {_ROTATIONS}"),
    "correlated": (_is_flag, "True or False"),
    "positive_slopes": (_is_flag, "True or False"),
    "max_iter": (_whole(1), "an integer of at least 1"),
    "tol": (
        lambda v: isinstance(v, numbers.Real) and float(v) >= 0,
        "a number >= 0",
    ),
    "device": (_one_of("cpu", "cuda"), "'cpu' or 'cuda'"),
    "dtype": (
        _one_of("auto", "float32", "float64"),
        "'auto', 'float32' or 'float64'",
    ),
    "n_jobs": (
        lambda v: v is None or (isinstance(v, numbers.Integral) and v != 0),
        "None or an integer other than 0",
    ),
    "random_state": (
        _is_seed,
        "None, an integer in [0, 2**32) or a numpy RandomState",
    ),
    "verbose": (
        lambda v: _is_flag(v) or _whole(0)(v),
        "True, False or an integer of at least 0",
    ),
    "warm_start": (_is_flag, "True or False"),
    "checkpoint_dir": (
        lambda v: v is None or isinstance(v, str | os.PathLike),
        "None or the path of a folder",
    ),
    "handle_unknown": (_one_of("prior", "error"), "'prior' or 'error'"),
}


def check_parameters(estimator):
    """Check constructor parameters; the message names parameter, value and wish.

    Raises
    ------
    ValueError
        A value is not allowed.
    """
    for name, value in estimator.get_params(deep=False).items():
        if name not in _PARAMETERS:
            continue
        valid, wish = _PARAMETERS[name]
        if not valid(value):
            raise ValueError(
                f"The {name!r} parameter of {type(estimator).__name__} must be {wish}, "
                f"got {value!r}"
            )
