"""How an audit was made: versions, settings, a fingerprint of the answers."""

import hashlib
import platform
from datetime import UTC, datetime
from importlib import metadata

import numpy as np

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pandas")


def fingerprint(data):
    """Return a SHA-256 of ids and answers, as hexadecimal digits.

    Equal for equal tables, whatever layout they were read from; any other id, order or
    answer gives another one.

    Parameters
    ----------
    data : ResponseData

    Returns
    -------
    digest : str
    """
    digest = hashlib.sha256()
    for ids in (data.respondents, data.items):
        for name in ids:
            digest.update(repr(name).encode("utf-8", "backslashreplace") + b"\n")
    item, respondent, scores, weights = data.cells()
    for array, kind in ((item, "<i8"), (respondent, "<i8"), (scores, "<f4")):
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    if weights is not None:
        digest.update(np.ascontiguousarray(weights, dtype="<f4").data)
    return digest.hexdigest()


def provenance(estimator, data, settings, seconds):
    """Return what is needed to make an audit again, as plain JSON values.

    Parameters
    ----------
    estimator : fitted MIRTTransformer
    data : ResponseData
    settings : dict
        Settings of the audit.
    seconds : float
        Time it took.

    Returns
    -------
    about : dict
        made, seconds, fingerprint, n_respondents, n_items, n_answers, settings, model
        (parameters of the estimator), solver, n_iter, converged, versions.
    """
    parameters = estimator.get_params(deep=False)
    parameters["item_groups"] = f"{len(estimator.groups_)} groups"
    versions = {"sklearn-mirt": _version("sklearn-mirt")}
    versions |= {name: _version(name) for name in _LIBRARIES}
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "fingerprint": fingerprint(data),
        "n_respondents": data.n_respondents,
        "n_items": data.n_items,
        "n_answers": int(data.n_observed),
        "settings": settings,
        "model": {name: _plain(value) for name, value in parameters.items()},
        "solver": str(getattr(estimator, "solver_", "")),
        "n_iter": int(estimator.n_iter_),
        "converged": bool(estimator.converged_),
        "versions": {**versions, "Python": platform.python_version()},
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _plain(value):
    simple = value is None or isinstance(value, str | bool | int | float)
    return value if simple else type(value).__name__
