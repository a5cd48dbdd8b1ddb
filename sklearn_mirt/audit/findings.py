"""Plain-language findings: from correlations to a verdict and a sentence.

A verdict is one of

    measures what it says       leads on the dimension that its label stands for
    measures another dimension  leads, beyond error, on one that it does not state
    measures                    leads on one dimension; nothing stated to compare
    mixed                       subsets disagree, or several dimensions at once
    reversed                    the more able score lower
    saturated                   mean score near 0 or 1
    not measurable              no correlation beyond error with a real dimension

A dimension is real if the abilities from two halves of the items agree; correlations
are tested across the halves, so that no answer is on both sides, and adjusted for the
number of tests.
"""

from dataclasses import dataclass, replace

import numpy as np

VERDICTS = (
    "measures what it says",
    "measures another dimension",
    "measures",
    "mixed",
    "reversed",
    "saturated",
    "not measurable",
)
_MOST_NAMED = 4


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
        benchmark to measure one dimension rather than several; and twice this, beyond
        overlapping intervals, for two subsets to disagree.
    real : float
        Congruence of the abilities from two halves of the items, as a share of what so
        many items allow, under which a dimension is taken for noise. A dimension with a
        congruence of 0.95 or more replicates.
    stated : float
        A label stands for a dimension where the median correlation of its other
        benchmarks with the dimension is at least this.
    """

    level: float = 0.05
    weak: float = 0.3
    saturated: float = 0.1
    clear: float = 0.1
    real: float = 0.7
    stated: float = 0.5


@dataclass(frozen=True, eq=False)
class Measure:
    """What is known of one benchmark or subset.

    Parameters
    ----------
    name : str
        As in the sentence.
    mean : float
        Mean score.
    r, q, low, high : ndarrays of shape (n_dims,)
        Correlations with the dimensions, adjusted p-values, ends of the intervals.
    label : str or None
        What it is stated to measure.
    benchmark : object
        The benchmark it is, or is a part of.
    counted : boolean ndarray of shape (n_dims,) or None
        Which correlations count; see `judged`.
    """

    name: str
    mean: float
    r: np.ndarray
    q: np.ndarray
    low: np.ndarray
    high: np.ndarray
    label: str | None
    benchmark: object
    counted: np.ndarray | None = None

    def judged(self, thresholds, real):
        """Return the measure with `counted`: correlations beyond error and chance.

        None of a saturated measure, and none with a dimension that is not real.
        """
        with np.errstate(invalid="ignore"):
            counted = (np.abs(self.r) >= thresholds.weak) & (self.q <= thresholds.level)
        room = not is_saturated(self.mean, thresholds)
        return replace(self, counted=counted & real & room)

    @property
    def counts(self):
        """Return whether it measures anything."""
        return self.counted is not None and bool(self.counted.any())

    @property
    def leading(self):
        """Return the dimension of the largest correlation that counts, if any does."""
        sizes = np.abs(self.r)
        if self.counted is not None and self.counted.any():
            sizes = np.where(self.counted, sizes, -1.0)
        return int(np.nanargmax(sizes))

    def leads(self, thresholds):
        """Return whether the leading correlation is clearly the largest in size."""
        k, sizes = self.leading, np.abs(self.r)
        others = np.delete(sizes, k)
        return not len(others) or bool(sizes[k] - others.max() >= thresholds.clear)


def is_saturated(mean, thresholds):
    """Return whether a mean score is too near 0 or 1."""
    return min(mean, 1 - mean) < thresholds.saturated


class Namer:
    """What the stated labels say of the dimensions, and the dimensions' names.

    Parameters
    ----------
    measures : list of Measure
        The benchmarks.
    n_dims : int
    thresholds : Thresholds
    real : boolean ndarray of shape (n_dims,)

    Notes
    -----
    A label stands for the dimension on which the median correlation of its benchmarks
    is largest. For the finding of a benchmark the median is over the *other* benchmarks
    of its label, so that it cannot vouch for itself. A dimension is named after the
    labels that stand for it, most correlated first.
    """

    def __init__(self, measures, n_dims, thresholds, real):
        self._measures = [m for m in measures if m.label]
        self._thresholds, self._real = thresholds, real
        named: list[list] = [[] for _ in range(n_dims)]
        for label in dict.fromkeys(m.label for m in self._measures):
            k, r = self._stands_for(label, None)
            if k is not None:
                named[k].append((-r, label))
        self.names = [
            _listed([label for _, label in sorted(labels)], " + ")
            if labels
            else f"dimension {k + 1}"
            for k, labels in enumerate(named)
        ]

    def stated(self, measure):
        """Return the dimension that the label stands for among others, or None."""
        if not measure.label:
            return None
        return self._stands_for(measure.label, measure.benchmark)[0]

    def _stands_for(self, label, without):
        rows = [
            m.r
            for m in self._measures
            if m.label == label
            and m.benchmark != without
            and not np.isnan(m.r).any()
            and not is_saturated(m.mean, self._thresholds)
        ]
        if not rows:
            return None, np.nan
        median = np.where(self._real, np.median(rows, axis=0), -1.0)
        k = int(np.argmax(median))
        return (k, median[k]) if median[k] >= self._thresholds.stated else (None, 0.0)


def describe(measure, parts, namer, thresholds, real):
    """Return the verdict on a benchmark or subset and a sentence about it.

    Parameters
    ----------
    measure : Measure
    parts : list of Measure
        Its subsets; empty where it has none.
    namer : Namer
    thresholds : Thresholds
    real : boolean ndarray of shape (n_dims,)
        Which dimensions are real.

    Returns
    -------
    verdict : str
        One of `VERDICTS`.
    sentence : str
    """
    name, r = measure.name, measure.r
    if np.isnan(r).all():
        return "not measurable", (
            f"{name} cannot be judged: too few respondents have scores on it, or all "
            "have the same."
        )
    measure = measure.judged(thresholds, real)
    k = measure.leading
    if is_saturated(measure.mean, thresholds):
        side = "almost everything right" if measure.mean > 0.5 else "almost all wrong"
        return "saturated", (
            f"{name} is saturated: respondents get {side} (mean score "
            f"{measure.mean:.0%}), which leaves little to measure "
            f"({_numbers(measure, k, namer)})."
        )
    if not measure.counts:
        return "not measurable", _unmeasurable(measure, namer, real, thresholds)
    disagreeing = _disagreement(parts, namer, thresholds, real)
    if disagreeing:
        return "mixed", f"{name} is mixed, its subsets disagree: {disagreeing}."
    if r[k] < 0:
        return "reversed", (
            f"{name} runs backwards: more able respondents score lower "
            f"({_numbers(measure, k, namer)})."
        )
    return _positive(measure, namer, thresholds)


def _positive(measure, namer, thresholds):
    """Verdict on a measure whose leading correlation is positive and beyond error."""
    name, r, k = measure.name, measure.r, measure.leading
    stated = namer.stated(measure)
    if not measure.leads(thresholds):
        others = np.delete(np.arange(len(r)), k)
        near = others[np.abs(r[others]) > abs(r[k]) - thresholds.clear]
        listed = ", ".join(_numbers(measure, d, namer) for d in (k, *near))
        return "mixed", f"{name} is mixed: it goes with several dimensions ({listed})."
    found = f"{namer.names[k]} ({_numbers(measure, k, namer, named=False)})"
    if stated is None:
        return "measures", f"{name} measures {found}."
    if stated == k:
        return "measures what it says", f"{name} measures what it says: {found}."
    instead = f"{namer.names[stated]} ({_numbers(measure, stated, namer, named=False)})"
    if abs(r[stated]) < thresholds.weak or measure.high[stated] < measure.low[k]:
        return "measures another dimension", (
            f"{name} measures another dimension than it says: {found}, not {instead}."
        )
    return "mixed", f"{name} is mixed: {found}, but also the stated {instead}."


def _unmeasurable(measure, namer, real, thresholds):
    """Say why a measure does not count."""
    k = measure.leading
    numbers = _numbers(measure, k, namer)
    if not real[k] and abs(measure.r[k]) >= thresholds.weak:
        return (
            f"{measure.name} is not measurable here: it goes with a dimension that "
            f"does not come out of both halves of the items ({numbers})."
        )
    return (
        f"{measure.name} is not measurable here: no clear correlation with any of the "
        f"{len(measure.r)} dimension(s) (largest: {numbers})."
    )


def _disagreement(parts, namer, thresholds, real):
    """Say which parts measure what, if two of them clearly differ."""
    parts = [p.judged(thresholds, real) for p in parts]
    parts = [p for p in parts if p.counts and p.leads(thresholds)]
    kinds: dict[tuple, list] = {}
    for part in parts:
        k = part.leading
        kinds.setdefault((k, part.r[k] > 0), []).append(part)
    groups = list(kinds.items())
    differ = any(
        _differ(a, b, thresholds)
        for i, (_, first) in enumerate(groups)
        for _, second in groups[i + 1 :]
        for a in first
        for b in second
    )
    if not differ:
        return None
    said = []
    for (k, rising), members in sorted(groups, key=lambda item: -len(item[1])):
        names = [str(m.name).rpartition(" / ")[2] for m in members]
        verb = "go with" if rising else "run against"
        r = np.median([m.r[k] for m in members])
        said.append(f"{_listed(names)} {verb} {namer.names[k]} (r = {r:.2f})")
    return "; ".join(said)


def _differ(first, second, thresholds):
    """Return whether two parts differ on the leading dimension of one, beyond error."""
    for a, b in ((first, second), (second, first)):
        k = a.leading
        sign = np.sign(a.r[k])
        gap = sign * (a.r[k] - b.r[k])
        apart = a.low[k] > b.high[k] if sign > 0 else a.high[k] < b.low[k]
        if gap > 2 * thresholds.clear and apart:
            return True
    return False


def _numbers(measure, k, namer, named=True):
    text = f"r = {measure.r[k]:.2f}"
    if np.isfinite(measure.low[k]):
        text += f" [{measure.low[k]:.2f}, {measure.high[k]:.2f}]"
    if np.isfinite(measure.q[k]):
        q = measure.q[k]
        text += ", adjusted p < 0.001" if q < 0.001 else f", adjusted p = {q:.3f}"
    return f"{text}, with {namer.names[k]}" if named else text


def _listed(names, separator=", "):
    if len(names) <= _MOST_NAMED:
        return separator.join(names)
    more = len(names) - _MOST_NAMED + 1
    return separator.join([*names[: _MOST_NAMED - 1], f"{more} more"])
