"""Plain-language findings: from a row of correlations to a verdict and a sentence."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Thresholds:
    """When a finding gets its name.

    Parameters
    ----------
    level : float
        Adjusted p-values above it are not called a correlation.
    weak : float
        Correlations smaller in size are not said to measure anything.
    saturated : float
        Mean scores within it of 0 or 1 leave too little room.
    clear : float
        By how much the leading correlation must exceed the next, in size, for a
        benchmark to measure one dimension rather than several.
    """

    level: float = 0.05
    weak: float = 0.3
    saturated: float = 0.1
    clear: float = 0.1


def describe(name, row, parts, thresholds):
    """Return the verdict on a benchmark or subset and a sentence about it.

    Parameters
    ----------
    name : str or tuple
        Benchmark, or (benchmark, subset).
    row : Series
        mean_score, r_dim*, q_dim*.
    parts : DataFrame or None
        The same for its subsets.
    thresholds : Thresholds

    Returns
    -------
    verdict : {"saturated", "not measurable", "reversed", "mixed", "several", "measures"}
    sentence : str
    """
    label = " / ".join(str(part) for part in name) if isinstance(name, tuple) else name
    r, q = _dimensions(row, "r_"), _dimensions(row, "q_")
    mean = row["mean_score"]
    if np.isnan(r).all():
        return "not measurable", f"{label} cannot be judged: its scores do not vary."
    leading = int(np.nanargmax(np.abs(r)))
    listed = ", ".join(f"r = {value:.2f} with dimension {k + 1}" for k, value in enumerate(r))
    if min(mean, 1 - mean) < thresholds.saturated:
        side = "almost everything right" if mean > 0.5 else "almost everything wrong"
        return "saturated", (
            f"{label} is saturated: respondents get {side} (mean score {mean:.0%}), "
            f"which leaves little to measure ({listed})."
        )
    if abs(r[leading]) < thresholds.weak or q[leading] > thresholds.level:
        return "not measurable", (
            f"{label} does not clearly measure any of the {len(r)} dimension(s) "
            f"({listed})."
        )
    disagreeing = _disagreement(parts, thresholds)
    if disagreeing:
        return "mixed", f"{label} is mixed, its parts disagree: {disagreeing}."
    others = np.delete(np.abs(r), leading)
    if r[leading] < 0:
        return "reversed", (
            f"{label} runs backwards on dimension {leading + 1}: more able respondents "
            f"score lower ({listed})."
        )
    if len(others) and np.nanmax(others) > abs(r[leading]) - thresholds.clear:
        return "several", f"{label} measures several dimensions at once ({listed})."
    return "measures", f"{label} measures dimension {leading + 1} ({listed})."


def _dimensions(row, prefix):
    return np.array(
        [row[column] for column in row.index if column.startswith(prefix + "dim")],
        dtype=float,
    )


def _disagreement(parts, thresholds):
    """Say which parts measure what, if they differ in dimension or sign."""
    if parts is None:
        return None
    said, kinds = [], set()
    for subset, row in parts.iterrows():
        r, q = _dimensions(row, "r_"), _dimensions(row, "q_")
        if np.isnan(r).all():
            continue
        k = int(np.nanargmax(np.abs(r)))
        if abs(r[k]) < thresholds.weak or q[k] > thresholds.level:
            continue
        kinds.add((k, r[k] > 0))
        said.append(f"{subset} follows dimension {k + 1} (r = {r[k]:.2f})")
    return "; ".join(said) if len(kinds) > 1 else None
