"""Count packed and scalar floating-point instructions in the compiled kernels.

A kernel that the compiler did not vectorise shows scalar instructions only.

    python benchmarks/instructions.py
"""

import os
import re
import tempfile

# numba shows the code of what it compiles, not of what it finds in its cache
os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()

import numpy as np

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.solvers.kernels import elementwise, gaussian_solves, get_kernels

_ARITHMETIC = r"\bv?(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\w*?)"
PACKED = re.compile(_ARITHMETIC + r"p[sd]\b")
SCALAR = re.compile(_ARITHMETIC + r"s[sd]\b")
KERNELS = "cell_terms", "weighted_cell_terms", "_artanh", "share_answers", "_log"
KERNELS += ("centre", "solve_batch")


def counts():
    """Return {kernel: (packed, scalar)} over all compiled signatures."""
    found = {}
    for name in KERNELS:
        kernel = getattr(
            gaussian_solves if name == "solve_batch" else elementwise, name
        )
        text = "\n".join(kernel.inspect_asm().values())
        if text:
            found[name] = len(PACKED.findall(text)), len(SCALAR.findall(text))
    return found


def main():
    X = make_responses(40, 100, random_state=0).responses
    for dtype in ("float32", "float64"):
        MIRTTransformer(2, dtype=dtype, max_iter=3, tol=1.0).fit(X)
    square, scores = np.ones(X.shape), np.ones(X.shape, dtype=np.int8)
    kernels, weights = get_kernels(), np.ones(X.shape)
    kernels.cell_terms(square, scores, weights)
    kernels.knowing_scores(square, scores, None, 0.2 * weights, np.empty(X.shape))
    print("| kernel | packed | scalar |\n|---|---|---|")
    for name, (packed, scalar) in counts().items():
        print(f"| {name} | {packed} | {scalar} |")


if __name__ == "__main__":
    main()
