"""Exact fits on quadrature nodes, of short tests."""

import numpy as np

from fingerprinted.blocks import block
from fingerprinted.sets import as_answers, real_set, with_gaps
from sklearn_mirt import (
    ExactModel,
    ExactSettings,
    MIRTClassifier,
    MIRTTransformer,
    datasets,
    fit_quadrature,
    global_fit,
    item_fit,
    likelihood_ratio,
    person_zh,
    score_respondents,
)

# two dimensions, halves of the test, a middle that measures both
HALVES = np.column_stack([np.arange(32) < 20, np.arange(32) > 12]).astype(int)
# before the parameter `correlated`, a rotation of None kept abilities uncorrelated
UNCORRELATED = (
    {"correlated": False}
    if "correlated" in MIRTTransformer().get_params()
    else {"rotation": None}
)


def _answers(name):
    return real_set(name)[0].to_numpy()


def _statistics(fit, X, methods=("eap", "map", "ml", "eapsum")):
    """Yield scores of respondents and tests of fit."""
    for method in methods:
        scores = score_respondents(fit, X, method=method)
        yield f"{method} scores", scores
        yield f"{method} standard errors", scores.standard_errors
        yield f"{method} reliability", scores.empirical_reliability
        if method != "eapsum":
            yield f"{method} Zh", person_zh(fit, X, method=method)
    yield "item fit", item_fit(fit, X)


def _fit(X, settings=None, **model):
    settings = ExactSettings(**settings or {})
    return fit_quadrature(X, model=ExactModel(**model), settings=settings)


@block("exact lsat7")
def _lsat7():
    X = _answers("lsat7")
    fits = {}
    for name in ("rasch", "1pl", "2pl", "3pl"):
        fits[name] = _fit(X, item_model=name)
        yield name, fits[name]
        yield f"{name} errors", fits[name].derived_standard_errors()
        for key, value in _statistics(fits[name], X):
            yield f"{name} {key}", value
    for name in ("rasch", "1pl"):  # the others have as many parameters as margins
        yield f"{name} global fit", global_fit(fits[name], X)
    yield "1pl and 2pl", likelihood_ratio(fits["1pl"], fits["2pl"])
    yield "rasch and 2pl", likelihood_ratio(fits["rasch"], fits["2pl"])


@block("exact settings")
def _settings():
    X = _answers("lsat7")
    gaps = with_gaps(real_set("lsat7")[0]).to_numpy()
    for nodes in ("grid", "gauss-hermite", "adaptive"):
        yield nodes, _fit(X, {"nodes": nodes})
        yield f"{nodes}, gaps", _fit(gaps, {"nodes": nodes})
    yield "starts", _fit(X, {"n_starts": 2, "random_state": 3}, n_dims=2)
    yield "points", _fit(X, {"n_points": 41, "node_limit": 5.0})
    yield "no errors", _fit(X, {"standard_errors": False}).log_likelihood
    weights = np.random.default_rng(0).choice([1.0, 2.0], X.shape)
    yield "cell weights", fit_quadrature(gaps, cell_weights=weights)
    table = datasets.load_lsat7()
    yield "patterns", fit_quadrature(table.patterns, weights=table.frequencies)
    yield "floors", _fit(X, guessing=np.full(5, 0.1))
    fixed = {"slopes": np.full((5, 1), np.nan), "intercepts": np.full(5, np.nan)}
    fixed["slopes"][0], fixed["intercepts"][1] = 1.0, 0.5
    yield "fixed", _fit(X, fixed=fixed)
    yield "held", _fit(X, held=(2,))


@block("exact sat12")
def _sat12():
    X = _answers("sat12")
    one, two = _fit(X), _fit(X, n_dims=2)
    yield "one", one
    yield "two", two
    yield "one and two", likelihood_ratio(one, two)
    for label, fit in {"one": one, "two": two}.items():
        methods = ("eap", "map", "ml", "eapsum")[: 4 if label == "one" else 2]
        for key, value in _statistics(fit, X, methods):
            yield f"{label} {key}", value
        yield f"{label} global fit", global_fit(fit, X)
    for name in ("rasch", "3pl", "4pl"):
        yield name, _fit(X, item_model=name)
    mixed = ["2pl"] * 28 + ["3pl"] * 2 + ["1pl"] * 2
    yield "mixed", _fit(X, item_model=mixed)


@block("exact sat12, three dimensions")
def _sat12_three():
    X = _answers("sat12")
    fit = _fit(X, {"n_points": 9, "standard_errors": False}, n_dims=3)
    yield "log likelihood", fit.log_likelihood
    yield "slopes", fit.slopes
    yield "scores", score_respondents(fit, X)


@block("exact sat12, confirmatory")
def _sat12_confirmatory():
    X = _answers("sat12")
    for correlated in (False, True):
        fit = _fit(X, n_dims=2, q_matrix=HALVES, correlated=correlated)
        yield f"correlated {correlated}", fit
        yield f"correlated {correlated} scores", score_respondents(fit, X)
        yield f"correlated {correlated} global fit", global_fit(fit, X)


def _estimator(model, table):
    """Yield a fit by an estimator and what it says of some rows."""
    yield "fit", model.fit(table)
    yield "exact", model.exact_fit_
    some = with_gaps(table.iloc[:20])
    yield "transform", model.transform(some)
    yield "expected", model.expected_scores(some)
    yield "score_samples", model.score_samples(some)


@block("exact estimators")
def _estimators():
    sat12, _ = real_set("sat12")
    solver = {"solver": "quadrature"}
    models = {
        "two": MIRTTransformer(2, **solver),
        "two, principal axes": MIRTTransformer(2, rotation=None, **solver),
        "1pl": MIRTTransformer(1, item_model="1pl"),
        "rasch": MIRTTransformer(1, item_model="rasch"),
        "3pl": MIRTTransformer(1, item_model="3pl"),
        "floor": MIRTTransformer(1, guessing=0.15, **solver),
        "confirmatory": MIRTTransformer(2, q_matrix=HALVES),
        "uncorrelated": MIRTTransformer(2, q_matrix=HALVES, **UNCORRELATED),
    }
    for label, model in models.items():
        for key, value in _estimator(model, sat12):
            yield f"{label} {key}", value
    yield "auto", MIRTTransformer(2).fit(with_gaps(sat12))
    pairs, scores = as_answers(with_gaps(sat12))
    model = MIRTClassifier(1).fit(pairs, scores)
    yield "long", model
    yield "long, predict_proba", model.predict_proba(pairs[:200])


def _categories(name, dims):
    X = _answers(name)
    for kind in ("graded", "gpcm"):
        for n_dims in dims:
            label = f"{kind} D={n_dims}"
            fit = _fit(X, item_model=kind, n_dims=n_dims)
            yield label, fit
            for method in ("eap", "map", "ml"):
                yield f"{label} {method}", score_respondents(fit, X, method=method)
                yield f"{label} {method} Zh", person_zh(fit, X, method=method)
            yield f"{label} item fit", item_fit(fit, X)


block("exact science", "science", (1, 2))(_categories)
block("exact bock1997", "bock1997", (1,))(_categories)


@block("exact environment")
def _environment():
    X = _answers("environment")
    fit = _fit(X, item_model="graded")
    yield "graded", fit
    for kind in ("M2", "M2*", "C2"):
        yield f"global fit {kind}", global_fit(fit, X, type=kind)
