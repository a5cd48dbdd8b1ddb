"""Simulators return the truth they draw from; LSAT-7 is the published table."""

import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from sklearn_mirt.datasets import load_lsat7, make_benchmark_suite, make_responses

# Where the published figure is a single number, the realised one is this close.
PUBLISHED = [
    ("MMLU-Pro", "reasoning", 0.97, 0.03),
    ("BBH", "reasoning", 0.94, 0.03),
    ("GPQA", "reasoning", 0.81, 0.06),
    ("BBQ", "reasoning", 0.85, 0.05),
    ("BBQ", "safety", -0.06, 0.08),
    ("WMDP", "reasoning", -0.89, 0.03),
]


@pytest.fixture(scope="module", params=[0, 1, 2])
def suite(request):
    """Full suites of several seeds: the findings must not hang on one of them."""
    return make_benchmark_suite(random_state=request.param)


class TestMakeResponses:
    def test_shapes_and_ids(self):
        data = make_responses(12, 30, 3, n_groups=4, random_state=0)
        assert data.responses.shape == data.probabilities.shape == (12, 30)
        assert data.abilities.shape == (12, 3)
        assert data.slopes.shape == (30, 3)
        assert data.intercepts.shape == data.guessing.shape == (30,)
        assert set(np.unique(data.responses)) == {0.0, 1.0}
        assert len(set(data.respondent_ids)) == 12
        assert len(set(data.item_ids)) == 30
        sizes = np.unique(data.item_groups, return_counts=True)[1]
        assert sorted(sizes) == [7, 7, 8, 8]

    def test_same_seed_same_bytes(self):
        first = make_responses(10, 20, missing=0.3, random_state=4)
        again = make_responses(10, 20, missing=0.3, random_state=4)
        other = make_responses(10, 20, missing=0.3, random_state=5)
        assert_array_equal(first.responses, again.responses)
        assert not np.array_equal(first.abilities, other.abilities)

    def test_generator_is_accepted_and_advanced(self):
        rng = np.random.default_rng(0)
        first = make_responses(5, 6, random_state=rng)
        second = make_responses(5, 6, random_state=rng)
        assert not np.array_equal(first.abilities, second.abilities)
        assert_array_equal(
            first.abilities, make_responses(5, 6, random_state=0).abilities
        )

    def test_probabilities_are_the_model(self):
        data = make_responses(
            40, 25, 2, guessing=np.linspace(0, 0.4, 25), random_state=1
        )
        chance = expit(data.abilities @ data.slopes.T + data.intercepts)
        floor = data.guessing
        assert_allclose(data.probabilities, floor + (1 - floor) * chance, rtol=1e-12)

    def test_frequencies_follow_probabilities(self):
        data = make_responses(400, 500, 2, guessing=0.2, random_state=2)
        edges = np.linspace(0.2, 1, 9)
        bins = np.digitize(data.probabilities, edges[1:-1])
        for b in range(8):
            cells = bins == b
            p, y = data.probabilities[cells], data.responses[cells]
            error = np.sqrt((p * (1 - p)).sum()) / cells.sum()
            assert abs(p.mean() - y.mean()) < 4.5 * error

    def test_ability_moments(self):
        correlation = np.array([[1, 0.5, -0.2], [0.5, 1, 0.1], [-0.2, 0.1, 1]])
        data = make_responses(
            20_000, 2, 3, ability_correlation=correlation, random_state=0
        )
        assert_allclose(np.cov(data.abilities.T), correlation, atol=0.04)
        assert_allclose(data.ability_correlation, correlation)

    def test_given_parameters_are_used_and_not_changed(self):
        slopes, intercepts = np.zeros((4, 1)), np.array([-50.0, 50.0, -50.0, 50.0])
        kept = slopes.copy(), intercepts.copy()
        data = make_responses(
            9, 4, 1, slopes=slopes, intercepts=intercepts, random_state=0
        )
        assert_array_equal(data.responses, np.tile([0.0, 1.0, 0.0, 1.0], (9, 1)))
        data.slopes[:], data.intercepts[:] = 7, 7
        assert_array_equal(slopes, kept[0])
        assert_array_equal(intercepts, kept[1])

    def test_missing_share(self):
        data = make_responses(200, 300, missing=0.25, random_state=0)
        share = np.isnan(data.responses).mean()
        assert abs(share - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / 60_000)
        # Gaps hide answers, they do not change them.
        whole = make_responses(200, 300, random_state=0).responses
        seen = ~np.isnan(data.responses)
        assert_array_equal(data.responses[seen], whole[seen])

    def test_default_slopes_have_near_simple_structure(self):
        slopes = make_responses(2, 999, 3, random_state=0).slopes
        own = np.arange(999) % 3
        assert (slopes.argmax(axis=1) == own).mean() > 0.97
        assert_allclose(np.median(slopes[np.arange(999), own]), 1, atol=0.05)

    def test_as_frame(self):
        plain = make_responses(5, 8, 2, random_state=0)
        framed = make_responses(5, 8, 2, random_state=0, as_frame=True)
        assert_array_equal(framed.responses.to_numpy(), plain.responses)
        assert list(framed.responses.index) == list(framed.abilities.index)
        assert list(framed.responses.columns) == list(framed.slopes.index)
        assert isinstance(framed.item_groups, pd.Series)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_respondents": 0}, "n_respondents must be a positive integer, got 0"),
            ({"n_items": 2.5}, "n_items must be a positive integer, got 2.5"),
            ({"n_dims": -1}, "n_dims must be a positive integer"),
            ({"n_items": 3, "n_groups": 4}, "n_groups=4 exceeds n_items=3"),
            ({"missing": 1.0}, r"missing must be in \[0, 1\), got 1.0"),
            ({"guessing": 1.0}, r"guessing must be in \[0, 1\)"),
            ({"guessing": [0.1, 0.2]}, "guessing must have shape"),
            ({"slopes": np.ones((3, 2))}, r"slopes must have shape \(1000, 2\)"),
            ({"intercepts": np.full(1000, np.nan)}, "intercepts must be finite"),
            ({"ability_correlation": 1.0}, "positive definite"),
            ({"ability_correlation": [[2, 0], [0, 2]]}, "positive definite"),
            ({"ability_correlation": [[1, 0.1], [0.3, 1]]}, "positive definite"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            make_responses(**arguments)


class TestBenchmarkSuite:
    def test_shape_of_the_study(self, suite):
        assert suite.responses.shape == (100, 34_061)
        assert (suite.responses.dtypes == np.int8).all()
        assert set(np.unique(suite.responses)) == {0, 1}
        items = suite.item_table
        assert list(items.columns) == [
            "item_id",
            "benchmark",
            "subset",
            "category",
            "stated_dimension",
        ]
        assert items["item_id"].is_unique
        assert list(items["item_id"]) == list(suite.responses.columns)
        assert items["benchmark"].nunique() == len(suite.benchmark_names) == 16
        assert list(suite.correlations.index) == suite.benchmark_names
        stated = items.groupby("stated_dimension")["benchmark"].nunique()
        assert stated.to_dict() == {"reasoning": 6, "safety": 10}

    def test_clearly_labelled_synthetic(self, suite):
        assert "SYNTHETIC" in suite.DESCR
        assert "SYNTHETIC" in make_benchmark_suite.__doc__
        assert suite.responses.index[17] == "synthetic-model-017"
        assert suite.respondent_table["family"].str.startswith("synthetic-").all()

    def test_abilities_have_the_stated_moments(self, suite):
        abilities = suite.abilities.to_numpy()
        assert_allclose(abilities.mean(axis=0), 0, atol=1e-12)
        assert_allclose(
            abilities.T @ abilities / 100, suite.ability_correlation, atol=1e-12
        )
        assert_allclose(suite.ability_correlation.iloc[0, 1], 0.3)
        assert_allclose(suite.effects.T @ abilities, 0, atol=1e-9)

    @pytest.mark.parametrize(("benchmark", "dimension", "value", "margin"), PUBLISHED)
    def test_published_correlations(self, suite, benchmark, dimension, value, margin):
        assert abs(suite.correlations.loc[benchmark, dimension] - value) < margin

    def test_toxigen_is_saturated(self, suite):
        assert abs(suite.mean_scores["ToxiGen"] - 0.92) < 0.01
        assert (suite.correlations.loc["ToxiGen"].abs() < 0.35).all()
        assert suite.dominant_dimension["ToxiGen"] is None

    def test_mixed_benchmarks_come_apart(self, suite):
        parts = suite.subset_correlations
        harmful = parts.loc[("WildJailbreak", "harmful")]
        benign = parts.loc[("WildJailbreak", "benign")]
        assert harmful["safety"] > 0.9 > 0.5 > harmful["reasoning"]
        assert benign["reasoning"] > 0.5
        assert benign["safety"] < -0.2
        copyright_items = parts.loc[("HarmBench", "copyright")]
        assert copyright_items["reasoning"] > 0.8 > 0.5 > copyright_items["safety"]
        for subset in ("standard", "contextual"):
            rest = parts.loc[("HarmBench", subset)]
            assert rest["safety"] > 0.8 > 0.5 > rest["reasoning"]

    def test_dominant_dimension_is_clear(self, suite):
        """No benchmark sits so near a tie that a small error would turn it."""
        size = suite.correlations.abs().drop("ToxiGen")
        assert (size.max(axis=1) - size.min(axis=1) > 0.2).all()
        dominant = suite.dominant_dimension.drop("ToxiGen")
        assert (size.idxmax(axis=1) == dominant).all()

    def test_correlations_are_of_the_returned_tables(self, suite):
        columns = suite.item_table["benchmark"] == "BBQ"
        score = suite.responses.loc[:, columns.to_numpy()].mean(axis=1)
        assert_allclose(
            [score.corr(suite.abilities[k]) for k in suite.dimension_names],
            suite.correlations.loc["BBQ"],
            rtol=1e-10,
        )
        assert_allclose(score.mean(), suite.mean_scores["BBQ"], rtol=1e-10)

    def test_answers_follow_the_returned_parameters(self, suite):
        logits = suite.abilities.to_numpy() @ suite.slopes.to_numpy().T
        block = suite.item_table["benchmark"] + ": " + suite.item_table["category"]
        effects = suite.effects[block].to_numpy() * suite.effect_slopes.to_numpy()
        p = expit(logits + effects + suite.intercepts.to_numpy())
        z = (suite.responses.to_numpy() - p).sum() / np.sqrt((p * (1 - p)).sum())
        assert abs(z) < 4.5
        by_model = (suite.responses.to_numpy() - p).sum(axis=1)
        by_model /= np.sqrt((p * (1 - p)).sum(axis=1))
        assert 0.6 < by_model.std() < 1.4

    def test_most_items_measure_one_ability(self, suite):
        size = suite.slopes.abs()
        simple = size.min(axis=1) < 0.25 * size.max(axis=1)
        assert simple.mean() > 0.85
        safety = simple & (size["safety"] > size["reasoning"]) & (size["safety"] > 0.4)
        assert safety.sum() > 4000

    def test_quick(self):
        start = time.process_time()
        make_benchmark_suite()
        assert time.process_time() - start < 3

    def test_same_seed_same_bytes(self):
        first = make_benchmark_suite(scale=0.02, random_state=3)
        again = make_benchmark_suite(scale=0.02, random_state=3)
        other = make_benchmark_suite(scale=0.02, random_state=4)
        pd.testing.assert_frame_equal(first.responses, again.responses)
        assert not first.responses.equals(other.responses)

    def test_scale_keeps_every_subset(self):
        small = make_benchmark_suite(20, scale=0.01)
        assert small.responses.shape[0] == 20
        assert len(small.subset_correlations) == 90
        counts = small.item_table.groupby(["benchmark", "subset"]).size()
        assert counts.min() == 4

    def test_arrays_on_request(self):
        plain = make_benchmark_suite(scale=0.01, as_frame=False)
        framed = make_benchmark_suite(scale=0.01)
        assert isinstance(plain.responses, np.ndarray)
        assert plain.responses.dtype == np.int8
        assert_array_equal(plain.responses, framed.responses)
        assert_array_equal(plain.slopes, framed.slopes)
        assert_array_equal(plain.item_table["item_id"], framed.item_table["item_id"])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_respondents": 9}, "n_respondents must be at least 10, got 9"),
            ({"scale": 0}, r"scale must be in \(0, 1\], got 0"),
            ({"scale": 1.5}, r"scale must be in \(0, 1\], got 1.5"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            make_benchmark_suite(**arguments)


class TestLsat7:
    def test_published_totals(self):
        data = load_lsat7()
        assert data.responses.shape == (1000, 5)
        assert data.patterns.shape == (32, 5)
        assert data.frequencies.sum() == 1000
        assert_array_equal(data.responses.sum(axis=0), [828, 658, 772, 606, 843])
        assert_array_equal(data.frequencies @ data.patterns, [828, 658, 772, 606, 843])
        assert "Bock" in data.DESCR

    def test_patterns_are_distinct_and_expand_to_the_responses(self):
        data = load_lsat7()
        patterns, counts = np.unique(data.responses, axis=0, return_counts=True)
        assert_array_equal(patterns, data.patterns)
        assert_array_equal(counts, data.frequencies)

    def test_return_options(self):
        assert_array_equal(load_lsat7(return_X=True), load_lsat7().responses)
        frame = load_lsat7(return_X=True, as_frame=True)
        assert list(frame.columns) == load_lsat7().feature_names
        data = load_lsat7(as_frame=True)
        assert isinstance(data.patterns, pd.DataFrame)
        assert isinstance(data.frequencies, pd.Series)

    def test_equals_the_raw_data(self, real_data):
        path = real_data("lsat7") / "responses.csv.gz"
        raw = pd.read_csv(path, index_col="respondent").to_numpy()
        patterns, counts = np.unique(raw, axis=0, return_counts=True)
        assert_array_equal(patterns, load_lsat7().patterns)
        assert_array_equal(counts, load_lsat7().frequencies)
