"""The four-run comparison of BenchMIRT: one table for 1, 2, 3 and 4 dimensions."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from sklearn_mirt.audit import tables
from sklearn_mirt.data.responses import as_responses
from sklearn_mirt.diagnostics.correlations import (
    adjusted,
    fisher_errors,
    fisher_p_values,
    pearson,
)
from sklearn_mirt.estimators.transformer import MIRTTransformer
from sklearn_mirt.models.abilities import dimension_names


@dataclass(frozen=True, eq=False)
class RunComparison:
    """Runs with different numbers of dimensions; see :func:`compare_runs`.

    Attributes
    ----------
    benchmarks : DataFrame, index benchmark, columns (n_dims, dimension)
        Pearson correlation of mean score and ability over respondents.
    q_values : DataFrame of the same shape
        p-values adjusted for all correlations of the table (Benjamini & Yekutieli).
    between : DataFrame, index and columns (n_dims, dimension)
        Correlation over respondents of every dimension of every run with every other.
    estimators : dict from n_dims to fitted MIRTTransformer
    """

    benchmarks: object
    q_values: object
    between: object
    estimators: dict


def compare_runs(
    responses,
    *,
    items=None,
    n_dims=(1, 2, 3, 4),
    rotation="oblimin",
    estimator=None,
    n_jobs=None,
    random_state=0,
):
    """Fit several numbers of dimensions; relate them to benchmarks and to each other.

    Parameters
    ----------
    responses : ResponseData, DataFrame or array-like of shape (n_respondents, n_items)
    items : DataFrame, default=None
        As in :func:`sklearn_mirt.audit_benchmarks`.
    n_dims : sequence of int, default=(1, 2, 3, 4)
    rotation : str or None, default="oblimin"
    estimator : MIRTTransformer, default=None
        Model to fit in place of the default one, with each number of dimensions.
    n_jobs : int, default=None
        Threads.
    random_state : int, default=0

    Returns
    -------
    comparison : RunComparison
    """
    import pandas as pd

    data = as_responses(responses)
    labels = tables.item_labels(data.items, items)
    if estimator is None:
        estimator = MIRTTransformer(
            rotation=rotation, n_jobs=n_jobs, random_state=random_state
        )
    grouped = tables.with_item_groups(estimator, data.items, labels)
    scales, n_benchmarks = tables.audit_scales(labels)
    means = scales.means(data)[:, :n_benchmarks]
    estimators = {d: clone(grouped).set_params(n_dims=d).fit(data) for d in n_dims}
    abilities = np.hstack([model.abilities_ for model in estimators.values()])
    columns = pd.MultiIndex.from_tuples(
        [(d, name) for d in estimators for name in dimension_names(d)],
        names=["n_dims", "dimension"],
    )
    r = pearson(abilities, means)
    errors, dof = fisher_errors(abilities, means)
    q = adjusted(fisher_p_values(r, errors, dof[:, None]))
    index = pd.Index(scales.names[:n_benchmarks], name="benchmark")
    between = np.corrcoef(abilities.T).reshape(len(columns), -1)
    return RunComparison(
        pd.DataFrame(r, index, columns),
        pd.DataFrame(q, index, columns),
        pd.DataFrame(between, columns, columns),
        estimators,
    )
