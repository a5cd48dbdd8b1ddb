"""Agreement with reference fits of R mirt; the full table is docs/reproduce_r_mirt.md.

These reference values are not shipped: golden.json lies beside the response sets. Those
of LSAT7 are, and test_golden_lsat7.py compares with them everywhere.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from sklearn_mirt.diagnostics.global_fit import global_fit
from sklearn_mirt.solvers.quadrature.fit import fit_quadrature
from sklearn_mirt.solvers.quadrature.model import ExactModel, ExactSettings
from sklearn_mirt.solvers.quadrature.respondent_scores import score_respondents

FOLDER = os.environ.get("SKLEARN_MIRT_DATA")
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="SKLEARN_MIRT_DATA is not set: no reference values"
)
GOLDEN = (
    [] if FOLDER is None else json.loads((Path(FOLDER) / "golden.json").read_text())
)
GRID = ExactSettings(nodes="grid", node_limit=6.0)
NAMES = {"2PL": "2pl", "Rasch": "rasch", "graded": "graded", "gpcm": "gpcm"}
# on nodes cut off at 6, the maximum of these lies elsewhere: see the document
TRUNCATED = {"abortion", "mobility", "deayala"}


def responses(name):
    pd = pytest.importorskip("pandas")
    folder, _, kind = name.partition(" ")
    file = "responses_graded.csv.gz" if kind else "responses.csv.gz"
    return pd.read_csv(Path(FOLDER) / folder / file).iloc[:, 1:].to_numpy(float)


def entries(n_dims):
    """Return the tight reference fits with this many dimensions."""
    return [
        pytest.param(entry, id=f"{k}-{entry['dataset']}-{entry['model']}")
        for k, entry in enumerate(GOLDEN)
        if entry["model"].endswith("-tight")
        and entry["n_dims"] == n_dims
        and entry["dataset"] != "lsat7"
    ]


def stored(details, letter):
    return np.array(
        [
            [v for k, v in item.items() if k[0] == letter and k[1:].isdigit()]
            or [item[letter]]
            for item in details["items"].values()
        ]
    )


@pytest.mark.parametrize("entry", entries(1))
def test_one_dimension(entry):
    model = ExactModel(item_model=NAMES[entry["model"].removesuffix("-tight")])
    settings = ExactSettings(nodes="grid", node_limit=6.0, standard_errors=False)
    fit = fit_quadrature(responses(entry["dataset"]), model=model, settings=settings)
    if entry["model"].startswith("Rasch") and entry["dataset"] in TRUNCATED:
        assert fit.log_likelihood > entry["value"]
        return
    assert fit.converged
    assert fit.n_parameters == entry["scalars"]["n_free_parameters"]
    np.testing.assert_allclose(fit.log_likelihood, entry["value"], atol=1e-3)
    np.testing.assert_allclose(fit.aic, entry["scalars"]["AIC"], atol=2e-3)
    np.testing.assert_allclose(fit.bic, entry["scalars"]["BIC"], atol=2e-3)
    slopes, intercepts = stored(entry["details"], "a"), stored(entry["details"], "d")
    if entry["model"].startswith("gpcm"):
        slopes, intercepts = slopes[:, :1], intercepts[:, 1:]
    np.testing.assert_allclose(fit.slopes, slopes, atol=2e-3)
    np.testing.assert_allclose(np.array(fit.extras), intercepts, atol=2e-3)


@pytest.mark.parametrize("entry", entries(2))
def test_two_dimensions(entry):
    name = NAMES[entry["model"].removesuffix("-tight")]
    fit = fit_quadrature(
        responses(entry["dataset"]),
        model=ExactModel(item_model=name, n_dims=2),
        settings=GRID,
    )
    np.testing.assert_allclose(fit.log_likelihood, entry["value"], atol=1e-3)
    scaled = ((fit.slopes / 1.702) ** 2).sum(1)
    communality = list(entry["details"]["communality"].values())
    np.testing.assert_allclose(scaled / (1 + scaled), communality, atol=2e-3)


def test_ordinal_limited_information():
    data = responses("science")
    fit = fit_quadrature(data, model=ExactModel(item_model="graded"), settings=GRID)
    np.testing.assert_allclose(
        global_fit(fit, data, type="C2").statistic, GOLDEN[26]["value"], atol=5e-3
    )
    scores = score_respondents(fit, np.array([[1.0, 2.0, 3.0, 4.0]]))
    found = [scores.mean[0, 0], scores.standard_errors[0, 0]]
    np.testing.assert_allclose(found, GOLDEN[27]["value"], atol=1e-3)


def test_wide_abilities_get_a_wide_grid():
    fit = fit_quadrature(responses("abortion"), model=ExactModel(item_model="rasch"))
    spread = np.sqrt(fit.ability_covariance[0, 0])
    assert np.abs(fit.nodes).max() >= 5 * spread
    wide = ExactSettings(nodes="grid", n_points=401, node_limit=40.0)
    model = ExactModel(item_model="rasch")
    finer = fit_quadrature(responses("abortion"), model=model, settings=wide)
    np.testing.assert_allclose(fit.log_likelihood, finer.log_likelihood, atol=1e-3)
