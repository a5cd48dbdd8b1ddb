"""What is written is read back, cell by cell."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_mirt import ResponseData
from sklearn_mirt.data.files.read import read_items, read_responses
from sklearn_mirt.data.files.tables import FileFormatError
from sklearn_mirt.data.files.write import (
    write_responses,
    write_table,
)

ENDINGS = ["csv", "tsv", "csv.gz", "csv.zst", "tsv.gz", "parquet", "feather"]
LAYOUTS = ["long", "wide", "items-as-rows"]
ODD = [
    "=cmd()",
    "<script>alert(1)</script>",
    'say "x"',
    "a,b",
    "a;b",
    "007",
    "NA",
    "é\n",
]


def cells(data):
    item, respondent, scores, weights = data.cells()
    weights = np.ones(len(scores)) if weights is None else weights
    return {
        (data.respondents[r], data.items[j]): (s, w)
        for j, r, s, w in zip(item, respondent, scores, weights, strict=True)
    }


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_round_trip_of_every_layout_and_ending(tmp_path, ending, layout):
    rng = np.random.default_rng(0)
    scores = rng.choice([0, 1, 1 / 3, 0.1, np.nan], size=(5, len(ODD)))
    names = ["m1", "=HYPERLINK()", "x y", "tab\tin", "'"]
    data = ResponseData.from_wide(scores, respondents=names, items=ODD)
    path = write_responses(data, tmp_path / f"r.{ending}", layout=layout)
    back = read_responses(path, layout=layout).data
    assert cells(back) == cells(data)
    assert set(back.items) == set(ODD)
    if layout != "long":
        assert back.items.tolist() == ODD
        assert back.respondents.tolist() == names


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_weights_and_silent_ids_survive_the_long_layout(tmp_path, ending):
    scores = np.array([[0.5, np.nan, 1.0], [np.nan] * 3, [1 / 3, np.nan, 0.0]])
    weights = np.array([[2.0, 0, 1], [0, 0, 0], [3, 0, 4]])
    data = ResponseData.from_wide(
        scores, respondents=list("abc"), items=list("xyz"), weights=weights
    )
    path = write_responses(data, tmp_path / f"r.{ending}")
    back = read_responses(path).data
    assert cells(back) == cells(data)
    assert back.items.tolist() == list("xyz")
    assert back.respondents.tolist() == list("abc")
    with pytest.raises(ValueError, match="weights, which the layout 'wide' cannot"):
        write_responses(data, tmp_path / "w.csv", layout="wide")


def test_pyirt_lines_round_trip(tmp_path):
    data = ResponseData.from_wide(
        [[1, np.nan], [0, 0.1]], respondents=["a", "b"], items=["q1", ODD[1]]
    )
    path = write_responses(data, tmp_path / "r.jsonl", layout="py-irt")
    assert cells(read_responses(path).data) == cells(data)


ids = st.lists(
    st.text(
        st.characters(codec="utf-8", exclude_characters="\0\r\x1f"),
        min_size=1,
        max_size=6,
    ).filter(lambda text: text.strip() == text),
    min_size=2,
    max_size=4,
    unique=True,
)


@given(ids, ids, st.sampled_from(LAYOUTS), st.sampled_from(["csv", "tsv"]), st.data())
def test_any_ids_round_trip(tmp_path_factory, rows, columns, layout, ending, draw):
    cell = st.sampled_from([0.0, 1.0, 0.1, np.nan])
    scores = np.array([[draw.draw(cell) for _ in columns] for _ in rows])
    data = ResponseData.from_wide(scores, respondents=rows, items=columns)
    folder = tmp_path_factory.mktemp("w")
    path = write_responses(data, folder / f"r.{ending}", layout=layout)
    back = read_responses(path, layout=layout).data
    assert cells(back) == cells(data)
    assert set(back.items) == set(columns)
    assert set(back.respondents) == set(rows)


def test_an_existing_file_is_kept_and_a_failure_leaves_nothing(tmp_path):
    data = ResponseData.from_wide([[1, 0]])
    path = write_responses(data, tmp_path / "r.csv")
    with pytest.raises(FileExistsError):
        write_responses(data, path)
    write_responses(data, path, force=True)
    with pytest.raises(ValueError, match=r"is .csv, .tsv"):
        write_responses(data, tmp_path / "r.xlsx")
    same = ResponseData.from_wide([[1, 0]], items=[1, "1"])
    with pytest.raises(ValueError, match="two item ids are the same"):
        write_responses(same, tmp_path / "s.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["r.csv"]


def test_item_tables_round_trip(tmp_path):
    frame = pd.DataFrame(
        {"item_id": ODD, "benchmark": list("aabbccdd"), "mean": np.arange(8) / 7}
    )
    for ending in ENDINGS:
        back = read_items(write_table(frame, tmp_path / f"i.{ending}"))
        assert back.index.tolist() == ODD
        np.testing.assert_array_equal(back["mean"], frame["mean"])


# ---- more tables


def test_benchmirt_tables(tmp_path):
    (tmp_path / "b.csv").write_text(
        "question_id,question,subset,acc_norm_org/m-1,acc_norm_m_2\n"
        "bbh_1,\"{'a': 1,\n2}\",bbh_x,1.0,0.0\nmath_2,?,math,,1.0\n"
    )
    loaded = read_responses(tmp_path / "b.csv")
    assert loaded.layout == "benchmirt"
    assert cells(loaded.data) == {
        ("org/m-1", "bbh_1"): (1, 1),
        ("m_2", "bbh_1"): (0, 1),
        ("m_2", "math_2"): (1, 1),
    }
    assert "'question', 'subset'" in loaded.notes[1]
    (tmp_path / "q.csv").write_text(
        "question_id,benchmark,category,subcategory_one,question_text,average_score\n"
        'bbh_1,bbh,General Reasoning,x,"a\nb",0.5\nmath_2,math,General Reasoning,,c,1\n'
    )
    items = read_items(tmp_path / "q.csv")
    assert items.loc["bbh_1", "benchmark"] == "bbh"
    read_responses(tmp_path / "b.csv", items=items)
    with pytest.raises(FileFormatError, match="no column is named acc_norm_"):
        (tmp_path / "c.csv").write_text("question_id,m\nq,1\n")
        read_responses(tmp_path / "c.csv", layout="benchmirt")


def test_several_tables_are_joined_by_id(tmp_path):
    (tmp_path / "a.csv").write_text("model,q1,q2\na,1,0\nb,,\n")
    (tmp_path / "b.csv").write_text("item,c,a\nq3,0.5,1\n")
    loaded = read_responses([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert loaded.layout == "wide and items-as-rows"
    assert loaded.data.respondents.tolist() == ["a", "b", "c"]
    assert cells(loaded.data) == {
        ("a", "q1"): (1, 1),
        ("a", "q2"): (0, 1),
        ("a", "q3"): (1, 1),
        ("c", "q3"): (0.5, 1),
    }
    with pytest.raises(ValueError, match="'a' has more than one answer to item 'q1'"):
        read_responses([tmp_path / "a.csv"] * 2)
    twice = read_responses([tmp_path / "a.csv"] * 2, aggregate="count")
    assert cells(twice.data)["a", "q1"] == (1, 2)


def test_repeats_in_a_long_table(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("model,item,score\na,q,1\na,q,0\nb,q,1\n")
    with pytest.raises(FileFormatError, match="line 3: .*aggregate='mean'"):
        read_responses(path)
    assert cells(read_responses(path, aggregate="count").data)["a", "q"] == (0.5, 2)
    path.write_text("model,item,score,weight\na,q,1,-2\nb,q,1,1\n")
    with pytest.raises(FileFormatError, match="line 2, column 'weight': .*at least 0"):
        read_responses(path)
