"""Files of item banks, written and read to the last bit.

A bank is written as JSON (small, readable) or Parquet (large; the same header in its
metadata). Neither is executed when read.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from sklearn_mirt.data.checks import object_array
from sklearn_mirt.data.files.atomic import refuse_existing, replacing
from sklearn_mirt.models.item_bank import ItemBank
from sklearn_mirt.models.item_models import TwoPL, get_item_model
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior

FORMAT = "sklearn-mirt item bank"
VERSION = 2
PARAMETERISATION = "slope-intercept"
LOGISTIC = "P = g + (1 - g) sigmoid(a . theta + d), logits"
_PARQUET = {".parquet", ".pq"}
_KEY = b"sklearn_mirt_item_bank"
_EXTRA = "extra_"


class ItemBankError(ValueError):
    """A file is not an item bank, or one that this version cannot read."""


def save_item_bank(bank, path, *, training=None, force=False) -> Path:
    """Save calibrated items to one file.

    Parameters
    ----------
    bank : ItemBank, or fitted MIRTTransformer or MIRTClassifier
    path : path-like
        A name ending in .parquet or .pq is written as Parquet (needs pyarrow; for
        thousands of items), everything else as JSON. The file appears whole or not at
        all.
    training : dict, default=None
        More about where the numbers come from, as plain JSON values.
    force : bool, default=False
        Replace an existing file.

    Returns
    -------
    path : Path

    Raises
    ------
    FileExistsError
        The file is there and `force` is False.
    ItemBankError
        An id or label is neither text, integer, float nor truth value; a parameter is
        not finite.

    Notes
    -----
    See :func:`load_item_bank` for what the file holds.
    """
    path = refuse_existing(path, force)
    if not isinstance(bank, ItemBank):
        bank = ItemBank.from_estimator(bank, training=training)
    _check(bank)
    write = _write_parquet if path.suffix.lower() in _PARQUET else _write_json
    with replacing(path, force) as scratch:
        write(bank, scratch)
    return path


def load_item_bank(path) -> ItemBank:
    """Load an item bank of :func:`save_item_bank`.

    Parameters
    ----------
    path : path-like
        JSON or Parquet, told apart by content.

    Returns
    -------
    bank : ItemBank

    Raises
    ------
    ItemBankError
        Not an item bank, damaged, or of a later version.

    Notes
    -----
    JSON, version 1: `format`, `version`, `model`, `parameterisation`
    ("slope-intercept"), `n_dims`, `n_items`, `rotation`, `ability` (`mean`,
    `correlation`), `groups` (list of `label`, `n_items`, `prior_mean`,
    `prior_covariance`, each over (a, d), intercept last), `training`, and `items` with
    `id`, `group` (place in `groups`), `slopes`, `intercepts`, `guessing`,
    `covariances` (each a flat row of (n_dims + 1)^2 numbers; null where all are 0) and
    `determined` (whether the answers determined the item). Version 2, of other models
    than the logistic one: `model` is a name ("4pl", "graded"), and `items` has
    `extras`, by name.

    Parquet, version 1: the same without `items` as JSON text in the file metadata
    under the key `sklearn_mirt_item_bank`; one row per item with the columns `id`,
    `group`, `slope_1`, ..., `intercept`, `guessing`, `cov_1_1`, ... (row by row) and
    `determined`; in version 2 also `extra_` and the name. Ids that are not all text or
    all integers are JSON text, and the header says `id_encoding` "json".
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            start = file.read(4)
        header, columns = (_read_parquet if start == b"PAR1" else _read_json)(path)
        return _assemble(header, columns)
    except ItemBankError as error:
        raise ItemBankError(f"{path}: {error}") from None
    except OSError as error:
        raise ItemBankError(f"{path}: cannot be read ({error.strerror})") from error
    except (KeyError, TypeError, ValueError, IndexError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ItemBankError(f"{path}: a damaged item bank ({reason})") from error


def is_item_bank(path) -> bool:
    """Return whether a file begins as an item bank; it may still be damaged."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(200)
    if start[:4] != b"PAR1":
        return FORMAT.encode() in start
    try:
        return _KEY in (_pyarrow()[1].read_schema(path).metadata or {})
    except Exception:  # damaged bytes make pyarrow raise all kinds
        return False


def _check(bank: ItemBank) -> None:
    items = bank.items
    names = "slopes", "intercepts", "guessing", "covariances"
    parameters = {name: getattr(items, name) for name in names} | dict(items.extras)
    for name, given in parameters.items():
        values = np.asarray(given)
        bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
        if bad.any():
            raise ItemBankError(
                f"the {name} of item {items.ids[int(np.argmax(bad))]!r} are not finite"
            )
    for noun, values in (("item id", items.ids), ("group", bank.group_labels)):
        for value in values:
            if not isinstance(value, str | int | float | bool | np.generic):
                raise ItemBankError(
                    f"the {noun} {value!r} is a {type(value).__name__}; only text and "
                    "numbers can be saved"
                )


def _header(bank: ItemBank) -> dict:
    prior, logistic = bank.prior, _is_logistic(bank.items)
    return {
        "format": FORMAT,
        # version 1 knew the logistic model only
        "version": 1 if logistic else VERSION,
        "model": LOGISTIC if logistic else bank.items.item_model.name,
        "parameterisation": PARAMETERISATION,
        "n_dims": bank.items.n_dims,
        "n_items": bank.items.n_items,
        "rotation": bank.rotation,
        "ability": {
            "mean": [0.0] * bank.items.n_dims,
            "correlation": bank.ability_correlation.tolist(),
        },
        "groups": [
            {
                "label": _plain(label),
                "n_items": int(size),
                "prior_mean": mean.tolist(),
                "prior_covariance": covariance.tolist(),
            }
            for label, size, mean, covariance in zip(
                bank.group_labels,
                bank.group_sizes,
                prior.means,
                prior.covariances,
                strict=True,
            )
        ],
        "training": bank.training,
    }


def _is_logistic(items: ItemParameters) -> bool:
    """Return whether items are of the model that version 1 knew."""
    return isinstance(items.item_model, TwoPL) and not items.extras


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value


def _dump(value, **options) -> str:
    # NaN is not JSON, and nothing here may be NaN
    return json.dumps(value, ensure_ascii=False, allow_nan=False, **options)


def _write_json(bank: ItemBank, path: Path) -> None:
    items = bank.items
    flat = items.covariances.reshape(items.n_items, -1)
    rows = {
        "id": [_plain(value) for value in items.ids],
        "group": bank.groups.tolist(),
        "slopes": items.slopes.tolist(),
        "intercepts": items.intercepts.tolist(),
        "guessing": items.guessing.tolist(),
        "covariances": flat.tolist() if flat.any() else None,
        "determined": bank.determined.tolist(),
    }
    if items.extras:
        rows["extras"] = {name: v.tolist() for name, v in items.extras.items()}
    text = _dump(_header(bank), indent=1)
    # one line per column of the items: readable and still one JSON value
    lines = ",\n".join(f'  "{key}": {_dump(value)}' for key, value in rows.items())
    text = text.rstrip().removesuffix("}").rstrip()
    path.write_text(f'{text},\n "items": {{\n{lines}\n }}\n}}\n', encoding="utf-8")


def _read_json(path: Path) -> tuple[dict, dict]:
    try:
        document = json.loads(path.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ItemBankError(f"neither JSON nor Parquet ({reason})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ItemBankError("JSON, but no item bank")
    columns = document.pop("items", {})
    return document, columns


def _write_parquet(bank: ItemBank, path: Path) -> None:
    pa, parquet = _pyarrow()
    items, header = bank.items, _header(bank)
    ids = [_plain(value) for value in items.ids]
    if {type(value) for value in ids} not in ({str}, {int}):
        header["id_encoding"] = "json"
        ids = [_dump(value) for value in ids]
    columns = {"id": pa.array(ids), "group": pa.array(bank.groups)}
    for k in range(items.n_dims):
        columns[f"slope_{k + 1}"] = pa.array(items.slopes[:, k].astype(float))
    columns["intercept"] = pa.array(items.intercepts.astype(float))
    columns["guessing"] = pa.array(items.guessing.astype(float))
    for name, (p, q) in _covariance_columns(items.n_dims).items():
        columns[name] = pa.array(items.covariances[:, p, q].astype(float))
    columns["determined"] = pa.array(bank.determined)
    for name, extra in items.extras.items():
        columns[_EXTRA + name] = pa.array(extra.tolist())
    table = pa.table(columns).replace_schema_metadata({_KEY: _dump(header).encode()})
    parquet.write_table(table, path, compression="zstd")


def _read_parquet(path: Path) -> tuple[dict, dict]:
    pa, parquet = _pyarrow()
    try:
        table = parquet.read_table(path)
        # without this, pyarrow reads beyond the buffers of a damaged file
        table.validate(full=True)
    except Exception as error:  # damaged bytes make pyarrow raise all kinds
        reason = " ".join(str(error).split())
        raise ItemBankError(f"not a Parquet file ({reason})") from None
    stored = (table.schema.metadata or {}).get(_KEY)
    if stored is None:
        raise ItemBankError("a Parquet table, but no item bank")
    header = json.loads(stored)
    values = {name: table[name] for name in table.column_names}
    ids = values["id"].to_pylist()
    if header.get("id_encoding") == "json":
        ids = [json.loads(text) for text in ids]
    n_dims = header["n_dims"]
    flat = [values[name].to_numpy() for name in _covariance_columns(n_dims)]
    slopes = [values[f"slope_{k + 1}"].to_numpy() for k in range(n_dims)]
    return header, {
        "id": ids,
        "group": values["group"].to_numpy(),
        "slopes": np.column_stack(slopes),
        "intercepts": values["intercept"].to_numpy(),
        "guessing": values["guessing"].to_numpy(),
        "covariances": np.column_stack(flat),
        "determined": values["determined"].to_numpy(),
        "extras": {
            name.removeprefix(_EXTRA): column.to_pylist()
            for name, column in values.items()
            if name.startswith(_EXTRA)
        },
    }


def _covariance_columns(n_dims: int) -> dict[str, tuple[int, int]]:
    k = n_dims + 1
    return {f"cov_{p + 1}_{q + 1}": (p, q) for p in range(k) for q in range(k)}


def _pyarrow():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ItemBankError(
            "Parquet needs pyarrow; pip install 'sklearn-mirt[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet


# what the header must say: a test of the value, and what is wrong where it fails
_HEADER = {
    "version": (
        lambda version: version <= VERSION,
        "an item bank of version {}; this sklearn-mirt reads up to version "
        f"{VERSION}: update it",
    ),
    "parameterisation": (
        lambda name: name == PARAMETERISATION,
        "unknown parameterisation {!r}",
    ),
    "n_dims": (lambda n: n >= 1, "a damaged item bank: {} dimensions"),
}


def _assemble(header: dict, columns: dict) -> ItemBank:
    for name, (is_right, message) in _HEADER.items():
        if not is_right(header[name]):
            raise ItemBankError(message.format(header[name]))
    items, d = _items(header, columns), header["n_dims"]
    groups = np.array(columns["group"], dtype=np.int64)
    determined = np.array(columns["determined"], dtype=bool)
    _check_columns(header, items, groups, determined)
    listed = header["groups"]
    prior = GroupPrior(
        np.array([group["prior_mean"] for group in listed]),
        np.array([group["prior_covariance"] for group in listed]),
    )
    bank = ItemBank(
        items,
        groups,
        object_array([group["label"] for group in listed]),
        np.array([group["n_items"] for group in listed]),
        prior,
        np.array(header["ability"]["correlation"], dtype=float).reshape(d, d),
        header["rotation"],
        header["training"],
        None if determined.all() else determined,
    )
    _check(bank)
    return bank


def _items(header: dict, columns: dict) -> ItemParameters:
    n, d = header["n_items"], header["n_dims"]
    flat = columns["covariances"]
    flat = np.zeros((n, (d + 1) ** 2)) if flat is None else np.array(flat, dtype=float)
    model, extras = header["model"], columns.get("extras", {})
    return ItemParameters(
        np.array(columns["slopes"], dtype=float).reshape(n, d),
        np.array(columns["intercepts"], dtype=float),
        np.array(columns["guessing"], dtype=float),
        flat.reshape(n, d + 1, d + 1),
        object_array(columns["id"]),
        "2pl" if model == LOGISTIC else get_item_model(model).name,
        {name: np.array(values, dtype=float) for name, values in extras.items()},
    )


def _check_columns(header, items, groups, determined) -> None:
    n = header["n_items"]
    columns = items.ids, items.intercepts, items.guessing, groups, determined
    if {len(column) for column in (*columns, *items.extras.values())} != {n}:
        raise ItemBankError(f"a damaged item bank: not {n} values in every column")
    if len(set(items.ids)) != n:
        raise ItemBankError("a damaged item bank: item ids repeat")
    if n and not (0 <= groups.min() and groups.max() < len(header["groups"])):
        raise ItemBankError("a damaged item bank: an item's group is not listed")
