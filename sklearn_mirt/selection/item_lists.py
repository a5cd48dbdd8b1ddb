"""Lists of chosen items, as evaluation programs take them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import replacing
from sklearn_mirt.data.files.write import write_table

ITEM_LISTS = ("lm-eval", "inspect", "csv")


def write_item_list(
    items, path, *, kind=None, force=False, guard_formulas=False
) -> Path:
    """Write chosen items for the program that is to ask them.

    Parameters
    ----------
    items : DataFrame
        By item id, with `benchmark` (the task) and `doc_id` (the id within it), as
        `read_responses` returns it for logs; only the chosen rows.
    path : path-like
    kind : {"lm-eval", "inspect", "csv"}, default=None
        "lm-eval": JSON `{task: [doc ids]}`, for ``lm_eval --samples FILE``. "inspect":
        the same with sample ids, for :func:`inspect_filter` or ``inspect eval
        --sample-id``. "csv": item id, task and id within it. Default by the ending:
        .csv for "csv", else "lm-eval".
    force : bool, default=False
        Replace an existing file.
    guard_formulas : bool, default=False
        For "csv", see :func:`write_table`; ids that were changed are read back changed.

    Returns
    -------
    path : Path

    Raises
    ------
    ValueError
        The table lacks a column; for "lm-eval", an id that is no number of a document.
    """
    path = Path(path)
    kind = kind or ("csv" if path.suffix == ".csv" else "lm-eval")
    if kind not in ITEM_LISTS:
        raise ValueError(f"kind must be one of {ITEM_LISTS}, got {kind!r}")
    lacking = [name for name in ("benchmark", "doc_id") if name not in items]
    if lacking and kind != "csv":
        raise ValueError(
            f"the item table has no column {lacking[0]!r}, so that items cannot be "
            "named to the program; write kind='csv'"
        )
    if kind == "csv":
        columns = [n for n in ("benchmark", "doc_id") if n in items]
        frame = items[columns].rename_axis(index="item_id").reset_index()
        return write_table(frame, path, force=force, guard_formulas=guard_formulas)
    by_task: dict[str, list] = {}
    for item, task, key in zip(
        items.index, items["benchmark"], items["doc_id"], strict=True
    ):
        by_task.setdefault(str(task), []).append(
            _number(key, item) if kind == "lm-eval" else _native(key)
        )
    chosen = {
        task: sorted(keys, key=lambda key: (isinstance(key, str), key))
        for task, keys in sorted(by_task.items())
    }
    with replacing(path, force) as scratch:
        scratch.write_text(json.dumps(chosen, indent=1) + "\n", encoding="utf-8")
    return path


def inspect_filter(path, task: str):
    """Return a filter for `Dataset.filter` of Inspect that keeps the chosen samples.

    Parameters
    ----------
    path : path-like
        Written by :func:`write_item_list` with kind "inspect".
    task : str
        Name of the task.

    Returns
    -------
    keep : callable
        True for a sample whose id was chosen.

    Examples
    --------
    ``dataset = dataset.filter(inspect_filter("chosen.json", "capitals"))``
    """
    chosen = json.loads(Path(path).read_text(encoding="utf-8"))
    if task not in chosen:
        raise ValueError(f"{path}: no task {task!r}; it has {', '.join(chosen)}")
    keys = {(type(key), key) for key in chosen[task]}
    return lambda sample: (type(sample.id), sample.id) in keys


def _native(key):
    return key.item() if isinstance(key, np.generic) else key


def _number(key, item) -> int:
    try:
        return int(key)
    except (TypeError, ValueError):
        raise ValueError(
            f"item {item!r} has the doc_id {key!r}, which is no number of a document"
        ) from None
