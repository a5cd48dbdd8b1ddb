"""From numbers to verdicts, on made-up numbers."""

import numpy as np
import pytest

from sklearn_mirt.audit.findings import VERDICTS, Measure, Namer, Thresholds, describe

LIMITS = Thresholds()
REAL = np.array([True, True])


def measure(r, *, name="A", mean=0.5, q=0.001, width=0.1, label=None, benchmark=None):
    r = np.asarray(r, dtype=float)
    q = np.broadcast_to(q, r.shape)
    return Measure(name, mean, r, q, r - width, r + width, label, benchmark or name)


# Benchmarks that give two labels their dimensions.
OTHERS = [
    measure([0.9, 0.2], name="R1", label="reasoning"),
    measure([0.8, 0.1], name="R2", label="reasoning"),
    measure([0.2, 0.9], name="S1", label="safety"),
    measure([0.1, 0.8], name="S2", label="safety"),
]


def verdict(m, parts=(), others=OTHERS, real=REAL):
    namer = Namer([*others, m], 2, LIMITS, real)
    kind, sentence = describe(m, list(parts), namer, LIMITS, real)
    assert kind in VERDICTS
    assert m.name in sentence
    return kind, sentence


@pytest.mark.parametrize(
    ("r", "options", "expected"),
    [
        ([0.9, 0.1], {"label": "reasoning"}, "measures what it says"),
        ([0.9, 0.1], {"label": "safety"}, "measures another dimension"),
        ([0.9, 0.1], {}, "measures"),
        ([0.9, 0.1], {"label": "humour"}, "measures"),
        ([-0.9, 0.1], {"label": "reasoning"}, "reversed"),
        ([0.9, 0.1], {"mean": 0.95}, "saturated"),
        ([0.9, 0.1], {"mean": 0.04}, "saturated"),
        ([0.2, 0.1], {}, "not measurable"),
        ([0.9, 0.1], {"q": 0.2}, "not measurable"),
        ([np.nan, np.nan], {}, "not measurable"),
        ([0.7, 0.65], {}, "mixed"),
        # the larger correlation may be chance, the smaller one is not
        ([0.61, 0.62], {"q": np.array([0.001, 0.09])}, "mixed"),
        ([0.33, 0.60], {"q": np.array([0.04, 0.09])}, "mixed"),
        ([0.7, 0.2], {"q": np.array([0.001, 0.9])}, "measures"),
        # another dimension leads, but the stated one is not clearly behind
        ([0.75, 0.6], {"label": "safety", "width": 0.2}, "mixed"),
    ],
)
def test_verdicts(r, options, expected):
    assert verdict(measure(r, **options))[0] == expected


def test_numbers_and_names_are_in_the_sentence():
    _, sentence = verdict(measure([0.9, 0.1], label="safety", q=0.01))
    assert "reasoning (r = 0.90 [0.80, 1.00], adjusted p = 0.010)" in sentence
    assert "not safety (r = 0.10 [0.00, 0.20]" in sentence


def test_a_benchmark_does_not_vouch_for_itself():
    # alone under its label it cannot be said to measure what it says
    alone = measure([0.1, 0.9], label="humour")
    assert verdict(alone)[0] == "measures"
    # and the others of its label decide, not its own correlation
    odd = measure([0.1, 0.9], label="reasoning")
    assert verdict(odd)[0] == "measures another dimension"


def test_subsets_that_disagree_are_named():
    parts = [
        measure([0.9, 0.1], name="A / x", benchmark="A"),
        measure([0.8, 0.2], name="A / y", benchmark="A"),
        measure([0.1, 0.9], name="A / z", benchmark="A"),
    ]
    kind, sentence = verdict(measure([0.7, 0.5]), parts)
    assert kind == "mixed"
    assert "x, y go with reasoning (r = 0.85); z go with safety" in sentence


@pytest.mark.parametrize(
    "other",
    [
        {"r": [0.45, 0.5]},  # leads elsewhere, by a hair
        {"r": [0.1, 0.9], "q": 0.3},  # not beyond chance
        {"r": [0.1, 0.9], "mean": 0.97},  # saturated
        {"r": [0.5, 0.7], "width": 0.3},  # intervals overlap
    ],
)
def test_subsets_that_may_agree_are_not_called_mixed(other):
    parts = [
        measure([0.7, 0.3], name="A / x", benchmark="A"),
        measure(**other, name="A / y", benchmark="A"),
    ]
    assert verdict(measure([0.8, 0.4]), parts)[0] == "measures"


def test_a_dimension_that_does_not_replicate_measures_nothing():
    real = np.array([True, False])
    kind, sentence = verdict(measure([0.1, 0.9]), real=real)
    assert kind == "not measurable"
    assert "does not come out of both halves" in sentence


def test_dimensions_get_names_from_labels_or_numbers():
    assert Namer(OTHERS, 2, LIMITS, REAL).names == ["reasoning", "safety"]
    assert Namer(OTHERS[:2], 2, LIMITS, REAL).names == ["reasoning", "dimension 2"]
    unlabelled = [measure([0.9, 0.1])]
    assert Namer(unlabelled, 2, LIMITS, REAL).names == ["dimension 1", "dimension 2"]
    many = [
        measure([0.9 - 0.01 * k, 0.1], name=f"B{k}", label=f"topic {k}")
        for k in range(6)
    ]
    names = Namer(many, 2, LIMITS, REAL).names
    assert names[0] == "topic 0 + topic 1 + topic 2 + 3 more"
    noise = np.array([True, False])
    assert Namer(OTHERS, 2, LIMITS, noise).names == ["reasoning", "dimension 2"]
