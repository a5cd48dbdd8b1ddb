"""MIRTClassifier: from one row per answer to probabilities of answers."""

import numpy as np
from sklearn.base import ClassifierMixin

from sklearn_mirt.data.checks import object_array
from sklearn_mirt.data.shards.responses import ShardedResponses
from sklearn_mirt.estimators.base import BaseMIRT, set_features
from sklearn_mirt.estimators.callbacks import with_callbacks
from sklearn_mirt.estimators.dask_collections import (
    is_lazy,
    long_shards,
)
from sklearn_mirt.estimators.in_memory import InMemory
from sklearn_mirt.estimators.long_table import (
    LongAnswersMixin,
    code_ids,
    read_answers,
)
from sklearn_mirt.estimators.parameters import check_parameters
from sklearn_mirt.estimators.shards import InShards
from sklearn_mirt.models.abilities import Abilities
from sklearn_mirt.models.item_design import known_floors, known_labels
from sklearn_mirt.models.items import ItemParameters
from sklearn_mirt.models.prediction import expected_cells
from sklearn_mirt.models.priors import GroupPrior


class MIRTClassifier(LongAnswersMixin, ClassifierMixin, BaseMIRT):
    """Multidimensional item response model of answers: one row per answer.

    The model, the fit and the fitted attributes are those of
    :class:`MIRTTransformer`; here a sample is one answer, `X` has exactly two columns,
    respondent and item, and `y` says whether the answer was right. An ordinary
    ``KFold`` over rows then holds out cells of the table.

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
        Rotation to simple structure; it changes no probability.
    item_groups : mapping, Series or array-like, default=None
        Group of each item, by item id, or in the order of `items_`. Items of a group
        share a learned prior, which is also what is believed of an unknown item that
        the mapping puts in the group.
    guessing : float, mapping, Series or array-like, default=None
        Known floor of the probability of a right answer, in [0, 1).
    positive_slopes : bool, default=False
        Keep all slopes at or above zero.
    max_iter : int, default=200
        Largest number of passes over the answers.
    tol : float, default=1e-6
        Stop when a pass raises the lower bound by less, in nats per answer.
    device : {"cpu", "cuda"}, default="cpu"
        Where blocks of answers are computed.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of matrix products.
    n_jobs : int, default=None
        Threads; the result is the same for every value.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts, as in :class:`MIRTTransformer`; None is seed 0.
    verbose : int, default=0
        Print the lower bound after each pass.
    warm_start : bool, default=False
        Start from the last fit where respondents, items and dimensions are the same.
        Answers in shards: go on from the checkpoint in `checkpoint_dir`.
    checkpoint_dir : path-like, default=None
        Answers in shards: a folder where the fit is saved about once a minute, and when
        it is interrupted.
    handle_unknown : {"prior", "error"}, default="prior"
        What :meth:`predict_proba` does with ids that the fit has not seen: take the
        population of abilities and the prior of the item's group, or refuse.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels of `y`; the second, the larger one, is a right answer.
    slopes_, intercepts_, guessing_, item_covariances_, abilities_, \
ability_covariances_, ability_correlation_, items_, respondents_, item_groups_, \
groups_, item_prior_means_, item_prior_covariances_, lower_bounds_, n_iter_, \
converged_, solver_, n_dims_, sharded_abilities_, bytes_moved_
        As in :class:`MIRTTransformer`. Items and respondents are sorted by id.

    See Also
    --------
    MIRTTransformer : The same model for a table.

    Examples
    --------
    >>> from sklearn_mirt import MIRTClassifier
    >>> X = [["m1", "q1"], ["m1", "q2"], ["m2", "q1"], ["m2", "q2"], ["m3", "q1"]]
    >>> clf = MIRTClassifier(n_dims=1).fit(X, [1, 1, 1, 0, 0])
    >>> clf.predict_proba([["m3", "q2"]]).shape
    (1, 2)
    """

    def __init__(
        self,
        n_dims=2,
        *,
        solver="auto",
        item_model="2pl",
        q_matrix=None,
        correlated=True,
        rotation="oblimin",
        item_groups=None,
        guessing=None,
        positive_slopes=False,
        max_iter=200,
        tol=1e-6,
        device="cpu",
        dtype="auto",
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        checkpoint_dir=None,
        handle_unknown="prior",
    ):
        super().__init__(
            n_dims,
            solver=solver,
            item_model=item_model,
            q_matrix=q_matrix,
            correlated=correlated,
            rotation=rotation,
            item_groups=item_groups,
            guessing=guessing,
            positive_slopes=positive_slopes,
            max_iter=max_iter,
            tol=tol,
            device=device,
            dtype=dtype,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            checkpoint_dir=checkpoint_dir,
        )
        self.handle_unknown = handle_unknown

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Fit the model to answers.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_answers, 2)
            Respondent id and item id of each answer. Also :class:`ShardedResponses`,
            without `y`, or a dask DataFrame: respondents then stay in shards, and
            `abilities_` are empty; see `sharded_abilities_`.
        y : array-like of shape (n_answers,)
            Two labels, the larger one for a right answer; or scores in [0, 1]. With a
            dask DataFrame a dask Series of scores in [0, 1].
        sample_weight : array-like of shape (n_answers,), default=None
            Weight of each answer, as the number of answers it is the mean of.

        Returns
        -------
        self : MIRTClassifier

        Raises
        ------
        ValueError
            Parameters or answers are not valid, or a respondent answered an item
            twice.

        Warns
        -----
        ConvergenceWarning
            `max_iter` was reached.
        ResponseDataWarning
            A respondent or an item has no answer at all.
        """
        check_parameters(self)
        if isinstance(X, ShardedResponses) or is_lazy(X):
            return self._fit(self._sharded_answers(X, y, sample_weight))
        data, self.classes_ = read_answers(self, X, y, sample_weight)
        return self._fit(InMemory(data))

    def _sharded_answers(self, X, y, sample_weight):
        if sample_weight is not None:
            raise ValueError(
                "Answers in shards have their weights in a column: see the `weight` of "
                "ShardedResponses.from_parquet and from_long"
            )
        data = long_shards(X, y) if is_lazy(X) else X
        self.classes_ = np.array([0, 1])
        set_features(self, 2, data.columns)
        return InShards(data)

    def _right_of_pairs(self, respondents, items):
        i, abilities = self._abilities_of(respondents)
        parameters = self.item_parameters_
        j, unknown = code_ids(items, self.items_)
        self._refuse_unknown(unknown, "item")
        if len(unknown):
            parameters = self._with_priors(parameters, unknown)
        return expected_cells(parameters, abilities, i, j)

    def _abilities_of(self, respondents):
        """Return the place of each respondent in abilities, and those."""
        sharded = getattr(self, "sharded_abilities_", None)
        if sharded is not None:
            ids, i = np.unique(np.asarray(respondents), return_inverse=True)
            abilities, known = sharded.find(ids)
            self._refuse_unknown(ids[~known], "respondent")
            return i, abilities
        abilities = self.ability_posteriors_
        i, unknown = code_ids(respondents, self.respondents_)
        self._refuse_unknown(unknown, "respondent")
        if len(unknown):  # all of them are one respondent of whom nothing is known
            abilities = _with_average(abilities)
            i = np.minimum(i, len(self.respondents_))
        return i, abilities

    def _refuse_unknown(self, unknown, kind):
        if len(unknown) and self.handle_unknown == "error":
            raise ValueError(
                f"The {kind} {unknown[0]!r} was not seen in fit ({len(unknown)} "
                f"unknown {kind}(s)); handle_unknown='prior' predicts it from the prior"
            )

    def _with_priors(self, items, unknown):
        """Append the prior of its group for each unknown item."""
        prior = GroupPrior(self.item_prior_means_, self.item_prior_covariances_)
        mean, covariance = prior.pooled(self.group_sizes_)
        group = {label: k for k, label in enumerate(self.groups_)}
        labels = known_labels(unknown, self.item_groups)
        means, covariances = [], []
        for label in labels:
            k = group.get(label)
            means.append(mean if k is None else prior.means[k])
            covariances.append(covariance if k is None else prior.covariances[k])
        appended = np.array(means)
        return ItemParameters(
            np.vstack([items.slopes, appended[:, :-1]]),
            np.concatenate([items.intercepts, appended[:, -1]]),
            np.append(items.guessing, known_floors(unknown, labels, self.guessing)),
            np.concatenate([items.covariances, covariances]),
            np.append(items.ids, object_array(unknown)),
        )


def _with_average(abilities):
    """Append a respondent of whom nothing is known."""
    d = abilities.mean.shape[1]
    return Abilities(
        np.vstack([abilities.mean, np.zeros(d)]),
        np.concatenate([abilities.covariances, abilities.prior_covariance[None]]),
        abilities.prior_covariance,
        np.append(abilities.ids, object_array([None])),
    )
