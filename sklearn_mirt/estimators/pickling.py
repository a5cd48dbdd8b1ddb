"""Pickles that know by which version of the package they were made."""

import warnings

from sklearn_mirt._version import __version__
from sklearn_mirt.exceptions import PickleVersionWarning

_KEY = "_sklearn_mirt_version"


class VersionedPickleMixin:
    """Write the version into pickles; warn where one comes from another version.

    scikit-learn does the same for its own estimators, and only for those.
    """

    def __getstate__(self):
        """Return the state with the version of the package."""
        return {**super().__getstate__(), _KEY: __version__}

    def __setstate__(self, state):
        """Take a state; its version is compared and not kept.

        Warns
        -----
        PickleVersionWarning
            The state was made by another version of the package, or by one before
            versions were written.
        """
        state = dict(state)
        version = state.pop(_KEY, "unknown")
        if version != __version__:
            warnings.warn(
                f"This {type(self).__name__} was pickled by sklearn-mirt {version} and "
                f"is loaded by {__version__}: what was fitted may mean something else. "
                "Fit it again, or keep fitted items in an item bank (save_item_bank), "
                "which any later version reads",
                PickleVersionWarning,
                stacklevel=2,
            )
        super().__setstate__(state)
