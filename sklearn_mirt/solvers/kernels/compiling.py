"""How compiled kernels are compiled.

The cache on disk looks at the file of a function only, not at what it calls: functions
that call each other stand in one file, or stale code would be run after an edit.
"""

import contextlib
from typing import Any

import numba

# "contract" lets a product and a sum become one instruction; nothing is reordered
_OPTIONS = dict(nogil=True, error_model="numpy", fastmath={"contract"})


def jit(function, options=_OPTIONS):
    """Compile with numba, cached on disk where a cache can be written."""
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no place for the cache: compile in every process
        return numba.njit(**options)(function)
    _tolerate_full_disk(compiled)
    return compiled


def _tolerate_full_disk(compiled):
    """Let a function that cannot be cached be used all the same.

    numba has no public hook for this. Where a later version has no such method to
    replace, and where NUMBA_DISABLE_JIT leaves no cache, the function stays as it is.
    """
    cache: Any = getattr(compiled, "_cache", None)
    save = getattr(cache, "save_overload", None)
    if callable(save):
        with contextlib.suppress(AttributeError):
            cache.save_overload = _unless_full(save)


def _unless_full(save):
    def save_if_possible(*args):
        with contextlib.suppress(OSError):
            save(*args)

    return save_if_possible


def jit_inside(function):
    """Compile what only compiled functions call.

    There is no wrapper for Python, which takes half the time to compile; a call from
    Python would crash.
    """
    no_wrapper = dict(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return jit(function, _OPTIONS | no_wrapper)
