"""ShardedResponses: answers of more respondents than one machine should hold.

Respondents lie in shards, each a file that is read as a whole. A shard holds
the cells of its respondents as `cells.py` holds those of items, the table lying on its
side. Which respondent is in which shard depends on ids alone (`ids.py`), not on the
files that the answers came in.
"""

import re
from pathlib import Path

import numpy as np

from sklearn_mirt.data.checks import object_array
from sklearn_mirt.data.shards.folder import ShardFile, read_manifest
from sklearn_mirt.data.shards.long_table import (
    Columns,
    number_of_shards,
    put_into_shards,
)
from sklearn_mirt.data.shards.pieces import FramePiece, PieceMap, parquet_pieces
from sklearn_mirt.data.shards.wide_table import put_wide_files, put_wide_table
from sklearn_mirt.data.shards.workers import current_client


class ShardedResponses:
    """Checked answers in shards of respondents, on disk.

    Made once by :meth:`from_parquet`, opened again by :meth:`open`, fitted by
    `MIRTClassifier` or `MIRTTransformer`: over the workers of the Dask client that is
    current, or else streamed, one shard at a time for each thread.

    Attributes
    ----------
    items : ndarray of shape (n_items,)
        Item ids.
    shards : list of ShardFile
    item_weight, item_score : ndarrays of shape (n_items,)
        Number of answers to each item, and sum of their scores.
    n_respondents, n_answered : int
        Number of respondents, and of those with answers.
    n_observed : int
        Number of answers.
    max_memory : int
        Bytes that a fit without a cluster may take in this process.
    columns : list of str or None
        Names of the columns of respondents and items of a long table.
    """

    def __init__(self, folder, items, shards, sums, counts, max_memory, columns):
        self.max_memory, self.columns = max_memory, columns
        self.folder = Path(folder)
        self.items, self.shards = items, shards
        self.item_weight, self.item_score = sums
        self.n_respondents, self.n_answered, self.n_observed = counts
        items.setflags(write=False)

    def item_means(self):
        """Return the mean score of each item, shape (n_items,); NaN without answers."""
        with np.errstate(invalid="ignore"):
            return self.item_score / self.item_weight

    @classmethod
    def open(cls, folder, *, max_memory="2GB"):
        """Return the responses that were put into shards in a folder.

        Parameters
        ----------
        folder : path-like
        max_memory : int or str, default="2GB"
            What a fit without a cluster may take in this process: bytes, or text such
            as "500MB". It limits the number of threads, each of which has one shard
            open.

        Raises
        ------
        ValueError
            The folder holds no shards.
        """
        folder = Path(folder).absolute()  # workers may be elsewhere
        manifest, ids, sums = read_manifest(folder)
        ids = object_array(ids.tolist())
        shards = [
            ShardFile(str(folder / name), len(ids)) for name in manifest["shards"]
        ]
        counts, memory = manifest["counts"], bytes_of(max_memory)
        return cls(folder, ids, shards, sums, counts, memory, manifest["columns"])

    @classmethod
    def from_parquet(
        cls,
        source,
        directory,
        *,
        respondent="respondent",
        item="item",
        score="score",
        weight=None,
        items=None,
        aggregate=None,
        n_shards=None,
        max_memory="2GB",
        layout="long",
    ):
        """Put a table in Parquet files into shards.

        By the workers of the current Dask client, which must all see `source` and
        `directory`; without one, piece by piece in this process.

        Parameters
        ----------
        source : path-like, or list of path-like
            A folder, searched for ``*.parquet`` at any depth, or files.
        directory : path-like
            Folder to make; it appears whole or not at all.
        respondent, item, score : str
            Names of the columns. Ids are whole numbers or text.
        weight : str, default=None
            Column of weights; a weight of 0 is a missing answer.
        items : array-like, default=None
            Item ids, in the order of the result; an answer to any other is an error.
            Default: those that occur, sorted.
        aggregate : {None, "mean", "first", "count"}, default=None
            As in :meth:`ResponseData.from_long`.
        n_shards : int, default=None
            Number of shards, at least the number of workers. Default: by the number
            of answers, 64 from 4 million to 500 million.
        max_memory : int or str, default="2GB"
            What the process, or each worker, may take meanwhile; more shards are made
            where they would not fit. Later as in :meth:`open`.
        layout : {"long", "wide"}, default="long"
            One row per answer, or one row per respondent and one column per item. A
            wide table keeps its rows in their order; `respondent` is its column of
            ids, None for the place of the row, and all other columns are items.

        Returns
        -------
        data : ShardedResponses

        Raises
        ------
        FileExistsError
            The directory exists.
        ValueError
            A file cannot be read or lacks a column; an id is missing; an item is not
            known; a score is no number in [0, 1]; a respondent answered an item twice
            and `aggregate` is None, or has two rows of a wide table. The message names
            file and row.
        """
        if layout not in ("long", "wide"):
            raise ValueError(f"layout must be 'long' or 'wide', got {layout!r}")
        mapper = PieceMap(current_client())
        if layout == "wide":
            long_only = dict(
                weight=weight, items=items, aggregate=aggregate, n_shards=n_shards
            )
            for name, value in long_only.items():
                if value is not None:
                    raise ValueError(f"{name} needs layout='long', got layout='wide'")
            put_wide_files(source, directory, respondent, mapper)
            return cls.open(directory, max_memory=max_memory)
        columns = Columns(respondent, item, score, weight)
        pieces, n_rows = parquet_pieces(source, columns.names())
        n_shards = n_shards or number_of_shards(n_rows, bytes_of(max_memory))
        options = {"items": items, "n_shards": n_shards, "aggregate": aggregate}
        put_into_shards(pieces, columns, directory, mapper, **options)
        return cls.open(directory, max_memory=max_memory)

    @classmethod
    def from_long(
        cls,
        frame,
        directory,
        *,
        respondent="respondent",
        item="item",
        score="score",
        weight=None,
        items=None,
        aggregate=None,
        n_shards=None,
        max_memory="2GB",
    ):
        """Put a dask DataFrame, one row per answer, into shards.

        Parameters
        ----------
        frame : dask DataFrame
            Its partitions are computed up to three times and never gathered.
        directory : path-like
            This and all that follow are as in :meth:`from_parquet`.
        respondent, item, score : str
        weight : str, default=None
        items : array-like, default=None
        aggregate : str, default=None
        n_shards : int, default=None
        max_memory : int or str, default="2GB"

        Returns
        -------
        data : ShardedResponses

        Raises
        ------
        FileExistsError, ValueError
            As :meth:`from_parquet`; the message names partition and row.
        """
        columns = Columns(respondent, item, score, weight)
        lacking = [name for name in columns.names() if name not in frame.columns]
        if lacking:
            raise ValueError(
                f"There is no column {lacking[0]!r}; there are {list(frame.columns)}"
            )
        parts = frame[columns.names()].to_delayed()
        pieces = [FramePiece(part, k) for k, part in enumerate(parts)]
        if not n_shards:
            n_rows = int(frame.shape[0].compute())
            n_shards = number_of_shards(n_rows, bytes_of(max_memory))
        mapper = PieceMap(current_client())
        options = {"items": items, "n_shards": n_shards, "aggregate": aggregate}
        put_into_shards(pieces, columns, directory, mapper, **options)
        return cls.open(directory, max_memory=max_memory)

    @classmethod
    def from_wide(cls, X, directory, *, items=None):
        """Put a wide table, one row per respondent, into shards, by runs of rows.

        Parameters
        ----------
        X : dask array, dask DataFrame, or array of shape (n_respondents, n_items)
            Scores in [0, 1], NaN where there is no answer. Each chunk of rows of a
            dask array, each partition of a dask DataFrame, is one shard. Of any other
            array, such as a memory map of a .npy file or a zarr array, a run of rows
            is read at a time.
        directory : path-like
            Folder to make; it appears whole or not at all.
        items : array-like, default=None
            Item ids; default: columns of a DataFrame, else 0, 1, 2...

        Returns
        -------
        data : ShardedResponses
            Its respondents are 0, 1, 2...

        Raises
        ------
        FileExistsError
            The directory exists.
        ValueError
            A score is no number in [0, 1]; the message names the row and the item.
        """
        put_wide_table(X, directory, items, current_client())
        return cls.open(directory)

    @property
    def n_items(self):
        """Return the number of items."""
        return len(self.items)

    def respondents(self):
        """Yield the respondent ids of each shard."""
        return (shard.ids() for shard in self.shards)

    def __repr__(self):
        """Return a one-line summary."""
        return (
            f"ShardedResponses({self.n_respondents} respondents x {self.n_items} items,"
            f" {self.n_observed} answers in {len(self.shards)} shards)"
        )


def bytes_of(memory):
    """Return a number of bytes, given as one or as text such as "2GB".

    Raises
    ------
    ValueError
        It is neither, or not positive.
    """
    found = re.fullmatch(r"\s*([\d.]+)\s*([kMGT]?)i?B?\s*", str(memory))
    number = float(found[1]) * 1000 ** " kMGT".index(found[2] or " ") if found else 0
    if not number > 0:
        raise ValueError(
            "max_memory must be a number of bytes or text such as '2GB', got "
            f"{memory!r}"
        )
    return int(number)
