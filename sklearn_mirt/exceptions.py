"""Warnings of the package; errors are ValueError, as in scikit-learn."""


class ResponseDataWarning(UserWarning):
    """Something in the responses that a fit survives but a reader should know."""


class PickleVersionWarning(UserWarning):
    """A pickle was made by another version of the package."""


class NotConvergedWarning(UserWarning):
    """An exact fit stopped before its tolerance was met."""
