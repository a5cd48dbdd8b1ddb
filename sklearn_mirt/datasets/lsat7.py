"""load_lsat7: section 7 of the Law School Admission Test, a published table."""

import numpy as np
from sklearn.utils import Bunch

# Patterns run from 00000 to 11111 in binary order; item 1 is the leading digit.
_LSAT7_FREQUENCIES = (
    *(12, 19, 1, 7, 3, 19, 3, 17, 10, 5, 3, 7, 7, 23, 8, 28),
    *(7, 39, 11, 34, 14, 51, 15, 90, 6, 25, 7, 35, 18, 136, 32, 308),
)
_LSAT7_DESCR = """\
Law School Admission Test, section 7: five dichotomous items answered by 1000
examinees, as frequencies of the 32 response patterns. Source: R. D. Bock and
M. Lieberman (1970), Fitting a response model for n dichotomously scored items,
Psychometrika 35, 179-197.
"""


def load_lsat7(*, return_X=False, as_frame=False):
    """Load the LSAT section 7 responses (Bock and Lieberman 1970).

    Parameters
    ----------
    return_X : bool, default=False
        Whether to return the response matrix alone.
    as_frame : bool, default=False
        Whether responses and patterns are DataFrames, and frequencies a Series.

    Returns
    -------
    data : Bunch or array or DataFrame
        responses (1000, 5), float, sorted by pattern; patterns (32, 5), int;
        frequencies (32,), int; feature_names; DESCR.

    References
    ----------
    R. D. Bock and M. Lieberman (1970). Fitting a response model for n
    dichotomously scored items. Psychometrika 35, 179-197.

    Examples
    --------
    >>> from sklearn_mirt.datasets import load_lsat7
    >>> load_lsat7().responses.sum(axis=0)
    array([828., 658., 772., 606., 843.])
    """
    patterns = (np.arange(32)[:, None] >> np.arange(4, -1, -1)) & 1
    frequencies = np.array(_LSAT7_FREQUENCIES)
    responses = np.repeat(patterns, frequencies, axis=0).astype(float)
    names = [f"item {number}" for number in range(1, 6)]
    if as_frame:
        import pandas as pd

        responses = pd.DataFrame(responses, columns=names)
        patterns = pd.DataFrame(patterns, columns=names)
        frequencies = pd.Series(frequencies, name="frequency")
    if return_X:
        return responses
    return Bunch(
        responses=responses,
        patterns=patterns,
        frequencies=frequencies,
        feature_names=names,
        DESCR=_LSAT7_DESCR,
    )
