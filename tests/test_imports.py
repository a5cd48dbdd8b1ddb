"""Who imports whom, and what `import sklearn_mirt` loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sklearn_mirt

PACKAGE = Path(sklearn_mirt.__file__).parent

# Layers of the package: the modules of each, and the layers they may import from.
LAYERS = {
    "foundation": {
        "exceptions",
        "cells",
        "checking",
        "data",
        "items",
        "abilities",
        "resampling",
        "item_model",
        "item_models",
    },
    "priors": {"priors"},
    "kernels": {"kernels"},
    "runner": {"runner", "streaming", "dask_runner"},
    "shards": {"shards", "pieces", "sharding", "wide_sharding"},
    "solvers": {"solvers"},
    "exact_fit": {"fit_statistics", "limited_information"},
    "rotation": {"gradient_projection", "rotation"},
    "datasets": {"datasets", "fetching", "simulation", "suite", "tiny_benchmarks"},
    "atomic": {"atomic"},
    "spreadsheets": {"spreadsheets"},
    "versions": {"versions"},
    "bank": {"bank"},
    "tables": {"tables", "streams"},
    "readers": {"readers"},
    "files": {"files", "layouts", "writers"},
    "interchange": {"interchange"},
    "estimators": {
        "callbacks",
        "summaries",
        "design",
        "dimensions",
        "long",
        "prediction",
        "estimator",
        "classifier",
        "transformer",
        "baselines",
        "lazy",
        "sharded_abilities",
        "sharded_fit",
    },
    "analysis": {
        "selection",
        "scoring",
        "budgets",
        "adaptive",
        "calibration",
        "diagnostics",
        "metrics",
        "alignment",
        "comparison",
        "correlations",
        "refit",
        "replicates",
        "stability",
        "uncertainty",
        "heldout",
        "cellmetrics",
        "splitters",
        "description",
        "crossvalidation",
    },
    "audit": {"audit", "audit_tables", "findings", "runs", "provenance"},
    "plots": {"plots"},
    "report": {"report"},
    "presentation": {"console", "output"},
    "commands": {"commands"},
    "cli": {"cli"},
    "main": {"__main__"},
    "public": {"__init__"},
}
MAY_IMPORT = {
    "foundation": {"foundation"},
    "kernels": {"kernels", "foundation"},
    # only for packed symmetric matrices
    "priors": {"kernels", "foundation"},
    "runner": {"runner", "atomic"},
    "shards": {"shards", "foundation", "atomic"},
    "solvers": {"solvers", "foundation", "priors", "kernels", "runner", "atomic"},
    "exact_fit": {"exact_fit", "solvers", "foundation"},
    "rotation": {"rotation", "foundation"},
    "datasets": {"datasets", "files", "interchange", "bank", "atomic", "foundation"},
    "tables": {"tables"},
    "atomic": set(),
    "spreadsheets": set(),
    "versions": {"foundation", "public"},
    # the version of the package is written into a bank
    "bank": {"atomic", "foundation", "priors", "public"},
    "readers": {"readers", "tables", "foundation"},
    "files": {"files", "readers", "atomic", "tables", "spreadsheets", "foundation"},
    "interchange": {"bank", "atomic", "tables", "spreadsheets", "foundation"},
    "estimators": {
        "estimators",
        "versions",
        "foundation",
        "priors",
        "kernels",
        "runner",
        "solvers",
        "rotation",
        "bank",
        "atomic",
        "shards",
    },
    "analysis": {
        "analysis",
        "versions",
        "estimators",
        "foundation",
        "priors",
        "rotation",
        "runner",
        "solvers",
        "atomic",
        # one compiled loop of the choice of items
        "kernels",
    },
    "audit": {
        "audit",
        "analysis",
        "estimators",
        "rotation",
        "foundation",
        "spreadsheets",
        # for its own pictures of itself, on demand: to_html, __rich__
        "report",
        "presentation",
    },
    "plots": {"plots"},
    "report": {"report", "plots"},
    "presentation": {"plots"},
    "commands": {
        "commands",
        "public",
        "files",
        "bank",
        "interchange",
        "atomic",
        "analysis",
        "datasets",
        "presentation",
    },
    "cli": {"commands"},
    "main": {"cli"},
    # names are imported lazily from everywhere
    "public": set(LAYERS),
}
LAYER_OF = {module: layer for layer, names in LAYERS.items() for module in names}


def module_files():
    return sorted(PACKAGE.rglob("*.py"))


def top_module(path):
    """Name of the module, or of the sub-package, directly under the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _for_types_only(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(path, *, inside_functions):
    """Full names imported by a file, apart from those for type checkers only."""
    found, stack = [], [ast.parse(path.read_text(encoding="utf-8"))]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        if _for_types_only(node):
            continue
        if isinstance(node, functions) and not inside_functions:
            continue
        stack.extend(ast.iter_child_nodes(node))
    return found


def own_module(name):
    """Module of ours behind a full name; __init__ for the public names."""
    parts = name.split(".")
    if parts[0] != "sklearn_mirt":
        return None
    is_module = len(parts) > 1 and (
        (PACKAGE / f"{parts[1]}.py").exists() or (PACKAGE / parts[1]).is_dir()
    )
    return parts[1] if is_module else "__init__"


@pytest.mark.parametrize("path", module_files(), ids=lambda p: str(p.name))
def test_a_module_imports_only_from_the_layers_it_may_know(path):
    module = top_module(path)
    assert module in LAYER_OF, (
        f"{module} is in no layer: add it to LAYERS and to CONTRIBUTING.md"
    )
    allowed = MAY_IMPORT[LAYER_OF[module]]
    for name in imports(path, inside_functions=True):
        other = own_module(name)
        if other is not None:
            assert LAYER_OF[other] in allowed, f"{module} must not import {name}"


@pytest.mark.parametrize("path", module_files(), ids=lambda p: str(p.name))
def test_solvers_and_what_they_build_on_do_not_know_scikit_learn(path):
    if LAYER_OF[top_module(path)] in {
        "foundation",
        "priors",
        "kernels",
        "runner",
        "solvers",
    }:
        names = imports(path, inside_functions=True)
        assert not [name for name in names if name.split(".")[0] == "sklearn"]


@pytest.mark.parametrize("path", module_files(), ids=lambda p: str(p.name))
def test_optional_and_slow_libraries_are_imported_on_first_use(path):
    late = {"pandas", "matplotlib", "dask", "distributed", "cupy", "pyarrow", "polars"}
    if LAYER_OF[top_module(path)] not in {"presentation", "commands"}:
        late |= {"typer", "rich"}
    names = imports(path, inside_functions=False)
    assert not [name for name in names if name.split(".")[0] in late]


def _python(code):
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_importing_the_package_loads_no_heavy_library():
    heavy = ["numba", "pandas", "matplotlib", "dask", "cupy", "typer", "rich"]
    code = f"import sys, sklearn_mirt; print(*[m for m in {heavy} if m in sys.modules])"
    assert _python(code) == []


def test_importing_the_package_is_quick_after_scikit_learn():
    code = (
        "import sklearn.base, time; start = time.perf_counter(); import sklearn_mirt; "
        "print(time.perf_counter() - start)"
    )
    # three tries: another process may be using the machine
    assert any(float(_python(code)[0]) < 0.3 for _ in range(3))


def test_every_public_name_can_be_imported():
    for name in sklearn_mirt.__all__:
        assert getattr(sklearn_mirt, name) is not None
        assert name in dir(sklearn_mirt)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sklearn_mirt.no_such_name
