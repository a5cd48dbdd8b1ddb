"""The item bank: everything a later score needs of a fit, in one open file.

A bank is written as JSON (small, readable) or Parquet (large; the same header in its
metadata). Neither is executed when read. Every number comes back to the last bit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import refuse_existing, replacing
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.priors import GroupPrior

FORMAT = "sklearn-mirt item bank"
VERSION = 1
PARAMETERISATION = "slope-intercept"
MODEL = "P = g + (1 - g) sigmoid(a . theta + d), logits"
_PARQUET = {".parquet", ".pq"}
_KEY = b"sklearn_mirt_item_bank"


class ItemBankError(ValueError):
    """A file is no item bank, or one that this version cannot read."""


@dataclass(frozen=True, eq=False)
class ItemBank:
    """Calibrated items with what is needed to score respondents on them.

    Parameters
    ----------
    items : ItemParameters
        Slopes, intercepts, guessing floors, posterior covariances and ids.
    groups : ndarray of shape (n_items,)
        Group of each item, as a place in `group_labels`.
    group_labels : ndarray of shape (n_groups,)
        Group labels.
    group_sizes : ndarray of shape (n_groups,)
        Number of items of each group in the fit.
    prior : GroupPrior
        Learned prior of (a_j, d_j), by group.
    ability_correlation : ndarray of shape (n_dims, n_dims)
        Covariance of ability in the population, whose mean is 0.
    rotation : str or None
        Rotation that the slopes are in.
    training : dict
        Where the numbers come from: package version, solver, settings, sizes, the
        lower bound; plain JSON values. Free to hold more.
    known : ndarray of shape (n_items,), default=None
        Whether the answers determined all parameters of the item: without, it has no
        standard errors. Default: all.
    """

    items: ItemParameters
    groups: np.ndarray
    group_labels: np.ndarray
    group_sizes: np.ndarray
    prior: GroupPrior
    ability_correlation: np.ndarray
    rotation: str | None = None
    training: dict = field(default_factory=dict)
    known: np.ndarray | None = None

    @property
    def determined(self):
        """Return whether the answers determined each item, shape (n_items,)."""
        if self.known is None:
            return np.ones(self.items.n_items, dtype=bool)
        return self.known

    @classmethod
    def from_items(cls, items, *, ability_correlation=None, training=None):
        """Build a bank of items from elsewhere: one group, a vague prior.

        Parameters
        ----------
        items : ItemParameters
        ability_correlation : ndarray of shape (n_dims, n_dims), default=None
            Default: the identity.
        training : dict, default=None

        Returns
        -------
        bank : ItemBank
        """
        n, d = items.slopes.shape
        return cls(
            items,
            np.zeros(n, dtype=np.int64),
            np.array(["all"], dtype=object),
            np.array([n]),
            GroupPrior.vague(1, d),
            np.eye(d) if ability_correlation is None else ability_correlation,
            None,
            dict(training or {}),
        )

    @classmethod
    def from_estimator(cls, estimator, *, training=None):
        """Build a bank from a fitted MIRTTransformer or MIRTClassifier.

        Parameters
        ----------
        estimator : fitted estimator
        training : dict, default=None
            More about the data (files, versions), added to what the fit knows.

        Returns
        -------
        bank : ItemBank
        """
        from sklearn_mirt._version import __version__

        place = {label: k for k, label in enumerate(estimator.groups_)}
        exact = getattr(estimator, "log_likelihoods_", None)
        bounds = estimator.lower_bounds_ if exact is None else exact
        about = {
            "sklearn_mirt": __version__,
            "estimator": type(estimator).__name__,
            "solver": estimator.solver_,
            "item_model": estimator.item_model,
            "q_matrix": estimator.q_matrix is not None,
            "positive_slopes": bool(estimator.positive_slopes),
            "n_respondents": len(estimator.respondents_),
            "n_iter": int(estimator.n_iter_),
            "converged": bool(estimator.converged_),
            "lower_bound": float(bounds[-1]) if len(bounds) else None,
            **({} if estimator.correlated else {"correlated": False}),
            **(training or {}),
        }
        return cls(
            estimator.item_parameters_,
            np.array([place[label] for label in estimator.item_groups_], dtype=int),
            estimator.groups_,
            np.asarray(estimator.group_sizes_),
            GroupPrior(estimator.item_prior_means_, estimator.item_prior_covariances_),
            estimator.ability_correlation_,
            None if estimator.positive_slopes else estimator.rotation,
            about,
            None if estimator.determined_.all() else estimator.determined_,
        )

    def take(self, index):
        """Return the bank of the items at `index` (an integer or boolean array)."""
        return ItemBank(
            self.items.take(index),
            self.groups[index],
            self.group_labels,
            self.group_sizes,
            self.prior,
            self.ability_correlation,
            self.rotation,
            self.training,
            None if self.known is None else self.known[index],
        )


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
        No item bank, damaged, or of a later version.

    Notes
    -----
    JSON, version 1: `format`, `version`, `model`, `parameterisation`
    ("slope-intercept"), `n_dims`, `n_items`, `rotation`, `ability` (`mean`,
    `correlation`), `groups` (list of `label`, `n_items`, `prior_mean`,
    `prior_covariance`, each over (a, d), intercept last), `training`, and `items` with
    `id`, `group` (place in `groups`), `slopes`, `intercepts`, `guessing`,
    `covariances` (each a flat row of (n_dims + 1)^2 numbers; null where all are 0) and
    `determined` (whether the answers determined the item).

    Parquet, version 1: the same without `items` as JSON text in the file metadata
    under the key `sklearn_mirt_item_bank`; one row per item with the columns `id`,
    `group`, `slope_1`, ..., `intercept`, `guessing`, `cov_1_1`, ... (row by row) and
    `determined`. Ids
    that are not all text or all integers are JSON text, and the header says
    `id_encoding` "json".
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
    for name in ("slopes", "intercepts", "guessing", "covariances"):
        values = np.asarray(getattr(items, name))
        bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
        if bad.any():
            raise ItemBankError(
                f"the {name} of item {items.ids[int(np.argmax(bad))]!r} are not finite"
            )
    for kind, values in (("item id", items.ids), ("group", bank.group_labels)):
        for value in values:
            if not isinstance(value, str | int | float | bool | np.generic):
                raise ItemBankError(
                    f"the {kind} {value!r} is a {type(value).__name__}; only text and "
                    "numbers can be saved"
                )


def _header(bank: ItemBank) -> dict:
    prior = bank.prior
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": MODEL,
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


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value


def _dump(value, **options) -> str:
    # NaN is no JSON, and nothing here may be NaN
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
    kinds = {type(value) for value in ids}
    if kinds not in ({str}, {int}):
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


def _assemble(header: dict, columns: dict) -> ItemBank:
    if header["version"] > VERSION:
        raise ItemBankError(
            f"an item bank of version {header['version']}; this sklearn-mirt reads up "
            f"to version {VERSION}: update it"
        )
    if header["parameterisation"] != PARAMETERISATION:
        raise ItemBankError(f"unknown parameterisation {header['parameterisation']!r}")
    n, d = header["n_items"], header["n_dims"]
    ids = np.empty(len(columns["id"]), dtype=object)
    ids[:] = columns["id"]
    flat = columns["covariances"]
    flat = np.zeros((n, (d + 1) ** 2)) if flat is None else np.array(flat, dtype=float)
    items = ItemParameters(
        np.array(columns["slopes"], dtype=float).reshape(n, d),
        np.array(columns["intercepts"], dtype=float),
        np.array(columns["guessing"], dtype=float),
        flat.reshape(n, d + 1, d + 1),
        ids,
    )
    groups = np.array(columns["group"], dtype=np.int64)
    determined = np.array(columns["determined"], dtype=bool)
    sizes = map(len, (ids, items.intercepts, items.guessing, groups, determined))
    if set(sizes) != {n}:
        raise ItemBankError(f"a damaged item bank: not {n} values in every column")
    if len(set(columns["id"])) != n:
        raise ItemBankError("a damaged item bank: item ids repeat")
    labels = np.empty(len(header["groups"]), dtype=object)
    labels[:] = [group["label"] for group in header["groups"]]
    if n and not (0 <= groups.min() and groups.max() < len(labels)):
        raise ItemBankError("a damaged item bank: an item's group is not listed")
    bank = ItemBank(
        items,
        groups,
        labels,
        np.array([group["n_items"] for group in header["groups"]]),
        GroupPrior(
            np.array([group["prior_mean"] for group in header["groups"]]),
            np.array([group["prior_covariance"] for group in header["groups"]]),
        ),
        np.array(header["ability"]["correlation"], dtype=float).reshape(d, d),
        header["rotation"],
        header["training"],
        None if determined.all() else determined,
    )
    _check(bank)
    return bank
