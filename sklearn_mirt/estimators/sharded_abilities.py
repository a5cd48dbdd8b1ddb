"""ShardedAbilities: abilities of respondents that no process has all of."""

from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sklearn_mirt.data.files.atomic import whole_folder
from sklearn_mirt.data.shards.ids import places_of, plain_ids, shard_of
from sklearn_mirt.data.shards.workers import cluster_map, current_client
from sklearn_mirt.models import packing
from sklearn_mirt.models.abilities import Abilities


@dataclass(frozen=True, eq=False)
class Finish:
    """Gives the abilities of a shard their last coordinates, and ids.

    Parameters
    ----------
    inverse, center : (D, D) and (D,) arrays
        The coordinates are inverse (theta - center).
    prior_covariance : (D, D) array
        Of abilities in the last coordinates.
    """

    inverse: np.ndarray
    center: np.ndarray
    prior_covariance: np.ndarray

    def __call__(self, shard, file):
        """Return the :class:`Abilities` of a shard from the file of its state."""
        state = file.load().moved(self.inverse, self.center)
        mean, covariances = state.mean, packing.unpack(state.covariance)
        silent = ~shard.load().answered()
        mean[silent], covariances[silent] = 0.0, self.prior_covariance
        return Abilities(mean, covariances, self.prior_covariance, shard.ids())


class ShardedAbilities:
    """Abilities of the respondents of a ShardedResponses, shard by shard.

    Attribute `sharded_abilities_` of an estimator that was fitted to shards. They are
    kept in the folder of the shards as long as this object is: :meth:`to_parquet`
    writes what is to stay.
    """

    def __init__(self, data, files, finish, folder):
        self.n_respondents, self._shards = data.n_respondents, data.shards
        self._files, self._finish = files, finish
        self._alive = folder, data  # their folders go with the last to need them

    def __getstate__(self):
        """Leave the folders with the object that made them."""
        return vars(self) | {"_alive": None}

    def __len__(self):
        """Return the number of shards."""
        return len(self._shards)

    def __getitem__(self, k):
        """Return the :class:`Abilities` of shard k."""
        return self._finish(self._shards[k], self._files[k])

    def moved(self, inverse, prior_covariance):
        """Return the abilities in other coordinates, ``inverse @ theta``.

        Parameters
        ----------
        inverse : (D, D) array
        prior_covariance : (D, D) array
            Of abilities in the new coordinates.
        """
        moved, finish = copy(self), self._finish
        moved._alive = self._alive
        moved._finish = Finish(
            inverse @ finish.inverse, finish.center, prior_covariance
        )
        return moved

    def find(self, ids):
        """Return the abilities of some respondents, and whether each is known.

        Parameters
        ----------
        ids : array-like of shape (n,)
            Respondent ids; they may repeat. Reads the shards that they are in.

        Returns
        -------
        abilities : Abilities
            Prior mean and covariance for those that are not known.
        known : boolean ndarray of shape (n,)
        """
        ids, prior = plain_ids(ids), self._finish.prior_covariance
        mean = np.zeros((len(ids), len(prior)))
        covariances = np.tile(prior, (len(ids), 1, 1))
        known = np.zeros(len(ids), dtype=bool)
        shard = shard_of(ids, len(self))
        for k in np.unique(shard):
            here, abilities = np.flatnonzero(shard == k), self[k]
            place = places_of(ids[here], abilities.ids)
            here, place = here[place >= 0], place[place >= 0]
            mean[here], covariances[here] = (
                abilities.mean[place],
                abilities.covariances[place],
            )
            known[here] = True
        return Abilities(mean, covariances, prior, ids), known

    def to_parquet(self, directory):
        """Write one Parquet file for each shard.

        By the workers of the current Dask client, or else one after the other.
        Columns: `respondent`, `ability_1`..., `standard_error_1`...

        Parameters
        ----------
        directory : path-like
            Folder to make; it appears whole or not at all.

        Raises
        ------
        FileExistsError
            The directory exists.
        """
        with whole_folder(Path(directory).absolute()) as folder:
            write = _Write(self._finish, str(folder))
            places = zip(range(len(self)), self._shards, self._files, strict=True)
            cluster_map(current_client())(write, list(places))

    def to_dask(self):
        """Return a lazy dask DataFrame of what :meth:`to_parquet` writes."""
        import dask.dataframe as dd

        return dd.from_map(
            _Table(self._finish),
            list(zip(self._shards, self._files, strict=True)),
            meta=_Table(self._finish)((self._shards[0], self._files[0])).iloc[:0],
        )


@dataclass(frozen=True, eq=False)
class _Table:
    finish: Finish

    def __call__(self, place):
        return _arrow_table(self.finish(*place)).to_pandas()


@dataclass(frozen=True, eq=False)
class _Write:
    finish: Finish
    folder: str

    def __call__(self, place):
        import pyarrow.parquet as pq

        k, shard, file = place
        table = _arrow_table(self.finish(shard, file))
        pq.write_table(table, Path(self.folder) / f"abilities-{k:05d}.parquet")


def _arrow_table(abilities):
    import pyarrow as pa

    columns = {"respondent": abilities.ids}
    for name, values in (
        ("ability", abilities.mean),
        ("standard_error", abilities.standard_errors),
    ):
        columns |= {f"{name}_{k + 1}": v for k, v in enumerate(values.T)}
    return pa.table(columns)
