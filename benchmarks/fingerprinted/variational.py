"""Variational fits of the LLM sets: table and long layout, upright and tall."""

import numpy as np
from scipy import sparse

from fingerprinted.blocks import block
from fingerprinted.sets import LLM_SETS, as_answers, real_set, thinned, with_gaps
from sklearn_mirt import MIRTClassifier, MIRTTransformer, ResponseData

FOUR_DIMENSIONS = ("nlu_test_sets", "openllm_v1")
ROTATIONS = (
    *("oblimin", "quartimin", "promax", "varimax", "quartimax", "bifactor"),
    None,
)


def scored(model, table):
    """Yield what a fitted model says of five respondents with gaps."""
    some = with_gaps(table.iloc[:5])
    abilities = model.score_abilities(some)
    yield "transform", model.transform(table.iloc[:5])
    yield "score_abilities", abilities
    yield "score_abilities.standard_errors", abilities.standard_errors
    yield "expected_scores", model.expected_scores(some)
    yield "inverse_transform", model.inverse_transform(abilities.mean)
    yield "score_samples", model.score_samples(some)


def _fit_set(name):
    table, groups = thinned(name)
    for n_dims in (2, 4) if name in FOUR_DIMENSIONS else (2,):
        for rotation in ("oblimin", None):
            model = MIRTTransformer(n_dims, rotation=rotation, item_groups=groups)
            label = f"D={n_dims} {rotation}"
            yield label, model.fit(table)
            for key, value in scored(model, table):
                yield f"{label} {key}", value


for _name in LLM_SETS:
    block(f"table {_name}", _name)(_fit_set)


def _fit_options(name, *size):
    """Each option by itself."""
    table, groups = thinned(name, *size)
    floors = {group: 0.05 * (k % 5) for k, group in enumerate(groups.unique())}
    options = {
        "floor": {"guessing": 0.2},
        "floor by group": {"guessing": floors},
        "positive": {"positive_slopes": True},
        "float32": {"dtype": "float32"},
        "float64": {"dtype": "float64"},
        "two threads": {"n_jobs": 2},
        "one group": {"item_groups": None},
        "stopped early": {"max_iter": 3},
        "loose": {"tol": 1e-3},
    }
    for label, option in options.items():
        model = MIRTTransformer(2, **{"item_groups": groups} | option).fit(table)
        yield label, model
        yield f"{label} transform", model.transform(with_gaps(table.iloc[:5]))
        yield f"{label} expected", model.expected_scores(table.iloc[:5])


# the last is tall: more respondents than items, more than a million cells
block("options bfcl_v1", "bfcl_v1")(_fit_options)
block("options livecodebench_2024", "livecodebench_2024")(_fit_options)
block("options mmlu_pro", "mmlu_pro", None, 4000)(_fit_options)
block("options openllm_v1", "openllm_v1", 3000, 600)(_fit_options)


@block("floors by item")
def _floors_by_item():
    table, items = real_set("mmlu_pro")
    floors = 1 / items["n_options"].clip(lower=2)
    yield "fit", MIRTTransformer(2, guessing=floors).fit(table)


@block("warm start")
def _warm_start():
    for name, size in {"bfcl_v1": (), "openllm_v1": (2500, 600)}.items():
        table, groups = thinned(name, *size)
        model = MIRTTransformer(2, item_groups=groups, warm_start=True, max_iter=5)
        yield f"{name} first", model.fit(table)
        yield f"{name} second", model.set_params(max_iter=200).fit(table)
        yield f"{name} other answers", model.fit(with_gaps(table))


@block("kinds of input")
def _kinds_of_input():
    table, groups = thinned("mmlu_pro", None, 3000)
    scarce = with_gaps(table, 0.9).to_numpy()
    i, j = np.nonzero(~np.isnan(scarce))
    stored = sparse.csr_array((scarce[i, j] + 2, (i, j)), scarce.shape)
    stored.data -= 2  # wrong answers are stored zeros
    weights = np.random.default_rng(1).choice([0.5, 1.0, 3.0], scarce.shape)
    inputs = {
        "array": scarce,
        "sparse": stored,
        "float32": scarce.astype(np.float32),
        "weighted": ResponseData.from_wide(scarce, weights=weights),
        "sparse data": ResponseData.from_sparse(stored),
    }
    for name, X in inputs.items():
        model = MIRTTransformer(2, item_groups=groups.to_numpy()).fit(X)
        yield name, model
        yield f"{name} transform", model.transform(X)
    yield "sparse, tall", _sparse_tall()


def _sparse_tall():
    table, _ = thinned("openllm_v1", 4000, 400)
    scarce = with_gaps(table, 0.9).to_numpy()
    return MIRTTransformer(2).fit(ResponseData.from_wide(scarce))


@block("rotations")
def _rotations():
    table, groups = thinned("bfcl_v1")
    model = MIRTTransformer(3, item_groups=groups).fit(table)
    target = np.where(np.abs(model.slopes_) > 0.5, np.nan, 0.0)
    for method in ROTATIONS:
        yield str(method), model.rotate(method)
    for method in ("target", "target_orthogonal"):
        yield method, model.rotate(method, target=target)
    yield "gamma", model.rotate("oblimin", gamma=-0.5)
    yield "no kaiser", model.rotate("oblimin", kaiser=False)
    yield "starts", model.rotate("quartimin", n_starts=3, random_state=1)


@block("number of dimensions")
def _number_of_dimensions():
    table, groups = thinned("bfcl_v1", None, 400)
    yield "auto", MIRTTransformer("auto", item_groups=groups).fit(table)


def long_set(name, *size):
    """Return answers, scores, floors and item groups (by id) of a thinned set."""
    table, groups = thinned(name, *size)
    return *as_answers(table), groups.to_dict()


def _fit_long(name, *size):
    pairs, scores, groups = long_set(name, *size)
    cut = int(0.9 * len(scores))
    X, y, new = pairs[:cut], scores[:cut], pairs[cut:]
    weights = np.random.default_rng(2).choice([0.5, 1.0, 2.0], cut)
    options = {
        "plain": {},
        "groups": {"item_groups": groups},
        "floor": {"guessing": 0.2, "item_groups": groups},
        "positive": {"positive_slopes": True},
        "four": {"n_dims": 4, "rotation": None},
        "float64, two threads": {"dtype": "float64", "n_jobs": 2},
    }
    for label, option in options.items():
        model = MIRTClassifier(**option).fit(X, y)
        yield label, model
        yield f"{label} predict_proba", model.predict_proba(new)
    model = MIRTClassifier(item_groups=groups).fit(X, y, sample_weight=weights)
    yield "weighted", model
    unknown = np.array([[new[0, 0], "new item"], ["new model", new[0, 1]]], object)
    yield "unknown", model.predict_proba(unknown)
    warm = MIRTClassifier(warm_start=True, max_iter=5).fit(X, y)
    yield "warm", warm.set_params(max_iter=200).fit(X, y)
    if set(y) == {0.0, 1.0}:
        yield "predict", warm.predict(new)
        yield "score", warm.score(new, scores[cut:], np.arange(len(new)) + 1.0)


block("long bfcl_v1", "bfcl_v1", None, 500)(_fit_long)
block("long mmlu_pro", "mmlu_pro", None, 1500)(_fit_long)
block("long livecodebench_2024", "livecodebench_2024", None, 1200)(_fit_long)
block("long openllm_v1", "openllm_v1", 1500, 150)(_fit_long)
