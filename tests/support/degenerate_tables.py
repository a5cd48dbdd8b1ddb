"""Random degenerate tables, and what all estimators may make of them.

Case k is made from k alone: constant rows and columns, separable answers, blocks that
share nobody, 1 x 1, one cell, 99% missing, repeated rows, extreme weights, scores that
are all a half or next to 0, groups of one item, more dimensions than either side, thin
and wide tables, odd names; one in ten holds one thing that is not allowed. Each goes
through both estimators with both solvers, the selector with its scorer, the score
regressor and the audit. Allowed outcomes: finite fitted attributes and predictions; or
a ValueError raised by a check, which names the offender where there is one. Warnings
are allowed only if they are ours, and must name a silent respondent or item. Anything
else is a fault.
"""

import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import sklearn_mirt
from sklearn_mirt import (
    FullScoreRegressor,
    InformativeItemSelector,
    MIRTClassifier,
    MIRTTransformer,
    ResponseData,
    audit_benchmarks,
)
from sklearn_mirt.exceptions import NotConvergedWarning, ResponseDataWarning

NAN = np.nan
# NaN says "not determined" here, by the docstring
MAY_BE_NAN = {"standard_errors_", "calibration_", "exact_fit_"}
# infinity says "no limit" here, and responses have gaps
MAY_HOLD_ANYTHING = (".responses", ".useful_length")
# the regressor costs what the selector, which has one, costs again
LARGEST_FOR_REGRESSOR = 40
ODD_NAMES = [
    *("", " ", "NaN", "None", "nan", "0", "00", "=1+1", "@x", "<b>&", "a\nb", "a\tb"),
    *("é", "e\u0301", "\u202eabc", "\0", "'", '"', "\\", "%s", "{0}", "x" * 3000),
    *("overall", "all items", "dim1", "mean_score", "🙂", "-", "a/b", "../x", ","),
]


@dataclass
class Case:
    """One table with all that goes with it."""

    kind: str
    X: np.ndarray
    n_dims: int
    weights: np.ndarray | None
    respondents: list
    items: list
    groups: list
    families: list
    layout: str
    offender: tuple = ()
    bad_weight: bool = False


# ------------------------------------------------------------------------------ tables


def _size(rng, low=1, high=10):
    return tuple(int(n) for n in rng.integers(low, high, 2))


def random(rng, shape=None):
    return (rng.random(shape or _size(rng)) < rng.random()).astype(float)


def constant_lines(rng):
    X = random(rng)
    X[rng.random(len(X)) < 0.5] = rng.integers(2)
    X[:, rng.random(X.shape[1]) < 0.5] = rng.integers(2)
    return X


def separable(rng):
    n, m = _size(rng, 2)
    return (rng.permutation(n)[:, None] / n >= rng.permutation(m) / m).astype(float)


def disconnected(rng):
    X = random(rng, _size(rng, 2))
    rows, columns = (rng.integers(0, rng.integers(2, 4), n) for n in X.shape)
    return np.where(rows[:, None] == columns, X, NAN)


def one_by_one(rng):
    return np.array([[rng.choice([0, 1, 0.5])]])


def one_cell(rng):
    X = np.full(_size(rng), NAN)
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = rng.integers(2)
    return X


def mostly_missing(rng):
    X = random(rng, _size(rng, 8, 16))
    return np.where(rng.random(X.shape) < 0.99, NAN, X)


def repeated(rng):
    X = random(rng, _size(rng, 1, 5))
    X = X[rng.integers(0, len(X), rng.integers(2, 10))]
    return X[:, rng.integers(0, X.shape[1], rng.integers(2, 10))]


def halves(rng):
    return np.full(_size(rng), 0.5)


def near_the_edge(rng):
    values = [0, 1, 5e-324, 1e-30, 1e-9, 1 - 1e-9, np.nextafter(1, 0), 0.5]
    return rng.choice(values, _size(rng))


def all_alike(rng):
    return np.full(_size(rng), float(rng.integers(2)))


def thin(rng):
    return random(rng, (int(rng.integers(1, 3)), int(rng.integers(1, 60))))


def tall(rng):
    return random(rng, (int(rng.integers(20, 60)), int(rng.integers(1, 4))))


def opposed(rng):
    """Return answers of one half of the items against those of the other."""
    X = random(rng, _size(rng, 2))
    return np.hstack([X, 1 - X])


def nothing(rng):
    return np.full(_size(rng), NAN)


KINDS = [
    *(random, constant_lines, separable, disconnected, one_by_one, one_cell),
    *(mostly_missing, repeated, halves, near_the_edge, all_alike, thin, tall),
    *(opposed, nothing),
]
# nothing to learn in them: enough of a few
RATES = np.array([{one_by_one: 0.4, nothing: 0.1}.get(kind, 1) for kind in KINDS])


def make_case(index):
    """Return case `index`; the same one each time."""
    rng = np.random.default_rng([0, index])
    kind = KINDS[rng.choice(len(KINDS), p=RATES / RATES.sum())]
    X = kind(rng)
    if rng.random() < 0.3:
        X = np.where(rng.random(X.shape) < rng.random(), NAN, X)
    if rng.random() < 0.2:
        X[rng.integers(len(X))] = NAN
    if rng.random() < 0.2:
        X[:, rng.integers(X.shape[1])] = NAN
    if rng.random() < 0.2:
        X = np.where(rng.random(X.shape) < 0.5, rng.random(X.shape), X) + 0 * X
    n, m = X.shape
    case = Case(
        kind.__name__,
        X,
        int(rng.choice([1, 2, 3, 5, 20], p=[0.3, 0.4, 0.2, 0.07, 0.03])),
        _weights(rng, X.shape),
        _names(rng, n, "m"),
        _names(rng, m, "q"),
        _groups(rng, m),
        rng.integers(0, max(1, n // 2), n).tolist(),
        str(rng.choice(["array", "frame", "data", "sparse"])),
    )
    if rng.random() < 0.1:
        _spoil(case, rng)
    return case


def _weights(rng, shape):
    kind = rng.integers(6)
    if kind == 0:
        return rng.choice([0, 1e-30, 1e-6, 1, 1e3, 1e6], shape)
    if kind == 1:
        return np.full(shape, float(10 ** rng.uniform(-12, 6)))
    if kind == 2:
        return rng.choice([0.0, 1.0], shape)
    return None


def _names(rng, n, letter):
    if rng.random() < 0.7:
        return [f"{letter}{k}" for k in range(n)]
    odd = [ODD_NAMES[k] for k in rng.permutation(len(ODD_NAMES))[:n]]
    return odd + [f"{letter}{k}" for k in range(n - len(odd))]


def _groups(rng, n):
    kind = rng.integers(4)
    if kind == 0:
        return [f"g{k}" for k in range(n)]
    if kind == 1:
        return ["g"] * n
    labels = [*ODD_NAMES[1:8], 0, 1, 2.5] if kind == 2 else ["a", "b", "c"]
    return [labels[k] for k in rng.integers(0, len(labels), n)]


def _spoil(case, rng):
    """Put one thing into the case that is not allowed."""
    i, j = rng.integers(len(case.X)), rng.integers(case.X.shape[1])
    if case.weights is not None and rng.random() < 0.5 and not np.isnan(case.X[i, j]):
        case.weights[i, j] = rng.choice([-1, np.inf, NAN, 1e30])
        case.bad_weight = True
    else:
        case.X[i, j] = rng.choice([2, -1, np.inf, -np.inf, 1 + 1e-6, 100])
        if case.weights is not None:
            case.weights[i, j] = 1
    case.offender = (case.respondents[i], case.items[j])


# ---------------------------------------------------------------------------- attempts


def _table(case):
    """Return the table as the case's layout has it."""
    if case.layout == "frame":
        return pd.DataFrame(case.X, case.respondents, case.items)
    if case.layout == "data":
        return ResponseData.from_wide(
            case.X,
            respondents=case.respondents,
            items=case.items,
            weights=case.weights,
        )
    if case.layout == "sparse":
        i, j = np.nonzero(~np.isnan(case.X))
        return sparse.csr_matrix((case.X[i, j], (i, j)), shape=case.X.shape)
    return case.X


def transformer(case, solver):
    X = _table(case)
    mirt = MIRTTransformer(
        case.n_dims, solver=solver, max_iter=10, item_groups=case.groups
    ).fit(X)
    check_fitted(mirt)
    check_numbers(mirt.transform(X), "transform")
    check_numbers(mirt.expected_scores(X), "expected_scores", 0, 1)
    check_numbers(mirt.score(X), "score")


def classifier(case, solver):
    i, j = np.nonzero(~np.isnan(case.X))
    names = np.array(case.respondents, object)[i], np.array(case.items, object)[j]
    X = np.column_stack(names)
    weights = None if case.weights is None else case.weights[i, j]
    groups = dict(zip(case.items, case.groups, strict=True))
    clf = MIRTClassifier(case.n_dims, solver=solver, max_iter=10, item_groups=groups)
    clf.fit(X, case.X[i, j], sample_weight=weights)
    check_fitted(clf)
    unseen = np.array([["a new model", "a new item"]], dtype=object)
    for pairs in (X, unseen):
        check_numbers(clf.predict_proba(pairs), "predict_proba", 0, 1)


def selector(case):
    rng = np.random.default_rng(len(case.items))
    strategy = rng.choice(["kriging", "stratified", "discrimination", "information"])
    X = pd.DataFrame(case.X, case.respondents, case.items)
    chosen = InformativeItemSelector(
        0.5, strategy=str(strategy), item_groups=case.groups, n_dims=case.n_dims
    ).fit(X)
    check_fitted(chosen)
    _check_scorer(chosen.scorer(), X)


def regressor(case):
    """Fit the regressor by itself, as the scorer of the selector, in small tables."""
    if case.X.size > LARGEST_FOR_REGRESSOR:
        return
    X = pd.DataFrame(case.X, case.respondents, case.items)
    _check_scorer(FullScoreRegressor(case.n_dims, item_groups=case.groups).fit(X), X)


def _check_scorer(scorer, X):
    check_fitted(scorer)
    some = X.copy()
    some.iloc[:, ::2] = NAN
    for answers in (X, some):
        scores, errors = scorer.predict(answers, return_std=True)
        check_numbers(scores, "scores", 0, 1)
        check_numbers(errors, "standard errors", 0)


def audit(case):
    items = pd.DataFrame({"benchmark": case.groups}, index=case.items)
    data = ResponseData.from_wide(
        case.X, respondents=case.respondents, items=case.items, weights=case.weights
    )
    result = audit_benchmarks(
        data,
        items=items,
        estimator=MIRTTransformer(case.n_dims, solver="variational", max_iter=6),
        respondent_groups=case.families,
        n_bootstrap=2 * (len(case.items) % 3 == 0),
        n_null=int(len(case.items) % 4 == 0),
        held_out=0.2 * (len(case.items) % 5 == 0),
    )
    check_fitted(result.estimator)
    if not all(isinstance(text, str) and text for text in result.findings):
        raise AssertionError(f"findings: {result.findings}")
    r = result.benchmarks.filter(regex=r"^(r|low|high|cross)_dim").to_numpy(float)
    check_numbers(r[~np.isnan(r)], "correlations", -1, 1)


ATTEMPTS = {
    "transformer, variational": lambda case: transformer(case, "variational"),
    "transformer, quadrature": lambda case: transformer(case, "quadrature"),
    "classifier, variational": lambda case: classifier(case, "variational"),
    "classifier, quadrature": lambda case: classifier(case, "quadrature"),
    "selector": selector,
    "regressor": regressor,
    "audit": audit,
}


# ------------------------------------------------------------------------------ checks


def check_numbers(values, name, low=-np.inf, high=np.inf):
    """Raise AssertionError where a number is not finite or not between the bounds."""
    values = np.asarray(values, dtype=float)
    if not np.isfinite(values).all():
        raise AssertionError(f"{name} holds {values[~np.isfinite(values)][:3]}")
    if values.size and not (values.min() >= low and values.max() <= high):
        raise AssertionError(f"{name} lies in [{values.min()}, {values.max()}]")


def check_fitted(estimator):
    """Raise AssertionError where a fitted attribute holds NaN or infinity."""
    for name, value in vars(estimator).items():
        if name.endswith("_") and name not in MAY_BE_NAN:
            _check_finite(value, f"{type(estimator).__name__}.{name}")


def _check_finite(value, name):
    if name.endswith(MAY_HOLD_ANYTHING):
        return
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        if not np.isfinite(value).all():
            raise AssertionError(f"{name} holds {value[~np.isfinite(value)][:3]}")
    elif isinstance(value, float):
        check_numbers(value, name)
    elif isinstance(value, dict):
        for key, part in value.items():
            _check_finite(part, f"{name}[{key!r}]")
    elif hasattr(value, "__dict__") and type(value).__module__.startswith("sklearn_m"):
        for key, part in vars(value).items():
            _check_finite(part, f"{name}.{key}")


OURS = Path(sklearn_mirt.__file__).parent


def _refused_by_a_check(error):
    """Whether a ValueError comes from a check, not from inside a computation."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    checks = OURS in Path(last.filename).parents or "sklearn/utils" in last.filename
    return checks and not isinstance(error, np.linalg.LinAlgError | UnicodeError)


def _bad_warning(caught, case):
    """Return the first warning that should not be there, as text."""
    for one in caught:
        text = f"{one.category.__name__}: {one.message}"
        if issubclass(one.category, ConvergenceWarning | NotConvergedWarning):
            continue
        if issubclass(one.category, ResponseDataWarning):
            ids = [*case.respondents, *case.items, *range(max(case.X.shape))]
            if "cannot determine" not in text and not any(
                repr(name) in text for name in ids
            ):
                return f"{text} (names nobody)"
        elif not (one.category is UserWarning and "hold no answer" in text):
            return f"{text} ({one.filename}:{one.lineno})"
    return None


def _clear(error, case):
    """Whether the message of a refusal names what was put in, by id or by place."""
    text = str(error)
    if not case.offender:
        return True
    row, item = case.offender
    i, j = case.respondents.index(row), case.items.index(item)
    # about all answers, or about what was checked before
    general = ("label type", "y has ", "y is infinity in row", "n_dims", "no answers")
    general += ("Every stored score",)
    return any(part in text for part in general) or any(
        repr(name) in text for name in (row, item, i, j)
    )


def _harmless(name, case):
    """Whether what is not allowed in the case is unseen, or means something else."""
    if case.bad_weight:
        return case.layout != "data" if "transformer" in name else _unweighted(name)
    if name == "regressor" and case.X.size > LARGEST_FOR_REGRESSOR:
        return True
    # two labels, whatever they are, are wrong and right
    return "classifier" in name and len(np.unique(case.X[~np.isnan(case.X)])) == 2


def _unweighted(name):
    return name in ("selector", "regressor")


def attempt(name, case):
    """Return "done", "refused: why", or "FAULT" with what happened."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ATTEMPTS[name](case)
            outcome = "done"
        except ValueError as error:
            outcome = f"refused: {error}"
            if not _refused_by_a_check(error):
                return "FAULT: not from a check\n" + traceback.format_exc()
            if not _clear(error, case):
                return f"FAULT: names nobody: {error}"
        except Exception:
            return "FAULT\n" + traceback.format_exc()
    if case.offender and outcome == "done" and not _harmless(name, case):
        return "FAULT: what is not allowed was taken"
    bad = _bad_warning(caught, case)
    return f"FAULT: warned of {bad}" if bad else outcome
