"""scikit-learn's checks of estimators, strict where the installed version can be."""

import inspect

from sklearn.utils.estimator_checks import parametrize_with_checks

# an expected failure that passes is a failure; scikit-learn < 1.7 cannot ask for it
STRICT = {
    name: True
    for name in ("xfail_strict",)
    if name in inspect.signature(parametrize_with_checks).parameters
}
