"""Item parameters from and for other programs: py-irt, catsim, R mirt.

Two ways of writing a logit are in use. This package and R mirt write a . theta + d;
py-irt and catsim write a . (theta - b), so that

    d = -a . b,        and in one dimension        b = -d / a

In several dimensions only a . b is known, not b: :func:`to_difficulties` gives the
shortest b, which lies along a. All are on the logistic scale, without the constant
1.702.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from sklearn_mirt.data.checks import name_some
from sklearn_mirt.data.files.atomic import replacing
from sklearn_mirt.data.files.tables import (
    FileFormatError,
    read_table,
    to_number,
)
from sklearn_mirt.data.files.write import csv_text
from sklearn_mirt.models.item_bank import ItemBank
from sklearn_mirt.models.items import ItemParameters

_PYIRT_MODELS = ("1pl", "2pl", "multidim_2pl", "amortized_1pl")


def to_difficulties(items: ItemParameters) -> np.ndarray:
    """Return the shortest b with a . (theta - b) = a . theta + d.

    Parameters
    ----------
    items : ItemParameters

    Returns
    -------
    difficulties : ndarray of shape (n_items, n_dims)
        ``b_j = -d_j a_j / |a_j|^2``, in prior standard deviations of ability.

    Raises
    ------
    ValueError
        An item without slope but with an intercept: no b gives its probability.
    """
    squared = (items.slopes**2).sum(axis=1)
    flat = (squared == 0) & (items.intercepts != 0)
    if flat.any():
        raise ValueError(
            f"item {items.ids[int(np.argmax(flat))]!r} has slope 0 and intercept "
            f"{items.intercepts[int(np.argmax(flat))]:g}: a . (theta - b) cannot say "
            "that"
        )
    scale = -items.intercepts / np.where(squared > 0, squared, 1)
    return scale[:, None] * items.slopes


def from_difficulties(slopes, difficulties, *, ids, guessing=None) -> ItemParameters:
    """Return items of the logit a . (theta - b) as a . theta + d.

    Parameters
    ----------
    slopes, difficulties : array-like of shape (n_items, n_dims) or (n_items,)
        a and b.
    ids : array-like of shape (n_items,)
    guessing : array-like of shape (n_items,), default=None
        Floors; default none.

    Returns
    -------
    items : ItemParameters
        Known exactly: covariances are zero.
    """
    a = np.asarray(slopes, dtype=float)
    b = np.asarray(difficulties, dtype=float)
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    return _items(a, -(a * b).sum(axis=1), guessing, ids)


def _items(slopes, intercepts, guessing, ids) -> ItemParameters:
    n, d = slopes.shape
    names = np.empty(n, dtype=object)
    names[:] = list(ids)
    floors = np.zeros(n) if guessing is None else np.asarray(guessing, dtype=float)
    return ItemParameters(
        slopes, intercepts, floors, np.zeros((n, d + 1, d + 1)), names
    )


# ---- py-irt


def write_pyirt(bank, path, *, abilities=None, force=False) -> Path:
    """Write items as py-irt's JSON of parameters.

    Parameters
    ----------
    bank : ItemBank
    path : path-like
    abilities : Abilities, default=None
        Written as `ability` and `subject_ids`.
    force : bool, default=False
        Replace an existing file.

    Returns
    -------
    path : Path

    Raises
    ------
    ValueError
        Items with a guessing floor, which py-irt's models up to two parameters lack, or
        without slope.
    """
    items = bank.items
    if items.guessing.any():
        k = int(np.argmax(items.guessing > 0))
        raise ValueError(
            f"item {items.ids[k]!r} has a guessing floor of {items.guessing[k]:g}; "
            "py-irt's multidimensional model has none"
        )
    one = items.n_dims == 1
    diff, disc = to_difficulties(items), items.slopes
    mean = np.zeros((0, items.n_dims)) if abilities is None else abilities.mean
    subjects = [] if abilities is None else abilities.ids
    document = {
        "ability": (mean[:, 0] if one else mean).tolist(),
        "diff": (diff[:, 0] if one else diff).tolist(),
        "disc": (disc[:, 0] if one else disc).tolist(),
        "irt_model": "2pl" if one else "multidim_2pl",
        "item_ids": {str(k): str(name) for k, name in enumerate(items.ids)},
        "subject_ids": {str(k): str(name) for k, name in enumerate(subjects)},
    }
    with replacing(path, force) as scratch:
        scratch.write_text(json.dumps(document, allow_nan=False), encoding="utf-8")
    return Path(path)


def read_pyirt(path, *, standardise=True) -> ItemBank:
    """Read py-irt's JSON of parameters: 1pl, 2pl or multidim_2pl.

    Parameters
    ----------
    path : path-like
        `parameters.json` or `best_parameters.json` of py-irt, as BenchMIRT writes them
        too. `disc` is taken as the slope itself.
    standardise : bool, default=True
        Move the abilities of the file to mean 0 and standard deviation 1 in each
        dimension, and the items with them, which changes no probability. py-irt learns
        mean and spread; a score on the items here assumes 0 and 1.

    Returns
    -------
    bank : ItemBank
        `training` names the origin.

    Raises
    ------
    FileFormatError
        Not such a file, or a 3pl or 4pl: their upper asymptote has no place here.
    """
    document = _json_object(path)
    missing = {"diff", "item_ids"} - document.keys()
    if missing:
        raise FileFormatError(f"{path}: no parameters of py-irt, {missing} is missing")
    model = document.get("irt_model", "2pl")
    if model not in _PYIRT_MODELS or "lambdas" in document:
        raise FileFormatError(
            f"{path}: the model is {model!r}; only {name_some(_PYIRT_MODELS)} can be "
            "read"
        )
    try:
        diff = np.array(document["diff"], dtype=float)
        disc = np.array(document.get("disc", np.ones_like(diff)), dtype=float)
        ability = np.array(document.get("ability", []), dtype=float)
        names = document["item_ids"]
        ids = [names[str(k)] for k in range(len(diff))]
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path}: damaged ({error!r})") from None
    if diff.shape != disc.shape or not np.isfinite([diff, disc]).all():
        raise FileFormatError(
            f"{path}: diff has shape {diff.shape}, disc {disc.shape}; both must be "
            "finite and of one shape"
        )
    items = from_difficulties(disc, diff, ids=ids)
    if standardise and len(ability) > 1:
        ability = ability.reshape(len(ability), -1)
        items = _rescaled(items, ability.mean(axis=0), ability.std(axis=0), path)
    about = {"origin": "py-irt", "file": Path(path).name, "irt_model": model}
    return ItemBank.from_items(items, training=about)


def _rescaled(items, mean, spread, path) -> ItemParameters:
    """Return the items for z = (theta - mean) / spread in place of theta."""
    if not (spread > 0).all():
        raise FileFormatError(f"{path}: all abilities are the same; standardise=False")
    return _items(
        items.slopes * spread,
        items.intercepts + items.slopes @ mean,
        items.guessing,
        items.ids,
    )


def _json_object(path) -> dict:
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise FileFormatError(f"{path}: not JSON ({error})") from None
    if not isinstance(document, dict):
        raise FileFormatError(f"{path}: a JSON object was expected")
    return document


# ---- catsim


def to_catsim(bank) -> np.ndarray:
    """Return items as the matrix that catsim takes.

    Parameters
    ----------
    bank : ItemBank
        Of one dimension.

    Returns
    -------
    matrix : ndarray of shape (n_items, 4)
        Columns a, b, c (floor) and d (ceiling, 1), in the order of the items.

    Raises
    ------
    ValueError
        More than one dimension, or an item without slope.
    """
    items = bank.items
    if items.n_dims != 1:
        raise ValueError(f"catsim knows one dimension, the items have {items.n_dims}")
    b = to_difficulties(items)
    return np.column_stack([items.slopes, b, items.guessing, np.ones(items.n_items)])


def from_catsim(matrix, *, ids=None) -> ItemBank:
    """Return a bank of catsim's item matrix.

    Parameters
    ----------
    matrix : array-like of shape (n_items, 4 or more)
        Columns a, b, c, d; more columns (exposure rates) are ignored.
    ids : array-like of shape (n_items,), default=None
        Default 0, 1, 2...

    Returns
    -------
    bank : ItemBank

    Raises
    ------
    ValueError
        A ceiling other than 1.
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] < 4:
        raise ValueError(f"an item matrix has columns a, b, c, d; got {matrix.shape}")
    ids = list(range(len(matrix))) if ids is None else list(ids)
    _refuse_ceiling(matrix[:, 3], ids, "the item matrix")
    items = from_difficulties(
        matrix[:, 0], matrix[:, 1], ids=ids, guessing=matrix[:, 2]
    )
    return ItemBank.from_items(items, training={"origin": "catsim"})


def _refuse_ceiling(ceilings, ids, where) -> None:
    if (ceilings != 1).any():
        k = int(np.argmax(ceilings != 1))
        raise ValueError(
            f"{where}: item {ids[k]!r} has a ceiling of {ceilings[k]:g}; only 1 is "
            "known here"
        )


# ---- R mirt


def write_mirt_table(bank, path, *, force=False, guard_formulas=False) -> Path:
    """Write items as the table of ``coef(fit, simplify=TRUE)$items`` of R mirt.

    Parameters
    ----------
    bank : ItemBank
    path : path-like
        CSV with the columns item, a1, ..., d, g, u.
    force : bool, default=False
        Replace an existing file.
    guard_formulas : bool, default=False
        Put an apostrophe before item ids that a spreadsheet would take for a formula;
        they are read back with it.

    Returns
    -------
    path : Path

    Notes
    -----
    The covariance of abilities (`coef(fit)$cov`) is not in this table; for an oblique
    rotation it is in ``bank.ability_correlation``.
    """
    import pandas as pd

    items = bank.items
    columns: dict = {"item": [str(name) for name in items.ids]}
    columns |= {f"a{k + 1}": a for k, a in enumerate(items.slopes.T)}
    columns |= {"d": items.intercepts, "g": items.guessing, "u": 1}
    text = csv_text(pd.DataFrame(columns), guard_formulas=guard_formulas)
    with replacing(path, force) as scratch:
        scratch.write_text(text, encoding="utf-8", newline="")
    return Path(path)


def read_mirt_table(path, *, ability_correlation=None) -> ItemBank:
    """Read the item table of R mirt, as `write.csv` writes it.

    Parameters
    ----------
    path : path-like
        The first column holds item ids; then a1, a2, ..., d and, where the model has
        them, g and u. With columns `a` (or a1) and `b`, the table of ``IRTpars=TRUE``,
        the logit is read as a (theta - b).
    ability_correlation : array-like of shape (n_dims, n_dims), default=None
        `coef(fit)$cov`; default the identity.

    Returns
    -------
    bank : ItemBank

    Raises
    ------
    FileFormatError
        Columns are missing or hold no numbers.
    ValueError
        A ceiling `u` other than 1, or a table of graded items.
    """
    table = read_table(path)
    names = table.names
    slopes = [k for k, n in enumerate(names) if k and n in {"a", *_numbered(names)}]
    graded = [n for n in names if n.startswith("d") and n[1:].isdigit() and n != "d"]
    if graded:
        raise FileFormatError(f"{path}: graded items (column {graded[0]!r})")
    if not slopes or not {"d", "b"} & set(names):
        raise FileFormatError(
            f"{path}: no item table of R mirt, which has a1, ..., d; the columns are "
            f"{name_some(names)}"
        )
    ids = table.unique_ids(0, "item")
    read = {n: _column(table, n) for n in ("d", "b", "g", "u") if n in names}
    a = np.column_stack([_column(table, names[k]) for k in slopes])
    ceiling = read.get("u", np.ones(len(ids)))
    _refuse_ceiling(ceiling, ids, path)
    if "d" in read:
        items = _items(a, read["d"], read.get("g"), ids)
    else:
        items = from_difficulties(a, read["b"], ids=ids, guessing=read.get("g"))
    correlation = None
    if ability_correlation is not None:
        correlation = np.asarray(ability_correlation, dtype=float)
    about = {"origin": "R mirt", "file": Path(path).name}
    return ItemBank.from_items(items, ability_correlation=correlation, training=about)


def _numbered(names) -> list[str]:
    return [n for n in names if n[:1] == "a" and n[1:].isdigit()]


def _column(table, name) -> np.ndarray:
    """Return a column in double precision; a parameter may not be missing."""
    column = table.find(name)
    values = [to_number(text) for text in table.texts(column)]
    for row, value in enumerate(values):
        if value is None or not np.isfinite(value):
            raise FileFormatError(
                f"{table.path}, {table.place(row)}, column {name!r}: not a number"
            )
    return np.array(values)
