"""Who imports whom, and what `import sklearn_mirt` loads."""

import re
import subprocess
import sys

import pytest
from source_files import MODULES, PACKAGE, imports, own_imports

import sklearn_mirt

# Rooms of the package, from the ground up: what a module of each may import besides its
# own room. A module belongs to the room with the longest matching name.
GROUND = {"exceptions", "_version"}
DATA = GROUND | {"data"}
FILES = DATA | {"data.files"}
SHARDS = FILES | {"data.shards"}
MODELS = SHARDS | {"models"}
SOLVERS = MODELS | {
    "solvers",
    "solvers.kernels",
    "solvers.runners",
    "solvers.base",
    "solvers.variational",
    "solvers.quadrature",
    "solvers.bifactor",
}
ESTIMATORS = SOLVERS | {"estimators"}
DIAGNOSTICS = ESTIMATORS | {"metrics", "banks", "selection", "diagnostics"}
ROOMS = {
    "exceptions": set(),
    "_version": set(),
    "data": GROUND,
    "data.files": DATA,
    "data.shards": FILES,
    "models": FILES,
    "solvers": GROUND,
    "solvers.kernels": MODELS,
    "solvers.runners": FILES,
    "solvers.base": MODELS | {"solvers.kernels", "solvers.runners"},
    "solvers.variational": MODELS
    | {"solvers.kernels", "solvers.runners", "solvers.base"},
    "solvers.quadrature": MODELS
    | {"solvers.kernels", "solvers.runners", "solvers.base"},
    "solvers.bifactor": MODELS
    | {"solvers.kernels", "solvers.runners", "solvers.base", "solvers.variational"},
    "estimators": SOLVERS,
    "metrics": FILES | {"models"},
    # pictures fit nothing: they may know the formulas of the models alone
    "plots": {"models"},
    "banks": ESTIMATORS,
    "selection": ESTIMATORS,
    "diagnostics": DIAGNOSTICS,
    "audit": DIAGNOSTICS | {"audit", "plots"},
    "datasets": MODELS | {"banks"},
    "cli": DIAGNOSTICS | {"audit", "plots", "datasets", "__init__"},
    "__main__": {"cli"},
    "__init__": DIAGNOSTICS | {"audit", "plots", "datasets"},
}


def room_of(module):
    """Room with the longest name that the module begins with, or None."""
    parts = module.split(".")
    names = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((name for name in names if name in ROOMS), None)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_the_rooms_below(module):
    room = room_of(module)
    assert room, f"{module} is in no room: add it to ROOMS and to CONTRIBUTING.md"
    allowed = ROOMS[room] | {room}
    for other in own_imports(MODULES[module]):
        assert room_of(other) in allowed, f"{module} must not import {other}"


def test_every_room_is_there():
    named = set(ROOMS).union(*ROOMS.values())
    assert named <= set(MODULES), f"no such module: {sorted(named - set(MODULES))}"
    assert named == set(ROOMS), f"not described: {sorted(named - set(ROOMS))}"


def test_the_package_has_few_rooms_and_no_stray_module():
    folders = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}
    assert len(folders) <= 12
    files = {p.stem for p in PACKAGE.glob("*.py")}
    assert files == {"__init__", "__main__", "_version", "exceptions"}


@pytest.mark.parametrize("module", MODULES)
def test_solvers_and_what_they_build_on_do_not_know_scikit_learn(module):
    # rotation takes its seeds and its warning from scikit-learn
    if room_of(module).split(".")[0] in {"data", "models", "solvers"} and (
        not module.startswith("models.rotation.")
    ):
        names = imports(MODULES[module], inside_functions=True)
        assert not [name for name in names if name.split(".")[0] == "sklearn"]


@pytest.mark.parametrize("module", MODULES)
def test_optional_and_slow_libraries_are_imported_on_first_use(module):
    late = {"pandas", "matplotlib", "dask", "distributed", "cupy", "pyarrow", "polars"}
    if room_of(module) != "cli" and module != "audit.terminal":
        late |= {"typer", "rich"}
    names = imports(MODULES[module], inside_functions=False)
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


def test_every_module_is_on_the_map_of_contributing():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows, room = {}, None
    for line in re.findall(r"^\|(?! room| ---)(.*)\|$", text, re.MULTILINE):
        first, names, _ = (cell.strip() for cell in line.split("|"))
        room = first.strip("`/").replace("/", ".") or room
        rows.setdefault(room, set()).update(re.findall(r"`(\w+)`", names))
    for module in MODULES:
        folder, _, name = module.rpartition(".")
        if folder and not (MODULES[module].name == "__init__.py"):
            assert name in rows.get(folder, ()), f"{module} is not on the map"
    for folder, names in rows.items():
        for name in names:
            assert f"{folder}.{name}" in MODULES, f"{folder}/{name} is not there"
