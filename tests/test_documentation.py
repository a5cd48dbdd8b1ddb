"""What the documentation says is run, and what it names is there."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import sklearn_mirt
from sklearn_mirt import plots

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("the documentation is not part of this installation", True)

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


# Pages whose code is fragments for the reader to fill in.
FRAGMENTS = {"exact_fits", "selecting_items", "files_and_logs", "command_line"}


def blocks(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if blocks(p) and p.stem not in FRAGMENTS],
    ids=lambda p: p.stem,
)
def test_code_of_the_documentation_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("jinja2", reason="pages write a report")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    pyplot.close("all")


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.stem in FRAGMENTS], ids=lambda p: p.stem
)
def test_fragments_are_python_and_import_what_is_there(page):
    for block in blocks(page):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn_"):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names)


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$", text, re.MULTILINE))
    public = set(sklearn_mirt.__all__) - {"__version__", "datasets", "metrics"}
    public |= set(plots.__all__) | set(sklearn_mirt.datasets.__all__)
    assert public - listed == set()


def test_the_questions_name_tests_that_are_there():
    text = (DOCS / "faq.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", text)
    assert len(named) >= 35
    for file, name in named:
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        found = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        assert name in found, f"{file} has no {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+\.md)\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("plot_*.py")), ids=lambda p: p.stem
)
def test_examples_are_short_and_use_public_names(script):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "sklearn_mirt":
            for alias in node.names:
                assert alias.name in sklearn_mirt.__all__


def test_there_are_eight_examples():
    assert len(list((ROOT / "examples").glob("plot_*.py"))) >= 8
