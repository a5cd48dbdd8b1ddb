"""Changes one thing at a time in a module and asks whether its tests notice.

In the syntax tree of the module operators, numbers, truth values, texts (but for pieces
of f-strings), `not`, conditions and `.T` are changed; opposite functions (min and max,
any and all) change places; keyword arguments, decorators and statements are left out.
For each change the tests run in a forked process, until the first that fails. A change
that no test notices survives and is printed: it wants a test, or a reason why it
changes nothing.

    python benchmarks/mutate.py items tests/models/test_items.py
    python benchmarks/mutate.py rotation tests/models/rotation --sample 60

Ends with exit status 1 if a change survives.
"""

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.util
import io
import os
import random
import signal
import sys
import time
from pathlib import Path

# imported once, before the processes are forked
import hypothesis.extra.numpy  # noqa: F401
import pandas  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.model_selection  # noqa: F401

import sklearn_mirt.estimators.classifier
import sklearn_mirt.estimators.transformer  # noqa: F401

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.MatMult: ast.Mult, ast.Pow: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


OPPOSITE = {"min": "max", "minimum": "maximum", "any": "all", "zeros": "ones"}
OPPOSITE |= {"zeros_like": "ones_like", "sum": "mean", "argmin": "argmax"}
OPPOSITE |= {other: name for name, other in OPPOSITE.items()}


def changed(node):
    """Yield the changed forms of one node."""
    match node:
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign():
            swap = SWAPS.get(type(node.op))
            if swap is not None and not _annotation(node):
                yield _with(node, op=swap())
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                if type(operator) in SWAPS:
                    ops = list(node.ops)
                    ops[place] = SWAPS[type(operator)]()
                    yield _with(node, ops=ops)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield _with(node, value=not node.value)
        case ast.Constant(value=int() | float()):
            yield _with(node, value=node.value + 1)
        case ast.Constant(value=str()):
            yield _with(node, value=f"XX{node.value}")
        case ast.Name(id=name) if name in OPPOSITE:
            yield _with(node, id=OPPOSITE[name])
        case ast.Attribute(attr="T"):
            yield node.value
        case ast.Attribute(attr=name) if name in OPPOSITE:
            yield _with(node, attr=OPPOSITE[name])
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                yield _with(node, keywords=[k for k in keywords if k is not keyword])
    yield from _changed_statement(node)


def _changed_statement(node):
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.FunctionDef() | ast.ClassDef():
            if node.decorator_list:
                yield _with(node, decorator_list=[])
        case ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Return():
            yield ast.Pass()
        case ast.Expr(value=ast.Call() | ast.Yield()):
            yield ast.Pass()


def _annotation(node):
    return isinstance(getattr(node, "right", None), ast.Constant) and (
        node.right.value is None
    )


def _with(node, **fields):
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def mutants(tree):
    """Yield (line, before, after, changed tree)."""
    tree.body = [node for node in tree.body if not _lists_names(node)]
    for parent in ast.walk(tree):
        if isinstance(parent, ast.JoinedStr) or _is_text(parent):
            continue
        for name, value in ast.iter_fields(parent):
            if name == "annotation" or name == "returns":
                continue
            children = value if isinstance(value, list) else [value]
            for place, node in enumerate(children):
                if not isinstance(node, ast.AST):
                    continue
                for other in changed(node):
                    before = ast.unparse(node)
                    _put(parent, name, value, place, other)
                    text = ast.unparse(ast.fix_missing_locations(tree))
                    _put(parent, name, value, place, node)
                    yield getattr(node, "lineno", 0), before, ast.unparse(other), text


def _lists_names(node):
    return isinstance(node, ast.Assign) and ast.unparse(node.targets) == "__all__"


def _is_text(node):
    """Whether a statement is a documentation string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _put(parent, name, value, place, node):
    if isinstance(value, list):
        value[place] = node
    else:
        setattr(parent, name, node)


def noticed(module, text, tests, seconds):
    """Whether the tests fail in a process where the module is the changed one."""
    child = os.fork()
    if not child:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # a busy machine is no failure
        code = 1
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(Exception),
        ):
            code = 0 if _passes(module, text, tests) else 1
        os._exit(code)
    return os.waitpid(child, 0)[1] != 0


def _passes(module, text, tests):
    for name in [name for name in vars(module) if not name.startswith("__")]:
        delattr(module, name)  # what the changed text does not define is not there
    exec(compile(text, module.__file__, "exec"), module.__dict__)  # noqa: S102
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith("sklearn_mirt"):
            _rebind(other, module)
    # `or`: no test at all would be no failure
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    return pytest.main(arguments) == 0


def _rebind(other, module):
    """Give a module that imported names from the changed one the changed ones."""
    if other is module:
        return
    for name, value in list(vars(other).items()):
        if getattr(value, "__module__", None) == module.__name__:
            new = getattr(module, getattr(value, "__name__", ""), None)
            if new is not None:
                setattr(other, name, new)


def _short(text):
    return text.splitlines()[0]


def main():
    """Try the changes; print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", help="such as items or rotation")
    parser.add_argument("tests", nargs="+", help="files, or options of pytest")
    parser.add_argument("--sample", type=int, help="so many changes, drawn at random")
    parser.add_argument("--line", type=int, action="append", help="this line alone")
    parser.add_argument(
        "--seconds", type=int, default=300, help="of CPU, for one change"
    )
    options, more = parser.parse_known_args()
    module = importlib.import_module(f"sklearn_mirt.{options.module}")
    text = Path(module.__file__).read_text(encoding="utf-8")
    found = list(mutants(ast.parse(text)))
    if options.line:
        found = [change for change in found if change[0] in options.line]
    if options.sample is not None and options.sample < len(found):
        found = random.Random(0).sample(found, options.sample)
    tests = options.tests + more
    if noticed(module, text, tests, options.seconds):
        sys.exit("the tests fail, or take too long, without any change")
    survivors, start = [], time.monotonic()
    for line, before, after, changed_text in found:
        if not noticed(module, changed_text, tests, options.seconds):
            survivors.append(line)
            print(f"line {line}: {_short(before)}  ->  {_short(after)}", flush=True)
    seconds = time.monotonic() - start
    print(f"{len(found)} changes, {len(survivors)} survive, {seconds:.0f} s")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
