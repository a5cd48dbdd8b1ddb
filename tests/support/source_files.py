"""The modules of the package and what each imports, read from their syntax trees."""

import ast
from pathlib import Path

import sklearn_mirt

PACKAGE = Path(sklearn_mirt.__file__).parent


def module_files():
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path):
    """Name of the module of a file, without that of the package; else __init__."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if len(parts) > 1 and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


MODULES = {module_name(path): path for path in module_files()}


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
    package, _, name = name.partition(".")
    if package != "sklearn_mirt":
        return None
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or "__init__"


def own_imports(path):
    names = imports(path, inside_functions=True)
    return {other for name in names if (other := own_module(name)) is not None}
