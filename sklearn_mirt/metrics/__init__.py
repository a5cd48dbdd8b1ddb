"""Metrics, scorers and splitters for held-out responses.

Conventions shared by every metric: ``y_true`` holds scores in [0, 1] (0 / 1
answers, or the mean of repeats) and NaN where there is no answer; such cells are
ignored. ``y_prob`` is the probability of a right answer, either of the shape of
``y_true`` or, for one-dimensional ``y_true``, the two columns of ``predict_proba``.
A metric that is not defined (no observed cell, one class, constant means) is NaN
with an :class:`~sklearn.exceptions.UndefinedMetricWarning`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
