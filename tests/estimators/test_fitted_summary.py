"""Fitted estimators in notebooks and terminals."""

import html
import io
import re

import numpy as np
import pytest
from sklearn import config_context

from sklearn_mirt import MIRTClassifier, MIRTTransformer
from sklearn_mirt.datasets import load_lsat7, make_responses


@pytest.fixture(scope="module")
def fitted():
    table = make_responses(30, 40, n_dims=2, random_state=0).responses
    return MIRTTransformer(2, solver="variational").fit(table)


def rows(estimator):
    """The summary's table, as a dict."""
    shown = estimator._repr_html_().partition("</table>")[0]
    pairs = re.findall(r"<th[^>]*>(.*?)</th><td>(.*?)</td>", shown)
    return {html.unescape(a): html.unescape(b) for a, b in pairs}


def test_a_notebook_shows_what_was_fitted_and_the_diagram(fitted):
    assert rows(fitted) == {
        "respondents": "30",
        "items": "40 in 1 group(s)",
        "dimensions": "2, rotation oblimin",
        "fit": f"variational, converged after {fitted.n_iter_} passes",
        "lower bound": f"{fitted.lower_bounds_[-1]:,.2f}",
        "ability correlations": f"{fitted.ability_correlation_[0, 1]:.2f}",
    }
    assert "sk-container-id" in fitted._repr_html_()
    assert fitted._repr_mimebundle_()["text/html"].startswith("<table")


def test_an_exact_fit_has_a_log_likelihood():
    mirt = MIRTTransformer(1).fit(load_lsat7(return_X=True))
    assert rows(mirt)["log-likelihood"] == f"{mirt.log_likelihoods_[-1]:,.2f}"
    assert "ability correlations" not in rows(mirt)


def test_a_fit_that_stopped_early_says_so():
    table = np.array(make_responses(30, 40, random_state=0).responses)
    mirt = MIRTTransformer(1, solver="variational", max_iter=1)
    with pytest.warns(UserWarning, match="stopped after 1 passes"):
        mirt.fit(table)
    assert rows(mirt)["fit"] == "variational, NOT converged after 1 passes"


def test_before_the_fit_and_as_text_all_is_as_in_scikit_learn(fitted):
    assert rows(MIRTClassifier()) == {}
    assert "sk-container-id" in MIRTClassifier()._repr_html_()
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}


def test_values_are_escaped_in_html_and_are_no_markup_in_a_terminal(fitted):
    rich = pytest.importorskip("rich.console")

    class Named(MIRTTransformer):
        def _fitted_summary(self):
            return [("<b>", "<script>alert(1)</script> [red]x[/red]")]

    named = Named(2)
    named.__dict__.update(fitted.__dict__)
    shown = named._repr_html_().partition("</table>")[0]
    assert "<script" not in shown and "<b>" not in shown
    console = rich.Console(width=100, file=io.StringIO())
    console.print(named, fitted, MIRTClassifier())
    text = console.file.getvalue()
    assert "<script>alert(1)</script> [red]x[/red]" in text
    assert "variational, converged" in text and "MIRTClassifier()" in text
