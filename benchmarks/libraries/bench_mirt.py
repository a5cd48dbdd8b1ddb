"""mirt from PyPI: fit_mirt, its default EM on a grid."""

from libraries import Fit


def fit(X, n_dims, groups):
    import mirt

    answers = X.astype(int)  # a negative code is missing
    found = mirt.fit_mirt(
        answers, model="2PL", n_factors=n_dims, compute_standard_errors=False
    )
    theta = mirt.fscores(found, answers, method="EAP").theta
    return Fit(
        lambda: found.model.probability(theta), f"{found.n_iterations} iterations"
    )
