"""Fetches the items and the 100-example lists of tinyBenchmarks.

They are published as one pickle. It is read by an unpickler that builds numbers, text,
lists, dicts and numpy arrays, and nothing else; and its checksum is known.
"""

from __future__ import annotations

# for _NumbersOnly alone, which builds arrays of numbers
import pickle  # nosec B403

import numpy as np
from sklearn.utils import Bunch

from sklearn_mirt.datasets.fetching import cache_folder, fetch_file
from sklearn_mirt.models.item_bank import ItemBank
from sklearn_mirt.models.items import ItemParameters

TINY_URL = (
    "https://raw.githubusercontent.com/felipemaiapolo/tinyBenchmarks/"
    "74577e0bd1921dd2adf489d3487a6e1ccbb08b82/tinyBenchmarks/tinyBenchmarks.pkl"
)
# found at two independent users of the file, 5,230,626 bytes
TINY_SHA256 = "c3b6e426dfe7b100fe6d0ee960398e10a8763254bcead3be80cc6bc15abca284"
TINY_BENCHMARKS = ("lb", "mmlu", "helm_lite", "alpaca")

_ARRAYS = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}
# what the pickle module, or a look into something else, ends in
_DAMAGED = (
    *(pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError),
    *(AttributeError, OverflowError),
)


class _NumbersOnly(pickle.Unpickler):
    """Refuses everything but what arrays of numbers are made of."""

    def find_class(self, module, name):
        if (module, name) not in _ARRAYS:
            raise pickle.UnpicklingError(f"{module}.{name} is no array of numbers")
        return super().find_class(module, name)


def fetch_tiny_benchmarks(
    benchmark="mmlu", *, folder=None, url=TINY_URL, sha256=TINY_SHA256
):
    """Fetch the item parameters and the chosen examples of tinyBenchmarks.

    Parameters
    ----------
    benchmark : str, default="mmlu"
        lb (the Open LLM Leaderboard, six scenarios), mmlu, helm_lite or alpaca.
    folder : path-like, default=None
        See :func:`sklearn_mirt.datasets.fetching.cache_folder`.
    url, sha256 : str
        Where the file is, and what its checksum must be.

    Returns
    -------
    data : Bunch
        bank (ItemBank: logit sum_d (a_d theta_d - b_d), so that d = -sum_d b_d);
        item_table (DataFrame by item id: benchmark, subset); examples (item ids of the
        examples to ask, in the order of the published data sets); weights (Series by
        item id: share of the scenario that an example stands for); paths.

    Raises
    ------
    OSError
        The file is neither in the cache nor reachable.
    ValueError
        Unknown benchmark, another checksum, or a file of another form.

    References
    ----------
    Maia Polo et al. (2024), *tinyBenchmarks: evaluating LLMs with fewer examples*.
    Licence of the data: MIT.
    """
    if benchmark not in TINY_BENCHMARKS:
        names = ", ".join(TINY_BENCHMARKS)
        raise ValueError(f"benchmark must be one of {names}; got {benchmark!r}")
    place = cache_folder(folder) / "tiny-benchmarks"
    path = fetch_file(url, "tinyBenchmarks.pkl", folder=place, sha256=sha256)
    try:
        with path.open("rb") as file:
            content = _NumbersOnly(file).load()[benchmark]
        return Bunch(**_assembled(content), paths=[path])
    except _DAMAGED as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: not the file of tinyBenchmarks ({reason})") from None


def _assembled(content: dict) -> dict:
    import pandas as pd

    table = _item_table(content)
    # (1, n_dims, n_items) both
    slopes, b = (np.asarray(content["irt_parameters"][k], float)[0].T for k in "AB")
    n, d = slopes.shape
    if n != len(table):
        raise ValueError(f"{n} items have parameters, {len(table)} a scenario")
    items = ItemParameters(
        slopes, -b.sum(axis=1), np.zeros(n), np.zeros((n, d + 1, d + 1)),
        table.index.to_numpy(dtype=object),
    )  # fmt: skip
    seen = np.asarray(content["seen_examples"], dtype=int)
    weights = pd.Series(np.nan, index=table.index[seen], name="weight")
    for scenario, values in content["examples_weights"].items():
        weights[table.loc[weights.index, "benchmark"] == scenario] = np.ravel(values)
    return {
        "bank": ItemBank.from_items(items, training={"source": "tinyBenchmarks"}),
        "item_table": table,
        "examples": table.index[seen].to_numpy(dtype=object),
        "weights": weights,
    }


def _item_table(content: dict):
    """Return scenario and subscenario of each item, by `<scenario>/<number in it>`."""
    import pandas as pd

    rows = {}
    for scenario, places in content["scenarios_position"].items():
        for number, place in enumerate(places):
            rows[int(place)] = [f"{scenario}/{number}", scenario, None]
    for subsets in content["subscenarios_position"].values():
        for subset, places in subsets.items():
            for place in places:
                rows[int(place)][2] = str(subset)
    columns = ["item_id", "benchmark", "subset"]
    ordered = [rows[place] for place in sorted(rows)]
    return pd.DataFrame(ordered, columns=columns).set_index("item_id")
