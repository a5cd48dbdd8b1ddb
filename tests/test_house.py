"""The limits of the house: no circle, no long function, no long file, few lines."""

import ast
import functools
import io
import tokenize
from graphlib import CycleError, TopologicalSorter

import pytest
from source_files import MODULES, own_imports

MOST_LINES_OF_A_FILE = 500
MOST_CODE_LINES_OF_A_FUNCTION = 50
# code lines of the package: raise it only for a new capability, and say so in the
# commit; a line is counted if it holds code, docstrings not being code
MOST_CODE_LINES = 18_450

LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def code_lines(text):
    """Numbers of the lines that hold code: no blank line, comment or docstring."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    spans = [range(t.start[0], t.end[0] + 1) for t in tokens if t.type not in LAYOUT]
    lines = set().union(*spans)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS):
            if ast.get_docstring(node, clean=False) is not None:
                docstring = node.body[0]
                lines -= set(range(docstring.lineno, docstring.end_lineno + 1))
    return lines


def long_functions(text):
    lines = code_lines(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, FUNCTIONS):
            own = lines & set(range(node.lineno, node.end_lineno + 1))
            if len(own) > MOST_CODE_LINES_OF_A_FUNCTION:
                yield node.name


def refuse_circle(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"circle: {' -> '.join(error.args[1])}")


def test_no_module_is_in_a_circle():
    """Imports inside functions count; those for type checkers alone do not."""
    graph = {name: own_imports(path) - {name} for name, path in MODULES.items()}
    refuse_circle(graph)


def test_a_circle_would_be_noticed():
    with pytest.raises(pytest.fail.Exception, match="circle: a -> b -> a|b -> a -> b"):
        refuse_circle({"a": {"b"}, "b": {"a"}})


@pytest.mark.parametrize("module", MODULES)
def test_files_and_functions_are_short(module):
    text = MODULES[module].read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES_OF_A_FILE
    assert list(long_functions(text)) == []


def test_a_long_function_would_be_noticed():
    body = "\n".join(f"    x = {k}" for k in range(50))
    assert list(long_functions(f'def long():\n    """Docstring."""\n{body}\n')) == [
        "long"
    ]


def test_the_package_stays_small():
    texts = (path.read_text(encoding="utf-8") for path in MODULES.values())
    assert sum(len(code_lines(text)) for text in texts) <= MOST_CODE_LINES
