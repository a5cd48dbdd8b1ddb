"""What is known of the respondents: posterior means and covariances of ability."""

from dataclasses import dataclass

import numpy as np


def dimension_names(n_dims):
    """Return the names of the dimensions in tables: dim1, dim2..."""
    return [f"dim{k + 1}" for k in range(n_dims)]


def dimension_columns(values):
    """Return the columns of a table, dimension after dimension.

    Parameters
    ----------
    values : dict from str to ndarray of shape (n_rows, n_dims)
        By prefix: "se_" gives the columns se_dim1, se_dim2...
    """
    names = dimension_names(next(iter(values.values())).shape[1])
    return {
        f"{prefix}{name}": columns[:, k]
        for k, name in enumerate(names)
        for prefix, columns in values.items()
    }


@dataclass(frozen=True, eq=False)
class Abilities:
    """Gaussian posteriors of ability, one row per respondent.

    Parameters
    ----------
    mean : ndarray of shape (n_respondents, n_dims)
        Posterior means, in prior standard deviations.
    covariances : ndarray of shape (n_respondents, n_dims, n_dims)
        Posterior covariances.
    prior_covariance : ndarray of shape (n_dims, n_dims)
        Covariance of ability in the population: the identity before an oblique
        rotation, the ability correlation after it. The population mean is zero.
    ids : ndarray of shape (n_respondents,)
        Respondent ids.
    """

    mean: np.ndarray
    covariances: np.ndarray
    prior_covariance: np.ndarray
    ids: np.ndarray

    @classmethod
    def of_nobody(cls, prior_covariance):
        """Return the abilities of no respondent, in a population of this covariance."""
        d = len(prior_covariance)
        ids = np.empty(0, dtype=object)
        return cls(np.empty((0, d)), np.empty((0, d, d)), prior_covariance, ids)

    @property
    def standard_errors(self):
        """Return posterior standard deviations, shape (n_respondents, n_dims)."""
        return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))

    def take(self, index):
        """Return the abilities of the respondents at an index or mask."""
        return Abilities(
            self.mean[index],
            self.covariances[index],
            self.prior_covariance,
            self.ids[index],
        )

    def to_frame(self):
        """Return a DataFrame by respondent: dim1, se_dim1, dim2, se_dim2..."""
        import pandas as pd

        columns = dimension_columns({"": self.mean, "se_": self.standard_errors})
        return pd.DataFrame(columns, pd.Index(self.ids, name="respondent"))
