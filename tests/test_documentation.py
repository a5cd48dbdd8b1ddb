"""What the documentation says is run, and what it names is there."""

import ast
import functools
import re
import runpy
import textwrap
from pathlib import Path

import pytest

import sklearn_mirt
from sklearn_mirt import plots, read_items, read_responses, selection_curve

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("the documentation is not part of this installation", True)

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCED = re.DOTALL | re.MULTILINE
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


# A page or an example should not warn its reader; other packages may deprecate things.
NO_WARNING = pytest.mark.filterwarnings(
    "error", "default::DeprecationWarning", "default::FutureWarning"
)
# The data of a page may call for a warning.
EXPECTED = {
    "exact_fits": pytest.mark.filterwarnings("ignore:The slopes of items 2 grow")
}

# What the reader is asked to fill in, by page.
FILL_IN = {
    "selecting_items": """
import numpy as np, pandas as pd
from sklearn_mirt.datasets import make_responses
truth = make_responses(30, 120, n_groups=2, random_state=0)
full = pd.DataFrame(truth.responses).rename(columns=lambda j: f"x{j}")
benchmark_of_item, family_of_model = truth.item_groups, np.arange(30) // 2
run_my_checkpoint = lambda names: full.iloc[:1][names]
"""
}


@pytest.fixture
def pyplot():
    """Pyplot that draws to no screen; its figures are closed after the test."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")


def blocks(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def pages_with_code():
    return [
        pytest.param(page, marks=EXPECTED.get(page.stem, ()), id=page.stem)
        for page in PAGES
        if blocks(page)
    ]


@pytest.mark.slow
@NO_WARNING
@pytest.mark.parametrize("page", pages_with_code())
def test_code_of_the_documentation_runs(page, tmp_path, monkeypatch, pyplot):
    pytest.importorskip("jinja2", reason="pages write a report")
    monkeypatch.chdir(tmp_path)
    if page.stem == "selecting_items":
        # with the defaults of the page the curve takes minutes
        small = functools.partial(selection_curve, budgets=(5, 10), cv=2, n_draws=1)
        monkeypatch.setattr(sklearn_mirt, "selection_curve", small)
    names = {}
    exec(FILL_IN.get(page.stem, ""), names)
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def test_the_tables_of_the_readme_go_together(tmp_path):
    """Typed in as they stand, they are understood."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, start in (("scores.csv", "    model,"), ("items.csv", "    item,")):
        block = text[text.index(start) :].partition("\n\n")[0]
        (tmp_path / name).write_text(textwrap.dedent(block))
    items = read_items(tmp_path / "items.csv")
    loaded = read_responses(tmp_path / "scores.csv", items=items)
    assert loaded.data.n_observed == 7
    assert list(items.columns) == ["benchmark", "subset", "text"]
    assert list(loaded.data.items) == list(items.index)


def headings(page):
    """Anchors of the headings, as Sphinx (myst) and GitHub make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=FENCED)
    titles = re.findall(r"^#{1,3} (.+)$", text, re.MULTILINE)
    words = [re.sub(r"[^\w\s-]", "", title.lower()) for title in titles]
    return {"-".join(title.split(" ")) for title in words}


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$", text, re.MULTILINE))
    modules = {"datasets", "metrics", "plots", "selection"}
    public = set(sklearn_mirt.__all__) - modules - {"__version__"}
    public |= set(plots.__all__) | set(sklearn_mirt.datasets.__all__)
    assert public - listed == set()


def test_the_table_of_symptoms_names_tests_that_exist():
    text = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", text)
    assert len(named) >= 35
    for file, name in named:
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        found = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        assert name in found, f"{file} has no {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, _, anchor in re.findall(r"\]\(([^)#:\s]*)(#([^)]+))?\)", text):
        other = (page.parent / target) if target else page
        assert other.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in headings(other), f"{page.name}: #{anchor}"


def test_every_page_is_in_one_table_of_contents():
    listed = []
    for page in DOCS.rglob("*.md"):
        for tree in re.findall(
            r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), FENCED
        ):
            names = [x for x in tree.split() if not x.startswith(":") and x != "1"]
            listed += [(page.parent / f"{name}.md").resolve() for name in names]
    made = {DOCS / "auto_examples" / "index.md"}  # by sphinx-gallery
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {DOCS / "index.md"}
    assert sorted(set(listed) - made) == sorted(pages - made)
    assert len(listed) == len(set(listed))


def test_addresses_are_complete_and_few():
    """A network is not at hand in the tests: `make links` asks each address."""
    found = set()
    for page in [*PAGES, *(ROOT / "sklearn_mirt").rglob("*.py")]:
        text = page.read_text(encoding="utf-8")
        found |= set(re.findall(r"https?://[^\s)>\"'`\]]+", text))
    hosts = {address.split("/")[2] for address in found}
    assert all(address.startswith("https://") for address in found), found
    assert hosts <= {
        "github.com",
        "huggingface.co",
        "keepachangelog.com",
        "raw.githubusercontent.com",
        "semver.org",
    }


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
EACH_EXAMPLE = pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.stem)


@pytest.mark.slow
@NO_WARNING
@EACH_EXAMPLE
def test_an_example_runs(script, tmp_path, monkeypatch, pyplot):
    pytest.importorskip("jinja2", reason="examples write a report")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))


@EACH_EXAMPLE
def test_examples_are_short_and_use_public_names(script):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "sklearn_mirt":
            for alias in node.names:
                assert alias.name in sklearn_mirt.__all__


@EACH_EXAMPLE
def test_an_example_is_shown_in_the_gallery(script):
    """sphinx-gallery shows scripts with a title whose name begins with plot_."""
    assert script.name.startswith("plot_")
    title, line = ast.get_docstring(ast.parse(script.read_text("utf-8"))).split("\n")[
        :2
    ]
    assert set(line) == {"="} and len(line) >= len(title)
