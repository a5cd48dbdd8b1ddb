"""Multidimensional item response theory with the scikit-learn API.

Public names are imported on first use, so that ``import sklearn_mirt`` loads neither
a compiler (numba) nor a table or plotting library (pandas, matplotlib). They are listed
once, in the stub ``__init__.pyi``.

Examples
--------
>>> import sklearn_mirt
>>> "MIRTClassifier" in dir(sklearn_mirt)
True
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
