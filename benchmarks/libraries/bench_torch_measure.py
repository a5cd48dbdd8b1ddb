"""torch-measure's LogisticFM with its defaults."""

import numpy as np

from libraries import Fit, sigmoid


def fit(X, n_dims, groups):
    import torch
    from torch_measure.models import LogisticFM

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = LogisticFM(*X.shape, n_factors=n_dims)
    trace = model.fit(torch.tensor(X.astype(np.float32)), method="mle", verbose=False)
    a, theta = model.loadings.numpy(), model.ability.numpy()
    d = -model.difficulty.numpy()
    return Fit(lambda: sigmoid(theta @ a.T + d), f"{len(trace['losses'])} epochs")
