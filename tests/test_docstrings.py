"""Docstrings of all public names, by numpydoc's own rules."""

import doctest
import importlib
import inspect

import pytest
from source_files import MODULES as SOURCES

import sklearn_mirt

validate = pytest.importorskip("numpydoc.validate")

# What numpydoc asks for and we do not, each for its reason.
IGNORED = {
    "SA01": "see-also lists grow stale; the guide says what belongs together",
    "EX01": "examples stand where they show more than the signature does",
    "ES01": "a first line that says all needs no second paragraph",
    "PR07": "a name and a type can say all: `data : ResponseData`",
    "PR08": "descriptions may begin with a name in lower case, such as a_j",
    "RT02": "results have names here, as in scikit-learn",
    "RT03": "as PR07",
    "RT04": "as PR08",
    "SS05": "first lines are checked by ruff, which knows more verbs",
}
# one line that says all, by the conventions of the class
ONE_LINE = {"PR01", "RT01", "YD01"}
# built by class methods or by the package alone: attributes are what is documented
BUILT_ELSEWHERE = {
    *("ResponseData", "ShardedResponses", "BenchmarkAudit", "LoadedResponses"),
    "HeldOut",
}
MODULES = (
    *("models.item_bank", "datasets", "data.files.read", "data.files.write"),
    *("banks.interchange", "metrics", "metrics.splitters", "plots", "selection"),
    "selection.full_scores",
)


def public_names():
    found = {
        _full_name(getattr(sklearn_mirt, name)): getattr(sklearn_mirt, name)
        for name in sklearn_mirt.__all__
        if name not in {"__version__", "datasets", "metrics", "plots", "selection"}
    }
    for module in MODULES:
        module = importlib.import_module(f"sklearn_mirt.{module}")
        for name in getattr(module, "__all__", ()):
            if hasattr(getattr(module, name), "__qualname__"):
                found[_full_name(getattr(module, name))] = getattr(module, name)
    for name, thing in list(found.items()):
        if inspect.isclass(thing):
            for part, value in vars(thing).items():
                public = inspect.isfunction(value) or isinstance(
                    value, property | classmethod
                )
                if public and not part.startswith("_"):
                    found[f"{name}.{part}"] = value
    return sorted(found)


def _full_name(thing):
    return f"{thing.__module__}.{thing.__qualname__}"


@pytest.mark.parametrize("name", public_names())
def test_a_public_docstring_keeps_the_rules_of_numpydoc(name):
    result = validate.validate(name)
    ignored = set(IGNORED)
    if "\n" not in result["docstring"].strip():
        ignored |= ONE_LINE
    if name.rpartition(".")[2] in BUILT_ELSEWHERE:
        ignored.add("PR01")
    errors = [f"{code}: {what}" for code, what in result["errors"]]
    assert not [error for error in errors if error[:4] not in ignored]


def test_the_rules_are_applied():
    assert len(public_names()) > 100
    assert dict(validate.validate("textwrap.dedent")["errors"])


def modules_with_examples():
    """Names of the modules whose docstrings hold examples."""
    named = {f"sklearn_mirt.{name}": path for name, path in SOURCES.items()}
    named["sklearn_mirt"] = named.pop("sklearn_mirt.__init__")
    return [n for n, path in named.items() if ">>> " in path.read_text("utf-8")]


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0
    assert found.attempted > 0
