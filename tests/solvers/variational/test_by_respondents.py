"""Large tables of more respondents than items are fitted lying on their side."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from variational_problems import as_dense, as_sparse, design_of, solve

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.solvers.kernels.cpu import CpuKernels
from sklearn_mirt.solvers.variational import solver as variational
from sklearn_mirt.solvers.variational.by_respondents import TableFit

N, J, D = 400, 40, 2
CASES = {
    "plain": {},
    "groups": {"groups": np.arange(J) % 3},
    "floors": {"guessing": np.linspace(0, 0.25, J)},
    "positive": {"positive_slopes": True},
}


def table(weighted=False):
    """Scores and weights; respondent 7 and item 3 have no answers."""
    y = make_responses(N, J, D, missing=0.4, random_state=0).responses
    y[7], y[:, 3] = np.nan, np.nan
    weight = (~np.isnan(y)).astype(float)
    if weighted:
        weight *= np.random.default_rng(0).choice([0.5, 1, 2], y.shape)
    return np.nan_to_num(y), weight


def fits(data, design, monkeypatch, **options):
    """The fit upright, and the one lying on its side."""
    found = []
    for lies in (False, True):
        monkeypatch.setattr(variational, "_is_tall", lambda data, lies=lies: lies)
        found.append(solve(data, D, design, 2000, tol=1e-12, **options))
    return found


@pytest.mark.parametrize("kind", [as_dense, as_sparse])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", list(CASES))
def test_both_ways_end_at_one_summit(kind, weighted, case, monkeypatch):
    data = kind(*table(weighted))
    upright, lying = fits(data, design_of(J, **CASES[case]), monkeypatch)
    assert lying.converged
    assert_allclose(lying.trace[-1], upright.trace[-1], rtol=2e-5)
    assert np.all(np.diff(lying.trace) > -1e-8 * abs(lying.trace[-1]))
    logits = [
        r.abilities.mean @ r.items.slopes.T + r.items.intercepts
        for r in (upright, lying)
    ]
    answered = np.delete(np.arange(N), 7), np.delete(np.arange(J), 3)
    one, two = (logit[np.ix_(*answered)] for logit in logits)
    assert np.sqrt(np.mean((one - two) ** 2)) < 0.02
    assert_array_equal(lying.abilities.mean[7], 0)
    assert_array_equal(lying.abilities.covariances[7], np.eye(D))


@pytest.mark.parametrize("kind", [as_dense, as_sparse])
def test_an_adaptive_test_does_not_hide_who_is_able(kind, monkeypatch):
    truth = make_responses(500, 100, 1, random_state=1)
    hard = -truth.intercepts / truth.intercepts.std()
    chance = 1 / (1 + np.exp(1 - 4 * truth.abilities * hard))
    asked = np.random.default_rng(1).random(chance.shape) < chance
    data = kind(truth.responses, asked.astype(float))
    monkeypatch.setattr(variational, "_is_tall", lambda data: True)
    result = solve(data, 1, design_of(100), 200, tol=1e-6)
    found = np.corrcoef(result.abilities.mean[:, 0], truth.abilities[:, 0])[0, 1]
    assert abs(found) > 0.8


@pytest.mark.parametrize("kind", [as_dense, as_sparse])
def test_its_bytes_do_not_depend_on_threads(kind, monkeypatch):
    monkeypatch.setattr(variational, "_is_tall", lambda data: True)
    monkeypatch.setattr(CpuKernels, "block_cells", 2**10)
    data = kind(*table())
    assert len(data.respondent_runs(2**10)) > 5
    one, *others = (solve(data, D, design_of(J), 6, n_jobs=n) for n in (1, 2, 3, 7))
    for other in others:
        for name in ("mean", "covariances"):
            assert_array_equal(
                getattr(one.abilities, name), getattr(other.abilities, name)
            )
        assert_array_equal(one.items.slopes, other.items.slopes)
        assert_array_equal(one.trace, other.trace)


def test_it_starts_from_an_earlier_result(monkeypatch):
    monkeypatch.setattr(variational, "_is_tall", lambda data: True)
    data, design = as_dense(*table()), design_of(J)
    result = solve(data, D, design, 2000, tol=1e-12)
    options = {"tol": 1e-9, "dtype": "float64", "max_iter": 50}
    again = variational.VariationalSolver(**options).solve(
        data, D, design, start=result
    )
    assert again.converged
    assert again.n_iter <= 10
    assert_allclose(again.items.slopes, result.items.slopes, atol=1e-3)
    assert again.trace[0] >= result.trace[-1] - 1e-6 * abs(result.trace[-1])


def test_it_is_taken_for_large_tall_tables(monkeypatch):
    taken = []
    original = TableFit.__init__

    def init(self, problem):
        taken.append(problem.data.n_respondents)
        original(self, problem)

    monkeypatch.setattr(TableFit, "__init__", init)
    sim = make_responses(2001, 500, 1, random_state=0)
    for X in (sim.responses, sim.responses.T, sim.responses[:1999]):
        MIRTTransformer(1, max_iter=2, tol=1.0).fit(X)
    assert taken == [2001]
