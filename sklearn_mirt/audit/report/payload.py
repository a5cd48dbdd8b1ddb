"""What the script of the report needs: items, respondents, answers, as compact JSON."""

import base64
import zlib

import numpy as np

from sklearn_mirt.audit.tables import (
    average_information,
    is_backwards,
    is_saturated_item,
)
from sklearn_mirt.plots import dimensions_of

# Beyond it, who answered what is left out of the file (24 MB of the 25 are not ours).
MOST_PACKED_BYTES = 9_000_000
_MOST_CELLS = 60_000_000
_LONGEST_TEXT = 2_000
_MOST_TEXT = 10_000_000
_LEVELS = 250  # of a score between wrong and right
_MISSING = 255


def explorer_payload(audit, texts=None):
    """Return items, respondents and answers for the script.

    Parameters
    ----------
    audit : BenchmarkAudit
    texts : mapping or Series, default=None
        Text of each item by id.

    Returns
    -------
    payload : dict of plain JSON values
    """
    dims = dimensions_of(audit.items, "slope_")
    return {
        "dims": [str(name) for name in audit.dimensions["name"]],
        "items": _items(audit, dims, texts),
        "respondents": _respondents(audit, dims),
        "answers": packed_answers(audit.responses),
    }


def _items(audit, dims, texts):
    table = audit.items
    benchmarks, of_item = _coded(table["benchmark"])
    guessing = np.asarray(audit.estimator.item_parameters_.guessing, dtype=float)
    out = {
        "id": [str(name) for name in table.index],
        "benchmarks": benchmarks,
        "benchmark": of_item,
        "slopes": [_rounded(table[f"slope_{d}"]) for d in dims],
        "errors": [_rounded(table[f"se_slope_{d}"], 2) for d in dims],
        "intercept": _rounded(table["intercept"], 2),
        "guessing": _rounded(guessing) if guessing.any() else None,
        "mdisc": _rounded(table["mdisc"], 2),
        "mean": _rounded(table["mean_score"]),
        "n": table["n_answers"].astype(int).tolist(),
        "information": _rounded(average_information(audit.estimator)),
        "backwards": np.flatnonzero(is_backwards(table, dims)).tolist(),
        "saturated": np.flatnonzero(is_saturated_item(table)).tolist(),
        "text": _texts(table, texts),
    }
    if "subset" in table:
        out["subsets"], out["subset"] = _coded(table["subset"])
    if "beats_null" in table:
        out["null"] = np.flatnonzero(~table["beats_null"].to_numpy(bool)).tolist()
    return out


def _texts(table, texts):
    if texts is not None:
        found = [texts.get(item, "") for item in table.index]
    elif "text" in table:
        found = table["text"].tolist()
    else:
        return None
    shown = [str(text)[:_LONGEST_TEXT] for text in found]
    # what would make the file too large is cut alike for all items
    room = max(40, _MOST_TEXT // max(len(shown), 1))
    if sum(map(len, shown)) > _MOST_TEXT:
        shown = [text if len(text) <= room else f"{text[:room]}…" for text in shown]
    return shown


def _respondents(audit, dims):
    table = audit.abilities
    out = {
        "id": [str(name) for name in table.index],
        "ability": [_rounded(table[d]) for d in dims],
        "error": [_rounded(table[f"se_{d}"]) for d in dims],
        "mean": _rounded(table["mean_score"]),
        "n": table["n_answers"].astype(int).tolist(),
    }
    if f"rank_{dims[0]}" in table:
        for column in ("rank", "low_rank", "high_rank", "n_tied"):
            out[column] = [table[f"{column}_{d}"].astype(int).tolist() for d in dims]
    return out


def packed_answers(data):
    """Return all answers, item after item, as base64 of a compressed table of bytes.

    0/1 answers take two bits each: 0 wrong, 1 right, 2 missing; four respondents a
    byte, the first in the lowest bits. Other scores take a byte: 250 times the score,
    255 where missing.

    Parameters
    ----------
    data : ResponseData or None

    Returns
    -------
    answers : dict with "bits", "stride" (bytes per item) and "bytes"; None where there
        are too many to be carried in a file.
    """
    if data is None or data.n_respondents * data.n_items > _MOST_CELLS:
        return None
    item, respondent, scores, _ = data.cells()
    scores = np.asarray(scores, dtype=float)
    shape = (data.n_items, data.n_respondents)
    if np.isin(scores, (0.0, 1.0)).all():
        width = -(-shape[1] // 4) * 4
        codes = np.full((shape[0], width), 2, dtype=np.uint8)
        codes[item, respondent] = scores
        fours = codes.reshape(shape[0], -1, 4) << np.array([0, 2, 4, 6], np.uint8)
        table, bits = np.bitwise_or.reduce(fours, axis=2), 2
    else:
        table, bits = np.full(shape, _MISSING, dtype=np.uint8), 8
        table[item, respondent] = np.round(_LEVELS * scores)
    packed = zlib.compress(table.tobytes(), 6)
    if len(packed) > MOST_PACKED_BYTES:
        return None
    return {
        "bits": bits,
        "stride": table.shape[1],
        "bytes": base64.b64encode(packed).decode("ascii"),
    }


def _coded(values):
    """Names in order of appearance, and the code of each value."""
    names: dict[str, int] = {}
    codes = [names.setdefault(str(value), len(names)) for value in values]
    return list(names), codes


def _rounded(values, digits=3):
    """Return rounded floats as a list; None for what is not a number."""
    rounded = np.round(np.asarray(values, dtype=float), digits) + 0.0
    return [value if np.isfinite(value) else None for value in rounded.tolist()]
