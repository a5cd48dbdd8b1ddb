"""ResponseData: what goes in, what comes out, what is refused and in which words."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sklearn_mirt import ResponseData

NAN = np.nan
ROWS, ITEMS = ["m1", "m2", "m3"], ["q1", "q2", "q3", "q4"]
BINARY = np.array([[1, 0, NAN, 1], [NAN, 1, 1, 0], [0, 0, NAN, 1]])
FULL = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]])
GRADED = np.array([[1, 0.5, NAN, 0.25], [NAN, 1, 0.75, 0], [0, 0, NAN, 1]])


def frame(values, dtype=None):
    return pd.DataFrame(values, index=ROWS, columns=ITEMS, dtype=dtype)


def read_only(values):
    values = values.copy()
    values.setflags(write=False)
    return values


def strided(values):
    return np.repeat(np.repeat(values, 2, axis=0), 2, axis=1)[::2, ::2]


def with_none(values):
    return [[None if v != v else v for v in row] for row in values]


WIDE = {
    "float64": (BINARY, BINARY),
    "float32": (BINARY.astype(np.float32), BINARY),
    "Fortran order": (np.asfortranarray(BINARY), BINARY),
    "read-only": (read_only(BINARY), BINARY),
    "every second cell": (strided(BINARY), BINARY),
    "reversed view": (BINARY[::-1, ::-1], BINARY[::-1, ::-1]),
    "int8": (FULL.astype(np.int8), FULL),
    "uint64": (FULL.astype(np.uint64), FULL),
    "bool": (FULL.astype(bool), FULL),
    "object with None": (np.array(with_none(BINARY), dtype=object), BINARY),
    "lists": (FULL.tolist(), FULL),
    "lists with None": (with_none(GRADED), GRADED),
    "lists with pd.NA": ([[1, pd.NA], [0, 1]], [[1, NAN], [0, 1]]),
    "masked array": (np.ma.masked_array(FULL, mask=FULL == 0), np.where(FULL, 1, NAN)),
    "graded": (GRADED, GRADED),
    "frame": (frame(BINARY), BINARY),
    "frame of float32": (frame(BINARY, np.float32), BINARY),
    "frame of bool": (frame(FULL, bool), FULL),
    "frame of int8": (frame(FULL, np.int8), FULL),
    "frame of boolean": (frame(BINARY).astype("boolean"), BINARY),
    "frame of Int64": (frame(BINARY).astype("Int64"), BINARY),
    "frame of Float64": (frame(GRADED).astype("Float64"), GRADED),
    "frame of object": (frame(with_none(GRADED), object), GRADED),
    "frame of mixed columns": (
        frame(GRADED).astype({"q1": "boolean", "q2": "Float64", "q3": "float32"}),
        GRADED,
    ),
    "polars": (pl.DataFrame(with_none(BINARY), schema=ITEMS, orient="row"), BINARY),
    "polars bool": (pl.DataFrame(FULL.astype(bool), schema=ITEMS), FULL),
    "polars bool with null": (
        pl.DataFrame({"q1": [True, None], "q2": [False, True]}),
        [[1, 0], [NAN, 1]],
    ),
}


# --------------------------------------------------------------------------- wide


@pytest.mark.parametrize("X, expected", WIDE.values(), ids=WIDE)
def test_every_kind_of_table_reads_as_the_same_scores(X, expected):
    data = ResponseData.from_wide(X)
    assert_array_equal(data.to_wide(), np.asarray(expected, dtype=float))
    assert data.n_observed == np.count_nonzero(~np.isnan(np.asarray(expected, float)))


@pytest.mark.parametrize("X", [x for x, _ in WIDE.values()], ids=WIDE)
def test_the_callers_table_is_not_changed_and_not_kept(X):
    before = copy.deepcopy(X)
    data = ResponseData.from_wide(X)
    seen = data.to_wide()
    if isinstance(X, np.ndarray):
        assert type(X) is type(before)
        assert_array_equal(X, before)
        if X.flags.writeable and X.dtype != object:
            X[...] = 0
            assert_array_equal(data.to_wide(), seen)
            X[...] = before
    elif isinstance(X, pd.DataFrame):
        pd.testing.assert_frame_equal(X, before)
    elif isinstance(X, pl.DataFrame):
        assert X.equals(before)
    else:
        assert repr(X) == repr(before)


def test_ids_come_from_the_frame_or_the_caller_or_are_numbers():
    assert ResponseData.from_wide(BINARY).items.tolist() == [0, 1, 2, 3]
    data = ResponseData.from_wide(frame(BINARY))
    assert (data.respondents.tolist(), data.items.tolist()) == (ROWS, ITEMS)
    data = ResponseData.from_wide(BINARY, respondents=ROWS, items=ITEMS)
    assert (data.respondents.tolist(), data.items.tolist()) == (ROWS, ITEMS)
    data = ResponseData.from_wide(frame(BINARY), items=[4, 3, 2, 1])
    assert data.items.tolist() == [4, 3, 2, 1]
    assert ResponseData.from_wide(WIDE["polars"][0]).items.tolist() == ITEMS


def test_ids_may_be_tuples_as_from_a_multi_index():
    index = pd.MultiIndex.from_product([["a", "b"], [0, 1]])
    data = ResponseData.from_wide(frame(BINARY).set_axis(index, axis=1))
    assert data.items.tolist() == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    long = ResponseData.from_long(["m", "m"], [("b", 1), ("a", 2)], [1, 0])
    assert long.items.tolist() == [("a", 2), ("b", 1)]


def test_scores_of_zero_and_one_take_one_byte_and_fractions_four():
    scores = next(iter(ResponseData.from_wide(BINARY).blocks())).scores
    assert scores.dtype == np.int8
    scores = next(iter(ResponseData.from_wide(GRADED).blocks())).scores
    assert scores.dtype == np.float32


def test_a_fraction_far_into_a_large_table_is_kept(monkeypatch):
    import sklearn_mirt.data.checks as checking

    monkeypatch.setattr(checking, "CHUNK_CELLS", 6)
    X = np.zeros((3, 20))
    X[2, 17] = 0.5
    assert_array_equal(ResponseData.from_wide(X).to_wide(), X)


def test_means_skip_missing_cells_and_are_nan_without_any():
    X = np.array([[1, 0, NAN], [1, NAN, NAN], [NAN, NAN, NAN]])
    data = ResponseData.from_wide(X)
    assert_array_equal(data.item_means(), [1, 0, NAN])
    assert_array_equal(data.respondent_means(), [0.5, 1, NAN])


def test_weights_weigh_and_zero_is_missing():
    weights = np.array([[2, 0, 1, 1], [1, 1, 3, 1], [1, 1, 1, 1]])
    data = ResponseData.from_wide(FULL, weights=weights)
    assert np.isnan(data.to_wide()[0, 1])
    assert data.n_observed == 11
    expected = (weights * FULL).sum(0) / weights.sum(0)
    assert_allclose(data.item_means(), expected)
    ones = ResponseData.from_wide(FULL, weights=np.ones(FULL.shape))
    assert ones.cells()[3] is None


def test_weights_in_a_frame_must_have_the_names_of_the_responses():
    X, weights = frame(GRADED), frame(np.arange(1.0, 13).reshape(3, 4))
    data = ResponseData.from_wide(X, weights=weights)
    item, respondent, _, stored = data.cells()
    assert_array_equal(stored, weights.to_numpy()[respondent, item])
    with pytest.raises(ValueError, match="column 'q4' where the responses have 'q1'"):
        ResponseData.from_wide(X, weights=weights[ITEMS[::-1]])
    with pytest.raises(ValueError, match="row 'm2' where the responses have 'm1'"):
        ResponseData.from_wide(X, weights=weights.loc[["m2", "m1", "m3"]])


def test_group_means_are_those_of_the_items_of_each_group():
    for data in (ResponseData.from_wide(GRADED), sparse_data(GRADED)):
        means = data.group_means(np.array([0, 1, 0, 1]), 3)
        assert_allclose(
            means, [[1, 0.375, NAN], [0.75, 0.5, NAN], [0, 0.5, NAN]], equal_nan=True
        )


# --------------------------------------------------------------------------- long


def pairs(values, rows=ROWS, items=ITEMS):
    i, j = np.nonzero(~np.isnan(values))
    return np.array(rows, object)[i], np.array(items, object)[j], values[i, j]


@pytest.mark.parametrize("values", [BINARY, GRADED, FULL.astype(float)])
def test_long_answers_in_any_order_make_the_same_table(values):
    respondents, items, scores = pairs(values)
    order = np.random.default_rng(0).permutation(len(scores))
    data = ResponseData.from_long(respondents[order], items[order], scores[order])
    assert (data.respondents.tolist(), data.items.tolist()) == (ROWS, ITEMS)
    assert_array_equal(data.to_wide(), values)


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        pd.Series,
        pd.Index,
        pl.Series,
        pd.Categorical,
        lambda v: pd.Series(v, index=range(10, 10 + len(v)), dtype="category"),
    ],
)
def test_long_ids_may_be_any_sequence(make):
    data = ResponseData.from_long(make(["b", "a"]), make(["y", "x"]), [1, 0])
    assert data.respondents.tolist() == ["a", "b"]
    assert_array_equal(data.to_wide(), [[0, NAN], [NAN, 1]])


def test_long_scores_may_hold_missing_answers_whose_ids_stay():
    data = ResponseData.from_long(["a", "b"], ["x", "y"], pd.array([True, pd.NA]))
    assert data.respondents.tolist() == ["a", "b"]
    assert_array_equal(data.to_wide(), [[1, NAN], [NAN, NAN]])


def test_ids_of_several_types_are_kept_apart():
    data = ResponseData.from_long(["a", 1, 2], [1, "1", 1], [1, 0, 1])
    assert set(data.respondents) == {"a", 1, 2}
    assert data.n_items == 2


REPEATS = (["m", "m", "m", "n"], ["q", "q", "q", "q"], [1, 0, 1, 0])


def test_repeated_cells_are_refused_with_their_names():
    with pytest.raises(ValueError, match=r"Respondent 'm'.*item 'q' \(2 repeated"):
        ResponseData.from_long(*REPEATS)


@pytest.mark.parametrize(
    "aggregate, score, weight",
    [("mean", 2 / 3, None), ("first", 1, None), ("count", 2 / 3, 3)],
)
def test_repeated_cells_are_merged_as_asked(aggregate, score, weight):
    data = ResponseData.from_long(*REPEATS, aggregate=aggregate)
    assert_allclose(data.to_wide(), [[score], [0]], rtol=1e-6)
    weights = data.cells()[3]
    assert weights is None if weight is None else weights.tolist() == [weight, 1]


@pytest.mark.parametrize(
    "aggregate, score, weight",
    [("mean", 2 / 4, 4 / 3), ("first", 1, 1), ("count", 2 / 4, 4)],
)
def test_repeated_cells_are_merged_by_their_weights(aggregate, score, weight):
    data = ResponseData.from_long(*REPEATS, weights=[1, 2, 1, 5], aggregate=aggregate)
    assert_allclose(data.to_wide(), [[score], [0]])
    assert_allclose(data.cells()[3], [weight, 5], rtol=1e-6)


def test_the_first_of_repeats_is_the_first_that_is_not_missing():
    data = ResponseData.from_long(["m", "m"], ["q", "q"], [NAN, 1], aggregate="first")
    assert data.to_wide().tolist() == [[1]]


def test_few_answers_are_stored_as_pairs():
    n = 40
    few = ResponseData.from_long(range(n), range(n), [1, 0] * (n // 2))
    assert few.is_sparse
    assert not ResponseData.from_wide(BINARY).is_sparse
    assert_array_equal(np.diagonal(few.to_wide()), [1, 0] * (n // 2))


# ------------------------------------------------------------------------- sparse


def stored(values):
    """Sparse array that stores every observed score, zeros too."""
    i, j = np.nonzero(~np.isnan(values))
    return sparse.coo_array((values[i, j], (i, j)), shape=values.shape)


def sparse_data(values, **options):
    """Data of `values` kept as pairs whatever their density."""
    import sklearn_mirt.data.cells as cells

    density, cells.SPARSE_BELOW = cells.SPARSE_BELOW, 2
    try:
        return ResponseData.from_sparse(stored(values), **options)
    finally:
        cells.SPARSE_BELOW = density


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok"])
@pytest.mark.parametrize("matrix", [True, False])
def test_stored_means_observed_and_absent_means_missing(form, matrix):
    X = stored(BINARY)
    if form in ("coo", "csr", "csc"):
        X = X.asformat(form)
    else:  # these drop zeros on conversion: write them one by one
        dense = sparse.csr_array(X)
        X = dense.asformat(form) if form == "dok" else dense
    X = sparse.csr_matrix(X) if matrix else X
    before = X.copy()
    assert_array_equal(ResponseData.from_sparse(X).to_wide(), BINARY)
    assert_array_equal(ResponseData.from_wide(X).to_wide(), BINARY)
    assert (X != before).nnz == 0
    assert X.nnz == before.nnz


def test_a_sparse_matrix_of_ones_only_is_refused():
    ones = sparse.csr_array([[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="zeros have probably been eliminated"):
        ResponseData.from_sparse(ones)
    assert ResponseData.from_sparse(ones, require_zeros=False).n_observed == 2


def test_weights_of_a_sparse_table_are_those_of_the_same_place():
    weights = stored(np.where(np.isnan(BINARY), NAN, np.arange(12.0).reshape(3, 4)))
    data = ResponseData.from_sparse(stored(BINARY), weights=weights)
    item, respondent, _, kept = data.cells()
    assert_array_equal(kept, respondent * 4 + item)
    assert np.isnan(data.to_wide()[0, 0])  # its weight is 0
    with pytest.raises(ValueError, match=r"weights have shape \(2, 4\)"):
        ResponseData.from_sparse(stored(BINARY), weights=sparse.csr_array((2, 4)))


@pytest.mark.parametrize("values", [BINARY, GRADED])
def test_dense_and_sparse_storage_say_the_same(values):
    weights = 1 + np.arange(12.0).reshape(3, 4)
    dense = ResponseData.from_wide(
        values, respondents=ROWS, items=ITEMS, weights=weights
    )
    pairs = sparse_data(
        values,
        respondents=ROWS,
        items=ITEMS,
        weights=stored(np.where(np.isnan(values), NAN, weights)),
    )
    assert pairs.is_sparse
    assert not dense.is_sparse
    assert_array_equal(dense.to_wide(), pairs.to_wide())
    assert dense.n_observed == pairs.n_observed
    for a, b in zip(dense.cells(), pairs.cells(), strict=True):
        assert_array_equal(a, b)
    for a, b in zip(dense.sums(), pairs.sums(), strict=True):
        assert_allclose(np.concatenate(a), np.concatenate(b))
    for index in ([2, 0], [True, False, True], slice(1, 3)):
        a = dense.take(respondents=index, items=[3, 1])
        b = pairs.take(respondents=index, items=[3, 1])
        assert_array_equal(a.to_wide(), b.to_wide())
        assert_array_equal(a.respondents, b.respondents)
        assert_array_equal(a.item_means(), b.item_means())


# ------------------------------------------------------------------ take, frozen


@pytest.mark.parametrize("make", [ResponseData.from_wide, sparse_data])
def test_take_picks_and_orders_cells_and_ids(make):
    data = make(GRADED, respondents=ROWS, items=ITEMS)
    part = data.take(respondents=[2, 0], items=np.array([False, True, False, True]))
    assert part.respondents.tolist() == ["m3", "m1"]
    assert part.items.tolist() == ["q2", "q4"]
    assert_array_equal(part.to_wide(), GRADED[[2, 0]][:, [1, 3]])
    assert_array_equal(data.to_wide(), GRADED)


@pytest.mark.parametrize("make", [ResponseData.from_wide, sparse_data])
def test_take_refuses_to_give_an_id_twice(make):
    data = make(GRADED, respondents=ROWS, items=ITEMS)
    with pytest.raises(ValueError, match="respondent id 'm1' is given more than once"):
        data.take(respondents=[0, 0])
    with pytest.raises(ValueError, match="item id 'q4' is given more than once"):
        data.take(items=[3, 1, 3])


def test_data_cannot_be_changed():
    data = ResponseData.from_wide(BINARY, items=ITEMS)
    with pytest.raises(ValueError, match="read-only"):
        data.items[0] = "other"
    with pytest.raises(AttributeError):
        data.items = ITEMS
    wide = data.to_wide()
    wide[:] = 0
    assert_array_equal(data.to_wide(), BINARY)
    names = np.array(ITEMS, dtype=object)
    data = ResponseData.from_wide(BINARY, items=names)
    names[0] = "other"
    assert data.items[0] == "q1"


def test_data_can_be_pickled_and_copied():
    data = ResponseData.from_wide(GRADED, items=ITEMS)
    for twin in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert_array_equal(twin.to_wide(), GRADED)
        assert twin.items.tolist() == ITEMS


def test_the_repr_says_the_sizes():
    text = "ResponseData(3 respondents x 4 items, 9 answers)"
    assert repr(ResponseData.from_wide(BINARY)) == text


def test_blocks_cover_the_items_once_in_order():
    X = (np.arange(300).reshape(3, 100) % 2).astype(float)
    for data in (ResponseData.from_wide(X), sparse_data(X)):
        blocks = data.blocks(n_cells=60)
        assert len(blocks) > 1
        edges = [(b.start, b.stop) for b in blocks]
        assert edges[0][0] == 0
        assert edges[-1][1] == 100
        assert all(a[1] == b[0] for a, b in zip(edges, edges[1:], strict=False))


# --------------------------------------------------------------------- properties

TABLES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, NAN]),
)


@given(TABLES, st.randoms(use_true_random=False))
def test_tables_survive_every_round_trip(X, random):
    data = ResponseData.from_wide(X)
    assert_array_equal(data.to_wide(), X)
    assert_array_equal(ResponseData.from_wide(data.to_wide()).to_wide(), X)
    i, j = np.indices(X.shape)
    order = np.array(random.sample(range(X.size), X.size), dtype=int)
    long = ResponseData.from_long(i.ravel()[order], j.ravel()[order], X.ravel()[order])
    assert_array_equal(long.to_wide(), X)
    assert_array_equal(sparse_data(X, require_zeros=False).to_wide(), X)
    assert_allclose(data.item_means(), long.item_means(), equal_nan=True)


@given(TABLES)
def test_taking_everything_changes_nothing(X):
    for data in (ResponseData.from_wide(X), sparse_data(X, require_zeros=False)):
        reversed_twice = data.take(
            respondents=np.arange(len(X))[::-1], items=slice(None, None, -1)
        ).take(respondents=slice(None, None, -1), items=slice(None, None, -1))
        assert_array_equal(reversed_twice.to_wide(), X)
        assert_array_equal(reversed_twice.items, data.items)
