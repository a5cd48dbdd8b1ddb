"""The item bank: exact round trips, old files, and items from other programs."""

import copy
import json
import pickle
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_mirt import (
    Abilities,
    ItemBank,
    ItemParameters,
    MIRTClassifier,
    MIRTTransformer,
    load_item_bank,
    save_item_bank,
)
from sklearn_mirt.banks.interchange import (
    from_catsim,
    from_difficulties,
    read_mirt_table,
    read_pyirt,
    to_catsim,
    to_difficulties,
    write_mirt_table,
    write_pyirt,
)
from sklearn_mirt.data.files.tables import FileFormatError
from sklearn_mirt.datasets import make_responses
from sklearn_mirt.models.item_bank_file import ItemBankError
from sklearn_mirt.models.priors import GroupPrior
from sklearn_mirt.models.rotation.apply import apply_rotation

STORED = Path(__file__).parents[1] / "samples" / "item_banks"
KINDS = ["bank.json", "bank.parquet"]


def random_bank(n=7, d=2, seed=0, ids=None):
    rng = np.random.default_rng(seed)
    # products of two numbers: the same bits on every machine
    root = rng.normal(size=(n, d + 1, 1))
    names = np.empty(n, dtype=object)
    names[:] = [f"q{k}" for k in range(n)] if ids is None else ids
    labels = np.array(["b", "a"], dtype=object)
    return ItemBank(
        ItemParameters(
            rng.normal(size=(n, d)),
            rng.normal(size=n),
            rng.uniform(0, 0.3, n),
            root * root.transpose(0, 2, 1),
            names,
        ),
        rng.integers(0, 2, n),
        labels,
        np.array([3, 4]),
        GroupPrior(rng.normal(size=(2, d + 1)), np.tile(np.eye(d + 1) / 3, (2, 1, 1))),
        np.eye(d) + 0.1 * (1 - np.eye(d)),
        "oblimin",
        {"note": "made up", "lower_bound": -1.25},
        np.arange(n) != 1,
    )


def assert_same(left, right):
    """Every number to the last bit, every id with its type."""
    for name in ("slopes", "intercepts", "guessing", "covariances"):
        np.testing.assert_array_equal(
            getattr(left.items, name), getattr(right.items, name), strict=True
        )
    assert left.items.ids.tolist() == right.items.ids.tolist()
    assert list(map(type, left.items.ids)) == list(map(type, right.items.ids))
    assert left.group_labels.tolist() == right.group_labels.tolist()
    for name in ("groups", "group_sizes", "ability_correlation"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
    np.testing.assert_array_equal(left.prior.means, right.prior.means)
    np.testing.assert_array_equal(left.prior.covariances, right.prior.covariances)
    np.testing.assert_array_equal(left.determined, right.determined)
    assert (left.rotation, left.training) == (right.rotation, right.training)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_bank_comes_back_to_the_last_bit(tmp_path, kind, d):
    bank = random_bank(d=d)
    assert_same(load_item_bank(save_item_bank(bank, tmp_path / kind)), bank)


@pytest.mark.parametrize("kind", KINDS)
@given(
    ids=st.one_of(
        st.lists(st.text(), min_size=1, max_size=5, unique=True),
        st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5, unique=True),
        st.lists(
            st.one_of(st.text(), st.integers(2, 9)), min_size=1, max_size=5, unique=True
        ),
    )
)
def test_ids_keep_their_type_and_spelling(tmp_path_factory, kind, ids):
    try:
        "".join(map(str, ids)).encode()
    except UnicodeEncodeError:
        return  # half of a surrogate pair is no text
    bank = random_bank(n=len(ids), ids=ids)
    path = tmp_path_factory.mktemp("bank") / kind
    assert_same(load_item_bank(save_item_bank(bank, path)), bank)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frame", [True, False])
def test_a_transformer_from_a_bank_scores_as_the_fitted_one(tmp_path, kind, frame):
    X = make_responses(60, 40, random_state=0).responses
    X[0, :] = np.nan
    if frame:
        X = pd.DataFrame(X, columns=[f"q{k}" for k in range(40)])
    groups = ["x"] * 15 + ["y"] * 25
    fitted = MIRTTransformer(2, item_groups=groups, guessing=0.1).fit(X)
    save_item_bank(fitted, tmp_path / kind, training={"files": ["scores.csv"]})
    loaded = MIRTTransformer.from_item_bank(tmp_path / kind)
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(loaded.expected_scores(X), fitted.expected_scores(X))
    np.testing.assert_array_equal(loaded.score_samples(X), fitted.score_samples(X))
    assert loaded.item_groups_.tolist() == groups
    np.testing.assert_array_equal(loaded.item_prior_means_, fitted.item_prior_means_)
    training = load_item_bank(tmp_path / kind).training
    assert training["n_respondents"] == 60
    assert training["files"] == ["scores.csv"]
    if frame:
        with pytest.raises(ValueError, match="feature names"):
            loaded.transform(X[X.columns[::-1]])


@pytest.mark.parametrize("model", ["2pl", "3pl"])
def test_items_of_an_exact_fit_score_as_that_fit(tmp_path, model):
    X = make_responses(80, 8, n_dims=1, random_state=0).responses
    fitted = MIRTTransformer(1, solver="quadrature", item_model=model).fit(X)
    path = save_item_bank(fitted, tmp_path / "b.json")
    loaded = MIRTTransformer.from_item_bank(path)
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    np.testing.assert_array_equal(loaded.standard_errors_, fitted.standard_errors_)
    training = load_item_bank(path).training
    assert training["lower_bound"] == fitted.log_likelihoods_[-1]
    assert loaded.get_params()["item_model"] == model


def test_a_classifier_has_a_bank_too(tmp_path):
    scores = make_responses(20, 10, random_state=1).responses
    i, j = np.nonzero(~np.isnan(scores))
    classifier = MIRTClassifier(1).fit(np.column_stack([i, j]), scores[i, j])
    bank = load_item_bank(save_item_bank(classifier, tmp_path / "b.json"))
    mirt = MIRTTransformer.from_item_bank(bank)
    np.testing.assert_array_equal(mirt.slopes_, classifier.slopes_)


def test_a_transformer_from_a_bank_can_be_copied_pickled_and_saved_again(tmp_path):
    bank = random_bank()
    mirt = MIRTTransformer.from_item_bank(bank)
    X = np.ones((2, 7))
    for other in (copy.deepcopy(mirt), pickle.loads(pickle.dumps(mirt))):
        with pytest.warns(UserWarning, match="feature names"):
            np.testing.assert_array_equal(other.transform(X), mirt.transform(X))
    again = load_item_bank(save_item_bank(mirt, tmp_path / "b.parquet"))
    np.testing.assert_array_equal(again.items.slopes, bank.items.slopes)
    assert again.rotation == "oblimin"


def test_skops_keeps_a_fitted_transformer(tmp_path):
    skops = pytest.importorskip("skops.io")
    X = make_responses(30, 20, random_state=0).responses
    fitted = MIRTTransformer(2).fit(X)
    skops.dump(fitted, tmp_path / "m.skops")
    trusted = skops.get_untrusted_types(file=tmp_path / "m.skops")
    loaded = skops.load(tmp_path / "m.skops", trusted=trusted)
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))


def test_settings_of_the_bank_cannot_be_given(tmp_path):
    with pytest.raises(ValueError, match="n_dims.*come from the item bank"):
        MIRTTransformer.from_item_bank(random_bank(), n_dims=3)


def test_a_bank_of_some_items(tmp_path):
    bank = random_bank()
    part = load_item_bank(save_item_bank(bank.take([4, 1]), tmp_path / "b.json"))
    assert part.items.ids.tolist() == ["q4", "q1"]
    np.testing.assert_array_equal(part.groups, bank.groups[[4, 1]])


# ---- files


@pytest.mark.parametrize("name", sorted(p.name for p in STORED.glob("version_1*")))
def test_a_stored_file_of_version_1_loads(name):
    assert_same(load_item_bank(STORED / name), random_bank(n=4, seed=42))


def test_there_are_stored_files_of_every_version():
    assert {p.suffix for p in STORED.glob("version_1*")} == {".json", ".parquet"}


def test_the_file_of_a_logistic_bank_is_still_of_version_1(tmp_path):
    path = save_item_bank(random_bank(n=4, seed=42), tmp_path / "bank.json")
    assert path.read_bytes() == (STORED / "version_1.json").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("model", "extras"),
    [
        ("4pl", {"ceiling": np.linspace(0.9, 1.0, 7)}),
        ("graded", {"thresholds": -np.arange(1.0, 15.0).reshape(7, 2)}),
    ],
)
def test_items_keep_their_model_and_its_extras(tmp_path, kind, model, extras):
    bank = random_bank()
    items = replace(bank.items, model=model, extras=extras)
    bank = replace(bank, items=items).take(np.arange(5))
    back = load_item_bank(save_item_bank(bank, tmp_path / kind))
    assert_same(back, bank)
    for found in (back, pickle.loads(pickle.dumps(bank)), copy.deepcopy(bank)):
        assert found.items.model == model
        for name, values in extras.items():
            np.testing.assert_array_equal(found.items.extras[name], values[:5])
    turned, _ = apply_rotation(back.items, Abilities.of_nobody(np.eye(2)), np.eye(2))
    assert turned.model == model and turned.extras.keys() == extras.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_an_existing_file_is_kept_unless_forced(tmp_path, kind):
    path = save_item_bank(random_bank(), tmp_path / kind)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="force"):
        save_item_bank(random_bank(seed=1), path)
    assert path.read_bytes() == before
    save_item_bank(random_bank(seed=1), path, force=True)
    assert_same(load_item_bank(path), random_bank(seed=1))


def test_a_failed_save_leaves_nothing(tmp_path):
    bank = random_bank()
    bank.training["bad"] = {1, 2}
    with pytest.raises(TypeError):
        save_item_bank(bank, tmp_path / "b.json")
    bank = random_bank(ids=[("a", k) for k in range(7)])
    with pytest.raises(ItemBankError, match="is a tuple"):
        save_item_bank(bank, tmp_path / "b.json")
    bank = random_bank()
    bank.items.slopes[3, 0] = np.nan
    with pytest.raises(ItemBankError, match="slopes of item 'q3' are not finite"):
        save_item_bank(bank, tmp_path / "b.json")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_bank_is_refused_with_one_line(tmp_path):
    good = json.loads(save_item_bank(random_bank(), tmp_path / "g.json").read_text())

    def changed(**changes):
        return json.dumps({**good, **changes})

    items = good["items"]
    cases = {
        "empty": ("", "neither JSON nor Parquet"),
        "cut": (json.dumps(good)[:300], "neither JSON nor Parquet"),
        "other JSON": ("[1, 2]", "no item bank"),
        "binary": ("PAR1....", "not a Parquet file"),
        "later": (changed(version=99), "version 99; .* update"),
        "unknown": (changed(parameterisation="a(t-b)"), "unknown parameterisation"),
        "short": (changed(items={**items, "id": ["q"]}), "damaged"),
        "twice": (changed(items={**items, "id": ["q"] * 7}), "item ids repeat"),
        "no slopes": (changed(items={"id": items["id"]}), "damaged"),
        "group": (changed(items={**items, "group": [9] * 7}), "group is not listed"),
    }
    for name, (text, message) in cases.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ItemBankError, match=message) as caught:
            load_item_bank(tmp_path / name)
        assert "\n" not in str(caught.value)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ItemBankError, match="but no item bank"):
        load_item_bank(tmp_path / "t.parquet")
    with pytest.raises(ItemBankError, match="cannot be read"):
        load_item_bank(tmp_path / "none.json")


def test_a_bank_of_82756_items_saves_and_loads_in_two_seconds(tmp_path):
    bank = random_bank(n=82756, d=2)
    times = []
    for _ in range(2):  # another process may be using the machine
        start = time.process_time()
        path = save_item_bank(bank, tmp_path / "big.parquet", force=True)
        loaded = load_item_bank(path)
        times.append(time.process_time() - start)
    assert_same(loaded, bank)
    assert min(times) < 2


# ---- other programs

THETA = np.random.default_rng(3).normal(size=(6, 2))


def test_intercepts_and_difficulties_give_the_same_probabilities():
    items = random_bank().items
    b = to_difficulties(items)
    logit = ((THETA[:, None, :] - b) * items.slopes).sum(axis=2)
    np.testing.assert_allclose(logit, items.logit(THETA), atol=1e-12)
    back = from_difficulties(items.slopes, b, ids=items.ids, guessing=items.guessing)
    np.testing.assert_allclose(back.intercepts, items.intercepts, atol=1e-12)


def test_any_difficulty_on_the_same_plane_is_the_same_item():
    """Only a . b is known: moving b at right angles to a changes no probability."""
    a, b = np.array([[1.0, 2.0]]), np.array([[0.3, -0.2]])
    moved = b + 5 * np.array([[2.0, -1.0]])
    left, right = (from_difficulties(a, x, ids=["q"]) for x in (b, moved))
    np.testing.assert_allclose(left.probability(THETA), right.probability(THETA))


def test_an_item_without_slope_has_no_difficulty():
    items = from_difficulties([[0.0]], [[1.0]], ids=["q"])
    assert to_difficulties(items).tolist() == [[0.0]]
    flat = ItemParameters(
        np.zeros((1, 1)),
        np.ones(1),
        np.zeros(1),
        np.zeros((1, 2, 2)),
        np.array(["q"], object),
    )
    with pytest.raises(ValueError, match="item 'q' has slope 0 and intercept 1"):
        to_difficulties(flat)


@pytest.mark.parametrize("d", [1, 3])
def test_pyirt_and_back(tmp_path, d):
    bank = random_bank(d=d)
    bank.items.guessing[:] = 0
    path = write_pyirt(bank, tmp_path / "p.json")
    assert json.loads(path.read_text())["irt_model"] == (
        "2pl" if d == 1 else "multidim_2pl"
    )
    back = read_pyirt(path).items
    theta = np.random.default_rng(0).normal(size=(5, d))
    np.testing.assert_allclose(
        back.probability(theta), bank.items.probability(theta), atol=1e-12
    )
    assert back.ids.tolist() == bank.items.ids.tolist()


def test_pyirt_abilities_are_moved_to_the_standard_scale_with_the_items(tmp_path):
    rng = np.random.default_rng(0)
    theta = rng.normal([2.0, -1.0], [3.0, 0.5], size=(50, 2))
    a, b = rng.normal(size=(2, 4, 2))
    document = {
        "ability": theta.tolist(),
        "diff": b.tolist(),
        "disc": a.tolist(),
        "irt_model": "multidim_2pl",
        "item_ids": {str(k): f"q{k}" for k in range(4)},
    }
    (tmp_path / "p.json").write_text(json.dumps(document))
    standard = (theta - theta.mean(0)) / theta.std(0)
    logit = ((theta[:, None, :] - b) * a).sum(axis=2)
    moved = read_pyirt(tmp_path / "p.json").items
    np.testing.assert_allclose(moved.logit(standard), logit, atol=1e-10)
    kept = read_pyirt(tmp_path / "p.json", standardise=False).items
    np.testing.assert_allclose(kept.logit(theta), logit, atol=1e-10)


def test_pyirt_models_with_a_ceiling_are_refused(tmp_path):
    document = {"diff": [0], "disc": [1], "lambdas": [1], "item_ids": {"0": "q"}}
    (tmp_path / "p.json").write_text(json.dumps({**document, "irt_model": "4pl"}))
    with pytest.raises(FileFormatError, match="the model is '4pl'; only"):
        read_pyirt(tmp_path / "p.json")
    (tmp_path / "p.json").write_text("{}")
    with pytest.raises(FileFormatError, match="no parameters of py-irt"):
        read_pyirt(tmp_path / "p.json")
    with pytest.raises(ValueError, match="has a guessing floor of"):
        write_pyirt(random_bank(), tmp_path / "x.json")


def test_catsim_and_back():
    bank = random_bank(d=1)
    matrix = to_catsim(bank)
    theta = np.linspace(-3, 3, 9)
    a, b, c, top = matrix.T
    # the formula of catsim.irt.icc
    expected = c + (top - c) / (1 + np.exp(-a * (theta[:, None] - b)))
    np.testing.assert_allclose(bank.items.probability(theta[:, None]), expected)
    back = from_catsim(matrix, ids=bank.items.ids).items
    np.testing.assert_allclose(back.probability(theta[:, None]), expected)
    with pytest.raises(ValueError, match="one dimension, the items have 2"):
        to_catsim(random_bank())
    matrix[2, 3] = 0.9
    with pytest.raises(ValueError, match="item 2 has a ceiling of 0.9"):
        from_catsim(matrix)


def test_catsim_itself_computes_the_same_probabilities():
    irt = pytest.importorskip("catsim.irt")
    bank = random_bank(d=1)
    for theta in (-2.0, 0.5):
        np.testing.assert_allclose(
            [irt.icc(theta, *row) for row in to_catsim(bank)],
            bank.items.probability([[theta]])[0],
        )


def test_mirt_table_and_back(tmp_path):
    bank = random_bank(ids=["a,b", 'say "x"', "", "007", "é", "q5", "q6"][:7])
    bank.items.ids[2] = "NA"
    path = write_mirt_table(bank, tmp_path / "items.csv")
    back = read_mirt_table(path, ability_correlation=bank.ability_correlation)
    for name in ("slopes", "intercepts", "guessing"):
        np.testing.assert_array_equal(
            getattr(back.items, name), getattr(bank.items, name)
        )
    assert back.items.ids.tolist() == bank.items.ids.tolist()


def test_mirt_table_of_the_lsat7_fit(tmp_path):
    """As `write.csv(coef(fit, simplify=TRUE)$items)` of R mirt 1.47 writes it."""
    (tmp_path / "r.csv").write_text(
        '"","a1","d","g","u"\n"Item.1",0.988,1.856,0,1\n"Item.2",1.081,0.808,0,1\n'
    )
    items = read_mirt_table(tmp_path / "r.csv").items
    assert items.ids.tolist() == ["Item.1", "Item.2"]
    np.testing.assert_array_equal(items.intercepts, [1.856, 0.808])
    # with IRTpars=TRUE: b = -d / a
    (tmp_path / "b.csv").write_text(
        '"","a","b","g","u"\n"Item.1",0.988,-1.879,0,1\n"Item.2",1.081,-0.748,0,1\n'
    )
    other = read_mirt_table(tmp_path / "b.csv").items
    np.testing.assert_allclose(other.intercepts, items.intercepts, atol=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,a1,d1,d2\nq,1,2,3\n", "graded"),
        ("item,x,y\nq,1,2\n", "no item table of R mirt"),
        ("item,a1,d\nq,1,NA\n", "line 2, column 'd': not a number"),
        ("item,a1,d,u\nq,1,0,0.9\n", "item 'q' has a ceiling of 0.9"),
        ("item,a1,d\nq,1,0\nq,1,0\n", "was there already"),
    ],
)
def test_bad_mirt_tables_are_refused(tmp_path, text, message):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_mirt_table(tmp_path / "r.csv")


def test_abilities_travel_with_pyirt(tmp_path):
    bank = random_bank()
    bank.items.guessing[:] = 0
    abilities = Abilities(
        THETA, np.zeros((6, 2, 2)), np.eye(2), np.array(list("abcdef"), dtype=object)
    )
    path = write_pyirt(bank, tmp_path / "p.json", abilities=abilities)
    document = json.loads(path.read_text())
    assert document["subject_ids"]["0"] == "a"
    assert document["ability"] == THETA.tolist()


def test_an_exact_fit_from_a_bank_can_be_shown():
    X = make_responses(300, 8, 1, random_state=0).responses
    mirt = MIRTTransformer(1, solver="quadrature").fit(X)
    again = MIRTTransformer.from_item_bank(ItemBank.from_estimator(mirt))
    assert "quadrature" in again._repr_html_()
