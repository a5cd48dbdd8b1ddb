"""The bifactor item model: its equations, its properties, and a simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from sklearn_mirt.models.packing import unpack
from sklearn_mirt.solvers.bifactor import fit as bifactor
from sklearn_mirt.solvers.bifactor.fit import fit_bifactor
from sklearn_mirt.solvers.bifactor.model import BifactorModel, jaakkola_weight


def simulate(n, groups, seed=0, n_dims=1, specific=0.7):
    """Answers and probabilities of a bifactor model with standard normal abilities."""
    rng = np.random.default_rng(seed)
    groups = np.asarray(groups)
    n_groups = groups.max() + 1
    theta = rng.normal(size=(n, n_dims))
    s = rng.normal(size=(n, n_groups))
    slopes = rng.uniform(0.6, 1.6, (len(groups), n_dims))
    eta = theta @ slopes.T + specific * s[:, groups] + rng.normal(size=len(groups))
    p = expit(eta)
    return (rng.random(p.shape) < p).astype(float), p, theta, s


@pytest.fixture(scope="module")
def fitted():
    groups = np.repeat([0, 1, 2], 40)
    answers, p, theta, s = simulate(200, groups)
    return answers, p, theta, s, fit_bifactor(answers, groups, n_dims=1, max_iter=200)


def test_bound_touches_the_logistic_function_and_stays_below():
    x, c = np.meshgrid(np.linspace(-8, 8, 81), np.array([1e-3, 0.5, 2.0, 6.0]))
    # log sigmoid(x) >= log sigmoid(c) + (x - c) / 2 - w (x^2 - c^2) / 2
    w = jaakkola_weight(c**2)
    bound = np.log(expit(c)) + (x - c) / 2 - w * (x**2 - c**2) / 2
    assert (np.log(expit(x)) - bound > -1e-12).all()
    np.testing.assert_allclose(jaakkola_weight(np.array([0.0])), 0.25, atol=1e-6)
    slope = 0.5 - jaakkola_weight(c**2) * c
    np.testing.assert_allclose(slope, 1 - expit(c), atol=1e-6)


def naive_sweep(x, groups, beta, v, mean, cov, prior_mean, prior_cov, n_dims):
    """One pass over items and respondents, written cell by cell from the equations."""
    n, f = mean.shape
    precision, shift = np.stack([np.eye(f)] * n), np.zeros((n, f))
    new_beta, new_v = beta.copy(), v.copy()

    def weight(i, j, b, vb, t, ct):
        square = np.trace((vb + np.outer(b, b)) @ (ct + np.outer(t, t)))
        c = np.sqrt(square)
        return np.tanh(c / 2) / (2 * c)

    local = {}
    for i in range(n):
        for j in range(len(groups)):
            columns = [*range(n_dims), n_dims + groups[j]]
            t = np.append(mean[i, columns], 1.0)
            ct = np.zeros((len(t), len(t)))
            ct[:-1, :-1] = cov[i][np.ix_(columns, columns)]
            local[i, j] = columns, t, ct
    for j in range(len(groups)):
        h = np.linalg.inv(prior_cov[groups[j]])
        g = h @ prior_mean[groups[j]]
        for i in np.flatnonzero(~np.isnan(x[:, j])):
            _, t, ct = local[i, j]
            h = h + weight(i, j, beta[j], v[j], t, ct) * (ct + np.outer(t, t))
            g = g + (x[i, j] - 0.5) * t
        new_v[j] = np.linalg.inv(h)
        new_beta[j] = new_v[j] @ g
    for i in range(n):
        for j in np.flatnonzero(~np.isnan(x[i])):
            columns, t, ct = local[i, j]
            w = weight(i, j, new_beta[j], new_v[j], t, ct)
            moment = new_v[j] + np.outer(new_beta[j], new_beta[j])
            precision[i][np.ix_(columns, columns)] += w * moment[:-1, :-1]
            shift[i, columns] += (x[i, j] - 0.5) * new_beta[j, :-1]
            shift[i, columns] -= w * moment[:-1, -1]
    new_cov = np.linalg.inv(precision)
    return new_beta, new_v, np.einsum("npq,nq->np", new_cov, shift), new_cov


def test_one_pass_equals_the_equations_cell_by_cell():
    rng = np.random.default_rng(3)
    groups = np.array([0, 1, 0, 1, 1])
    x = rng.random((6, 5))
    x[0, 1] = x[3, 4] = x[3, 0] = np.nan
    mean = rng.normal(size=(6, 4))
    cov = np.stack([np.cov(rng.normal(size=(4, 9))) for _ in range(6)])
    model = BifactorModel(
        np.zeros((5, 4)), np.zeros((5, 4, 4)), groups, 2, 2, True, mean, cov
    )
    blocks = bifactor._make_blocks(x, groups, model)
    beta, v = np.zeros((5, 4)), np.zeros((5, 4, 4))
    for g, block in enumerate(blocks):
        block.beta = rng.normal(size=block.beta.shape)
        block.prior_mean = rng.normal(size=4)
        beta[groups == g], v[groups == g] = block.beta, unpack(block.covariances)
    prior_mean = [block.prior_mean for block in blocks]
    prior_cov = [block.prior_covariance for block in blocks]
    want = naive_sweep(x, groups, beta, v, mean, cov, prior_mean, prior_cov, 2)
    new_mean, new_cov = bifactor._update_abilities(blocks, mean, cov)
    got_beta, got_v = np.zeros((5, 4)), np.zeros((5, 4, 4))
    for g, block in enumerate(blocks):
        got_beta[groups == g] = block.beta
        got_v[groups == g] = unpack(block.covariances)
    for got, expected in zip((got_beta, got_v, new_mean, new_cov), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11)


def test_standardising_keeps_every_logit_and_gives_unit_abilities():
    rng = np.random.default_rng(5)
    groups = np.array([0, 0, 1, 1, 1])
    mean = rng.normal(2.0, 3.0, size=(50, 4))
    cov = np.tile(0.2 * np.eye(4), (50, 1, 1))
    model = BifactorModel(
        np.zeros((5, 4)), np.zeros((5, 4, 4)), groups, 2, 2, True, mean, cov
    )
    blocks = bifactor._make_blocks(np.zeros((50, 5)), groups, model)

    def logits(mean):
        parts = []
        for block in blocks:
            local = np.hstack([mean[:, block.columns], np.ones((50, 1))])
            parts.append(local @ block.beta.T)
        return np.hstack(parts)

    for block in blocks:
        block.beta = rng.normal(size=block.beta.shape)
    before = logits(mean)
    mean, cov = bifactor._standardise(blocks, mean, cov, 2)
    np.testing.assert_allclose(logits(mean), before, atol=1e-10)
    total = np.cov(mean.T, bias=True) + cov.mean(axis=0)
    np.testing.assert_allclose(mean.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.diag(total), 1, atol=1e-12)
    np.testing.assert_allclose(total[:2, :2], np.eye(2), atol=1e-12)
    np.testing.assert_allclose(total[2:, :2], 0, atol=1e-12)


def test_recovers_abilities_and_probabilities(fitted):
    _, p, theta, s, model = fitted
    assert model.converged
    # Group abilities of variance 0.49 over three groups bound it near 0.93.
    assert abs(np.corrcoef(model.abilities[:, 0], theta[:, 0])[0, 1]) > 0.9
    estimate = model.probability(model.abilities, model.ability_covariances)
    assert np.sqrt(((estimate - p) ** 2).mean()) < 0.085
    for g in range(3):
        assert abs(np.corrcoef(model.abilities[:, 1 + g], s[:, g])[0, 1]) > 0.6


def test_group_abilities_explain_held_out_answers():
    groups = np.repeat([0, 1, 2, 3], 30)
    answers, p, _, _ = simulate(150, groups, seed=7, specific=1.2)
    with_groups = fit_bifactor(answers, groups, n_dims=1)
    without = fit_bifactor(answers, groups, n_dims=1, specific=False)
    error = [
        np.abs(m.probability(m.abilities, m.ability_covariances) - p).mean()
        for m in (with_groups, without)
    ]
    assert error[0] < 0.75 * error[1]


def test_fold_in_agrees_with_quadrature(fitted):
    """Posterior mean of one general ability with known items and one group."""
    rng = np.random.default_rng(1)
    slopes, d = rng.uniform(0.5, 1.5, 30), rng.normal(size=30)
    model = BifactorModel(
        np.column_stack([slopes, d]),
        np.zeros((30, 2, 2)),
        np.zeros(30, int),
        1,
        1,
        False,
        np.zeros((1, 1)),
        np.ones((1, 1, 1)),
    )
    y = (rng.random((5, 30)) < expit(rng.normal(size=(5, 1)) * slopes + d)) * 1.0
    y[0, :10] = np.nan
    mean, cov = model.fold_in(y)
    grid = np.linspace(-6, 6, 2001)[:, None]
    for i in range(5):
        k = ~np.isnan(y[i])
        eta = grid * slopes[k] + d[k]
        log = (y[i, k] * eta - np.logaddexp(0, eta)).sum(axis=1) - grid[:, 0] ** 2 / 2
        w = np.exp(log - log.max())
        w /= w.sum()
        exact = w @ grid[:, 0]
        spread = np.sqrt(w @ (grid[:, 0] - exact) ** 2)
        # The variational mean is close; its spread is known to be too small.
        assert abs(mean[i, 0] - exact) < 0.05
        assert 0.7 * spread < np.sqrt(cov[i, 0, 0]) <= spread * 1.01


def test_fold_in_rows_do_not_depend_on_each_other(fitted):
    answers, *_, model = fitted
    together, _ = model.fold_in(answers[:20])
    alone = np.vstack([model.fold_in(answers[[i]])[0] for i in range(20)])
    np.testing.assert_allclose(together, alone, atol=1e-10)


def test_item_uncertainty_widens_the_posterior(fitted):
    answers, *_, model = fitted
    sure = BifactorModel(
        model.beta,
        np.zeros_like(model.covariances),
        model.groups,
        3,
        1,
        True,
        model.abilities,
        model.ability_covariances,
    )
    wide, narrow = model.fold_in(answers[:5])[1], sure.fold_in(answers[:5])[1]
    assert (wide[:, 0, 0] > narrow[:, 0, 0]).all()


def test_no_answers_give_the_prior(fitted):
    *_, model = fitted
    mean, cov = model.fold_in(np.full((2, 120), np.nan))
    assert (mean == 0).all()
    np.testing.assert_array_equal(cov[0], np.eye(4))


def test_marginal_probability_agrees_with_monte_carlo(fitted):
    *_, model = fitted
    rng = np.random.default_rng(0)
    mean, cov = model.abilities[:1], model.ability_covariances[:1] * 4
    draws = rng.multivariate_normal(mean[0], cov[0], 4000)
    p = np.empty(120)
    for j in range(120):
        abilities = draws[:, model.columns(model.groups[j])]
        local = np.column_stack([abilities, np.ones(4000)])
        beta = rng.multivariate_normal(model.beta[j], model.covariances[j], 4000)
        p[j] = expit((local * beta).sum(axis=1)).mean()
    np.testing.assert_allclose(model.probability(mean, cov)[0], p, atol=0.03)


def test_order_of_respondents_and_items_does_not_matter():
    groups = np.repeat([0, 1], 15)
    answers, *_ = simulate(30, groups, seed=2)
    answers[2, 3] = np.nan
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(30), rng.permutation(30)
    one = fit_bifactor(answers, groups)
    two = fit_bifactor(answers[np.ix_(rows, columns)], groups[columns])
    p_one = one.probability(one.abilities, one.ability_covariances)
    p_two = two.probability(two.abilities, two.ability_covariances)
    np.testing.assert_allclose(p_two, p_one[np.ix_(rows, columns)], atol=1e-6)


def test_fractions_and_gaps_are_welcome():
    groups = np.repeat([0, 1], 15)
    answers, *_ = simulate(30, groups, seed=4)
    fractions = 0.2 + 0.6 * answers
    fractions[np.random.default_rng(0).random(answers.shape) < 0.3] = np.nan
    model = fit_bifactor(fractions, groups)
    assert np.isfinite(model.beta).all()
    mean, _ = model.fold_in(fractions)
    score = np.nanmean(fractions, axis=1)
    assert np.corrcoef(mean[:, 0], score)[0, 1] > 0.8


def test_dispersion_is_one_for_binary_scores_and_scales_fold_in():
    groups = np.repeat([0, 1], 15)
    answers, *_ = simulate(40, groups, seed=4)
    binary = fit_bifactor(answers, groups)
    assert binary.dispersion == 1.0
    # x = 1/2 +- 0.3: variance 0.09 around 1/2 where binary scores have 0.25.
    soft = fit_bifactor(0.2 + 0.6 * answers, groups)
    assert 0.3 < soft.dispersion < 0.5
    narrow = soft.fold_in(answers[:5])[1]
    wide = replace(soft, dispersion=1.0).fold_in(answers[:5])[1]
    assert (narrow[:, 0, 0] < wide[:, 0, 0]).all()


def test_one_perfectly_ordered_table_stays_finite():
    model = fit_bifactor(np.tril(np.ones((4, 4))), np.zeros(4, int), n_dims=1)
    assert np.isfinite(model.beta).all() and np.isfinite(model.abilities).all()
    assert (np.diff(model.abilities[:, 0]) > 0).all()  # one more right answer each


def test_too_few_respondents_for_the_dimensions():
    with pytest.raises(ValueError, match="n_dims=3 .* 2 respondents"):
        fit_bifactor(np.eye(2), np.zeros(2, int), n_dims=3)
