"""The exact solver behind the estimators."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_mirt import MIRTClassifier, MIRTTransformer
from sklearn_mirt.solvers.quadrature.solver import prefers_exact


def simulate(n=500, n_items=12, n_dims=2, seed=0):
    rng = np.random.default_rng(seed)
    slopes = np.zeros((n_items, n_dims))
    slopes[np.arange(n_items), np.arange(n_items) % n_dims] = 1.5
    theta = rng.normal(size=(n, n_dims))
    logit = theta @ slopes.T + rng.normal(size=n_items)
    return (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))) * 1.0, slopes


@pytest.fixture(scope="module")
def data():
    return simulate()


@pytest.fixture(scope="module")
def fitted(data):
    return MIRTTransformer(2, solver="quadrature", rotation="varimax").fit(data[0])


def test_auto_takes_the_exact_fit_for_short_tests_and_many_respondents(data):
    assert MIRTTransformer(1).fit(data[0]).solver_ == "quadrature"
    assert MIRTTransformer(1).fit(data[0][:150]).solver_ == "variational"
    assert prefers_exact(2000, 40, 2)
    assert not prefers_exact(2000, 40, 4)
    assert not prefers_exact(100, 3000, 2)
    assert not prefers_exact(100_000, 100, 3)


def test_fitted_attributes(data, fitted):
    X, slopes = data
    assert fitted.solver_ == "quadrature"
    assert fitted.converged_
    assert not hasattr(fitted, "lower_bounds_")
    np.testing.assert_allclose(
        fitted.log_likelihoods_[-1], fitted.exact_fit_.log_likelihood, atol=1e-3
    )
    assert fitted.standard_errors_.shape == (12, 3)
    assert np.isfinite(fitted.standard_errors_).all()
    # recovery after matching columns
    order = np.argmax(np.abs(fitted.slopes_.T @ slopes), axis=0)
    assert np.abs(fitted.slopes_[:, order] - slopes).mean() < 0.2
    np.testing.assert_allclose(fitted.transform(X), fitted.abilities_, atol=1e-4)


def test_rotation_keeps_the_fit_of_every_answer(data, fitted):
    logit = fitted.abilities_ @ fitted.slopes_.T + fitted.intercepts_
    plain = fitted.exact_fit_
    unrotated = MIRTTransformer(2, solver="quadrature", rotation=None).fit(data[0])
    other = unrotated.abilities_ @ unrotated.slopes_.T + unrotated.intercepts_
    np.testing.assert_allclose(logit, other, atol=1e-4)
    np.testing.assert_allclose(plain.mdisc, np.linalg.norm(fitted.slopes_, axis=1))


def test_confirmatory_structure_is_kept(data):
    q = (data[1] > 0) * 1
    free = MIRTTransformer(2, q_matrix=q).fit(data[0])
    assert free.solver_ == "quadrature"
    assert (free.slopes_[q == 0] == 0).all()
    assert abs(free.ability_correlation_[0, 1]) < 0.3
    held = MIRTTransformer(2, q_matrix=q, correlated=False).fit(data[0])
    np.testing.assert_array_equal(held.ability_correlation_, np.eye(2))


def test_whether_abilities_correlate_is_no_side_effect_of_the_rotation(data):
    q = (data[1] > 0) * 1
    one, two = (
        MIRTTransformer(2, q_matrix=q, rotation=rotation).fit(data[0])
        for rotation in ("oblimin", None)
    )
    np.testing.assert_array_equal(one.ability_correlation_, two.ability_correlation_)
    assert two.ability_correlation_[0, 1] != 0
    np.testing.assert_array_equal(one.slopes_, two.slopes_)


def test_item_models(data):
    one = MIRTTransformer(1, item_model="1pl").fit(data[0])
    rasch = MIRTTransformer(1, item_model="rasch").fit(data[0])
    np.testing.assert_allclose(one.slopes_, one.slopes_[0, 0])
    np.testing.assert_allclose(one.slopes_, rasch.slopes_, atol=2e-3)
    three = MIRTTransformer(1, item_model="3pl", guessing=0.2).fit(data[0])
    np.testing.assert_array_equal(three.guessing_, 0.2)
    with pytest.raises(ValueError, match="solver='quadrature' or 'auto'"):
        MIRTTransformer(1, item_model="3pl", solver="variational").fit(data[0])
    with pytest.raises(ValueError, match="positive_slopes"):
        MIRTTransformer(1, solver="quadrature", positive_slopes=True).fit(data[0])
    with pytest.raises(ValueError, match="n_dims <= 3"):
        MIRTTransformer(4, solver="quadrature").fit(data[0])


def test_missing_answers_and_unanswered_respondents(data):
    X = data[0].copy()
    X[::2, :4] = np.nan
    mirt = MIRTTransformer(2, solver="quadrature").fit(X)
    new = np.full((1, 12), np.nan)
    np.testing.assert_allclose(mirt.transform(new), 0.0, atol=1e-8)
    alone = mirt.transform(X[3:4])
    np.testing.assert_allclose(mirt.transform(X)[3:4], alone, atol=1e-9)


def test_long_layout_gives_the_same_fit(data):
    X = data[0]
    wide = MIRTTransformer(1, solver="quadrature").fit(X)
    rows, columns = np.indices(X.shape).reshape(2, -1)
    long = MIRTClassifier(1, solver="quadrature")
    cells = np.column_stack([rows, columns])
    long.fit(cells, X.ravel())
    np.testing.assert_allclose(long.slopes_, wide.slopes_, atol=1e-6)
    p = long.predict_proba(cells[:5])
    np.testing.assert_allclose(p.sum(1), 1.0)


def test_repeated_answers_enter_as_weights(data):
    X = data[0][:, :6]
    rows, columns = np.indices(X.shape).reshape(2, -1)
    cells = np.column_stack([rows, columns])
    one = MIRTClassifier(1, solver="quadrature").fit(cells, X.ravel())
    two = MIRTClassifier(1, solver="quadrature").fit(
        cells, X.ravel(), sample_weight=np.full(X.size, 2.0)
    )
    assert not np.allclose(one.slopes_, two.slopes_)


def test_pickle_and_clone(data, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        again.transform(data[0][:4]), fitted.transform(data[0][:4])
    )
    assert clone(fitted).solver == "quadrature"


def test_exact_slopes_are_not_shrunk():
    rng = np.random.default_rng(1)
    slopes = rng.lognormal(0.0, 0.3, 20)
    theta = rng.normal(size=(1500, 1))
    logit = theta * slopes + rng.normal(size=20)
    X = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))) * 1.0
    exact = MIRTTransformer(1, solver="quadrature").fit(X).slopes_.sum()
    variational = MIRTTransformer(1, solver="variational").fit(X).slopes_.sum()
    assert abs(exact / slopes.sum() - 1.0) < 0.03
    assert variational / slopes.sum() < 0.95
