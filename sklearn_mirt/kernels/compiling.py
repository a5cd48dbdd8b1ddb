"""How compiled kernels are compiled.

The cache on disk looks at the file of a function only, not at what it calls: functions
that call each other stand in one file, or stale code would be run after an edit.
"""

import numba

# "contract" lets a product and a sum become one instruction; nothing is reordered
_OPTIONS = dict(nogil=True, error_model="numpy", fastmath={"contract"})


def jit(function):
    """Compile with numba, cached on disk where a cache can be written."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no place for the cache: compile in every process
        return numba.njit(**_OPTIONS)(function)
