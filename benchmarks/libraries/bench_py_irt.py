"""py-irt's multidim_2pl with BenchMIRT's settings, on the CPU.

`PY_IRT_EPOCHS` epochs are run; the 5,000 of the published recipe are extrapolated from
the mean cost of an epoch. Releases up to 0.7.0 and from 0.7.1 mean different models.
"""

import os
import time

import numpy as np

from libraries import Fit, sigmoid, with_nan

RECIPE = 5000


def fit(X, n_dims, groups):
    import pandas as pd
    import pyro
    import torch
    from py_irt.config import IrtConfig
    from py_irt.dataset import Dataset
    from py_irt.training import IrtModelTrainer

    torch.set_num_threads(1)
    pyro.set_rng_seed(0)
    epochs = int(os.environ.get("PY_IRT_EPOCHS", 50))
    start = time.process_time()
    names = [f"i{j}" for j in range(X.shape[1])]
    data = Dataset.from_pandas(pd.DataFrame(with_nan(X), columns=names))
    config = IrtConfig(
        model_type="multidim_2pl",
        epochs=epochs,
        priors="vague",
        dims=n_dims,
        lr=0.2,
        lr_decay=0.9999,
        log_every=max(epochs // 10, 1),
    )
    trainer = IrtModelTrainer(
        data_path=None, config=config, dataset=data, verbose=False
    )
    set_up = time.process_time() - start
    trainer.train(device="cpu")
    epoch = (time.process_time() - start - set_up) / epochs
    found = trainer.last_params
    a, b = (np.asarray(found[k], float).reshape(-1, n_dims) for k in ("disc", "diff"))
    theta = np.asarray(found["ability"], float).reshape(-1, n_dims)
    note = f"{epochs} epochs, {epoch:.2f} s each"
    seconds = set_up + RECIPE * epoch
    return Fit(lambda: sigmoid(theta @ a.T - (a * b).sum(1)), note, seconds)
