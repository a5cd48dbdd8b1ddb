"""MIRTTransformer: from a wide table of answers to abilities."""

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_mirt.data.responses import ResponseData, read_samples
from sklearn_mirt.data.shards.responses import ShardedResponses
from sklearn_mirt.estimators.base import BaseMIRT, set_features
from sklearn_mirt.estimators.callbacks import with_callbacks
from sklearn_mirt.estimators.dask_collections import (
    gathered,
    has_more_items,
    is_lazy,
    lazily,
    wide_shards,
)
from sklearn_mirt.estimators.in_memory import InMemory
from sklearn_mirt.estimators.parameters import check_parameters
from sklearn_mirt.estimators.shards import InShards
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.item_bank import ItemBank
from sklearn_mirt.models.item_bank_file import load_item_bank
from sklearn_mirt.models.prediction import expected_scores


class MIRTTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseMIRT):
    """Multidimensional item response model of a table: respondents x items.

    Each respondent has an ability in `n_dims` dimensions, each item slopes and an
    intercept; the probability of a right answer is

        P(y_ij = 1) = g_j + (1 - g_j) sigmoid(a_j . theta_i + d_j)

    Parameters
    ----------
    n_dims : int or "auto", default=2
        Number of ability dimensions. "auto" takes as many as item groups share, by
        :func:`sklearn_mirt.choose_dimensions` on at most 200,000 of the answers,
        which adds some 10 s on one core.
    solver : {"auto", "variational", "quadrature"}, default="auto"
        How the model is fitted. "quadrature" is exact marginal maximum likelihood, for
        up to 3 dimensions. "auto" takes it where items are few (up to 100) and
        respondents many (200, and five for each item), where it is affordable, and
        where `item_model` or `q_matrix` ask for it; else "variational".
    item_model : {"2pl", "1pl", "rasch", "3pl"}, default="2pl"
        Slopes of their own, one common slope (1pl and rasch), or guessing estimated
        under a prior (3pl). All but the first need the exact solver.
    q_matrix : array-like of shape (n_items, n_dims), default=None
        1 where an item measures a dimension, 0 where its slope is fixed at zero; for
        the exact solver. There is no rotation then.
    correlated : bool, default=True
        Whether abilities correlate under a `q_matrix`. Without one, `rotation` decides.
    rotation : str or None, default="oblimin"
        Rotation to simple structure, applied once after the fit; it changes no
        probability. "oblimin", "quartimin" and "promax" let dimensions correlate;
        "varimax", "quartimax" and "bifactor" do not; None leaves principal axes. Not
        applied with `positive_slopes`, which fixes the axes.
    item_groups : mapping, Series or array-like, default=None
        Group (benchmark, subset) of each item, by item id or in column order. Items of
        a group share a learned Gaussian prior. Default: one group.
    guessing : float, mapping, Series or array-like, default=None
        Known floor of the probability of a right answer, in [0, 1): one for all, by
        item id, by group, or in column order. Default: no floor.
    positive_slopes : bool, default=False
        Keep all slopes at or above zero. The default lets an item be failed by better
        respondents.
    max_iter : int, default=200
        Largest number of passes over the answers.
    tol : float, default=1e-6
        Stop when a pass raises the evidence lower bound by less than this, in nats per
        answer.
    device : {"cpu", "cuda"}, default="cpu"
        Where blocks of answers are computed. Fitted attributes are always numpy.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of matrix products; sums over blocks are float64. "auto" is float64 up
        to a million cells.
    n_jobs : int, default=None
        Threads. The result is the same to the last bit for every value.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts of rotations and of the exact solver, and of the
        search for `n_dims="auto"`. None is seed 0, so that every fit is reproducible.
        The variational solver has a deterministic start.
    verbose : int, default=0
        Print the lower bound after each pass.
    warm_start : bool, default=False
        Start from the last fit where respondents, items and dimensions are the same.
        Answers in shards: go on from the checkpoint in `checkpoint_dir`.
    checkpoint_dir : path-like, default=None
        Answers in shards: a folder where the fit is saved about once a minute, and when
        it is interrupted.

    Attributes
    ----------
    slopes_ : ndarray of shape (n_items, n_dims)
        Posterior means of a_j, logits per prior standard deviation of ability.
    intercepts_ : ndarray of shape (n_items,)
        Posterior means of d_j, in logits.
    guessing_ : ndarray of shape (n_items,)
        Known floors.
    item_covariances_ : ndarray of shape (n_items, n_dims + 1, n_dims + 1)
        Posterior covariances of (a_j, d_j).
    abilities_ : ndarray of shape (n_respondents, n_dims)
        Posterior mean abilities of the training respondents, in prior standard
        deviations.
    ability_covariances_ : ndarray of shape (n_respondents, n_dims, n_dims)
        Posterior covariances of the abilities.
    ability_correlation_ : ndarray of shape (n_dims, n_dims)
        Correlation of the abilities in the population; the identity unless the rotation
        is oblique.
    items_, respondents_ : ndarrays of ids
    constant_items_ : ndarray
        Ids of the items that all who answered got right, or all wrong. They keep finite
        parameters, near those of their group's prior.
    item_groups_ : ndarray of shape (n_items,)
        Group of each item.
    groups_ : ndarray of shape (n_groups,)
        Group labels, sorted.
    item_prior_means_, item_prior_covariances_ : ndarrays
        Learned prior of (a_j, d_j), by group.
    lower_bounds_ : ndarray of shape (n_passes,)
        Evidence lower bound after each pass, in nats; it never falls. Variational fit.
    log_likelihoods_ : ndarray of shape (n_passes,)
        Marginal log-likelihood after each step. Exact fit.
    exact_fit_ : ExactFit
        The exact fit before rotation, for scores and fit statistics.
    standard_errors_ : ndarray of shape (n_items, n_dims + 1)
        Standard errors of slopes and intercept, the rotation taken as given; NaN where
        the data do not determine an item. Posterior standard deviations if variational.
    determined_ : ndarray of bool of shape (n_items,)
        Whether the data determine all parameters of the item.
    n_dims_ : int
        Number of dimensions, where `n_dims` is "auto" the one that was chosen.
    n_iter_ : int
    converged_ : bool
    solver_ : str
        The solver that was used.
    sharded_abilities_ : ShardedAbilities
        Answers in shards only: the abilities, shard by shard, with `find(ids)` and
        `to_parquet(directory)`; `abilities_` and `respondents_` are empty then.
    bytes_moved_ : int
        Answers in shards only: bytes that the fit sent to and got from Dask workers.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the columns have names.

    See Also
    --------
    MIRTClassifier : The same model for one row per answer.

    Notes
    -----
    The posterior means of few answers are drawn towards the prior. With under about 100
    items per respondent slopes come out some 10% small (measured with 40 items).

    References
    ----------
    Reckase (2009), *Multidimensional Item Response Theory*. For the solver see
    ``sklearn_mirt.solvers.variational.solver``.

    Examples
    --------
    >>> from sklearn_mirt import MIRTTransformer
    >>> from sklearn_mirt.datasets import make_responses
    >>> X = make_responses(40, 200, random_state=0).responses
    >>> mirt = MIRTTransformer(n_dims=2).fit(X)
    >>> mirt.transform(X[:3]).shape
    (3, 2)
    """

    @with_callbacks
    def fit(self, X, y=None):
        """Fit the model to a table of answers.

        Parameters
        ----------
        X : array-like, DataFrame, sparse matrix or ResponseData
            Scores in [0, 1], one row per respondent, one column per item, NaN where
            there is no answer. In a sparse matrix, stored means observed. Also
            :class:`ShardedResponses`, and dask arrays and wide dask DataFrames: their
            respondents stay in shards, and `abilities_` are empty; see
            `sharded_abilities_`. A dask array with more items than respondents is
            gathered, one byte for each answer.
        y : None
            Ignored.

        Returns
        -------
        self : MIRTTransformer

        Raises
        ------
        ValueError
            Parameters or data are not valid; the message names respondent and item.

        Warns
        -----
        ConvergenceWarning
            `max_iter` was reached.
        ResponseDataWarning
            A respondent or an item has no answer at all.
        """
        check_parameters(self)
        return self._fit(self._answers(X))

    def _answers(self, X):
        """Return the answers of a table, in memory or in shards; set its columns."""
        if has_more_items(X):
            X = gathered(X)
        if not (isinstance(X, ShardedResponses) or is_lazy(X)):
            return InMemory(self._read(X, reset=True))
        names = getattr(X, "columns", None)
        data = wide_shards(X) if is_lazy(X) else X
        self._named_items = names is not None
        set_features(self, data.n_items, names)
        return InShards(data)

    def transform(self, X):
        """Return the abilities of respondents from their answers to the fitted items.

        Parameters
        ----------
        X : array-like of shape (n_respondents, n_items)
            Scores as in :meth:`fit`. Each row is scored by itself; a row without
            answers gets the population mean, 0.

        Returns
        -------
        abilities : ndarray of shape (n_respondents, n_dims)
            Posterior means, in prior standard deviations; a dask array if X is a dask
            collection.
        """
        check_is_fitted(self, "slopes_")
        if is_lazy(X):
            return lazily(self, "transform", X, self.slopes_.shape[1])
        return self.score_abilities(X).mean

    def score_abilities(self, X):
        """Return abilities with their covariances, as :class:`Abilities`.

        Parameters
        ----------
        X : array-like of shape (n_respondents, n_items)

        Returns
        -------
        abilities : Abilities
        """
        check_is_fitted(self, "slopes_")
        return self._fold_in(self._read(X, reset=False))

    def expected_scores(self, X):
        """Return expected scores on all items, given answers to some.

        Averaged over the uncertainty of abilities and items.

        Parameters
        ----------
        X : array-like of shape (n_respondents, n_items)

        Returns
        -------
        scores : ndarray of shape (n_respondents, n_items), in [0, 1]
        """
        check_is_fitted(self, "slopes_")
        if is_lazy(X):
            return lazily(self, "expected_scores", X, len(self.items_))
        return expected_scores(self.item_parameters_, self.score_abilities(X))

    def inverse_transform(self, X):
        """Return expected scores of respondents of given abilities.

        Parameters
        ----------
        X : array-like of shape (n_respondents, n_dims)
            Abilities, taken as known exactly; averaged over item uncertainty.

        Returns
        -------
        scores : ndarray of shape (n_respondents, n_items), in [0, 1]
        """
        check_is_fitted(self, "slopes_")
        theta = np.asarray(X, dtype=np.float64)
        d = self.slopes_.shape[1]
        if theta.ndim != 2 or theta.shape[1] != d:
            raise ValueError(
                f"Expected abilities of shape (n_respondents, {d}), got {theta.shape}"
            )
        assert_all_finite(theta, input_name="abilities")
        known = Abilities(
            theta,
            np.zeros((len(theta), d, d)),
            self.ability_correlation_,
            np.arange(len(theta)),
        )
        return expected_scores(self.item_parameters_, known)

    def score_samples(self, X):
        """Return a lower bound on the log-likelihood of each respondent's answers.

        The evidence lower bound of the row with the items as fitted, in nats: higher is
        better, also across numbers of dimensions.

        Parameters
        ----------
        X : array-like of shape (n_respondents, n_items)

        Returns
        -------
        bounds : ndarray of shape (n_respondents,)
        """
        from sklearn_mirt.solvers.variational.fold_in import marginal_bounds

        check_is_fitted(self, "slopes_")
        if is_lazy(X):
            return lazily(self, "score_samples", X)
        data = self._read(X, reset=False)
        return marginal_bounds(
            data,
            self.item_parameters_,
            self._fold_in(data),
            device=self.device,
            n_jobs=self.n_jobs,
        )

    def score(self, X, y=None):
        """Return the mean of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_respondents, n_items)
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        return float(self.score_samples(X).mean())

    @classmethod
    def from_item_bank(cls, bank, **parameters):
        """Return a transformer that scores respondents on calibrated items.

        Nothing is fitted: there are no training respondents, and `transform`,
        `score_abilities` and `expected_scores` give what the estimator that the bank
        was saved from gives.

        Parameters
        ----------
        bank : ItemBank or path-like
            A bank, or a file of :func:`sklearn_mirt.save_item_bank`.
        **parameters
            Constructor parameters that do not change the items: `device`, `dtype`,
            `n_jobs`, `verbose`.

        Returns
        -------
        transformer : MIRTTransformer

        Raises
        ------
        ItemBankError
            The file is no item bank.
        """
        if not isinstance(bank, ItemBank):
            bank = load_item_bank(bank)
        items, labels = bank.items, bank.group_labels[bank.groups]
        pattern = (items.slopes != 0).astype(int)
        settings = {
            "n_dims": items.n_dims,
            "q_matrix": pattern if bank.training.get("q_matrix") else None,
            "correlated": bank.training.get("correlated", True),
            "rotation": bank.rotation,
            "positive_slopes": bool(bank.training.get("positive_slopes", False)),
            "item_groups": dict(zip(items.ids, labels, strict=True)),
            "guessing": dict(zip(items.ids, items.guessing, strict=True)),
            "item_model": bank.training.get("item_model", "2pl"),
        }
        clash = sorted(settings.keys() & parameters.keys())
        if clash:
            raise ValueError(f"{clash} come from the item bank and cannot be given")
        mirt = cls(**settings, **parameters)
        check_parameters(mirt)
        return mirt._adopt(bank, labels)

    def _adopt(self, bank, labels):
        """Set the fitted attributes from a bank; there are no training respondents."""
        items, training = bank.items, bank.training
        self.determined_ = bank.determined
        nobody = Abilities.of_nobody(bank.ability_correlation)
        self.items_, self.respondents_ = items.ids, nobody.ids
        self.item_groups_, self.groups_ = labels, bank.group_labels
        self.group_sizes_ = bank.group_sizes
        self._keep_posteriors(items, nobody, bank.prior)
        self.n_dims_, self.solver_ = items.n_dims, training.get("solver", "variational")
        self.n_iter_ = training.get("n_iter", 0)
        self.converged_ = training.get("converged", True)
        bound = training.get("lower_bound")
        exact = self.solver_ == "quadrature"
        trace = np.array([] if bound is None else [bound], dtype=float)
        setattr(self, "log_likelihoods_" if exact else "lower_bounds_", trace)
        # a table whose columns have names is joined by name
        self._named_items = all(isinstance(value, str) for value in items.ids)
        set_features(self, items.n_items, items.ids if self._named_items else None)
        return self

    # ------------------------------------------------------------------------ plumbing

    def _read(self, X, *, reset):
        """Check a table and join its columns to the fitted items."""
        if not isinstance(X, ResponseData):
            X = _table(self, X, reset)
        elif reset:
            self._named_items = False
            set_features(self, X.n_items)
        if not reset and not np.array_equal(X.items, self.items_):
            raise ValueError(
                "The items differ from those of the fit, in id or in order"
            )
        return X

    @property
    def _n_features_out(self):
        return self.slopes_.shape[1]

    def __sklearn_tags__(self):
        """Tags: missing cells and sparse tables are welcome; scores are in [0, 1]."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _table(estimator, X, reset):
    """ResponseData of a table; columns by name where they have names."""
    if not (sparse.issparse(X) or hasattr(X, "columns")) and np.ndim(X) != 2:
        raise ValueError(
            f"Expected 2D array, got {np.ndim(X)}D array instead: X has one row per "
            "respondent and one column per item. Reshape your data"
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    columns = getattr(X, "columns", None)
    if reset:
        estimator._named_items = columns is not None
        return read_samples(X)
    if columns is not None and estimator._named_items:
        _refuse_other_columns(columns, estimator.items_)
    return read_samples(X, items=estimator.items_, require_zeros=False)


def _refuse_other_columns(columns, items):
    for got, wanted in zip(columns, items, strict=True):
        if got != wanted:
            raise ValueError(
                f"The columns differ from those of the fit: got {got!r} where "
                f"{wanted!r} was; give the items in the order of items_"
            )
