"""Rules for the source of the whole package."""

import ast
from pathlib import Path

import pytest

import sklearn_mirt

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def test_only_public_names_of_scikit_learn_are_used():
    """A renamed private name would break every installation."""
    for path in Path(sklearn_mirt.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn."):
                names = [*node.module.split("."), *(a.name for a in node.names)]
                assert not [n for n in names if n.startswith("_")], (path, names)


PACKAGE = Path(sklearn_mirt.__file__).parent


# no archive is unpacked into files either, so that no member can be named ../x
FORBIDDEN_MODULES = {
    *("pickle", "cPickle", "dill", "shelve", "marshal", "yaml", "subprocess"),
    *("zipfile", "tarfile", "shlex", "xml"),
}


FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_no_pickle_no_eval_no_shell_no_archive(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {node.module.split(".")[0]}
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            of = getattr(getattr(node.func, "value", None), "id", "")
            assert (of, called) != ("joblib", "load")
            for keyword in node.keywords:
                if keyword.arg == "allow_pickle":
                    assert keyword.value.value is False
            harmless = (of, called) in {("re", "compile"), ("platform", "system")}
            assert harmless or called not in FORBIDDEN_CALLS, (node.lineno, called)
            continue
        else:
            continue
        assert not names & FORBIDDEN_MODULES, f"line {node.lineno}: {names}"
