"""Response files and item tables: what is read, and what is refused."""

import csv
import gzip
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_mirt.data.files.read import FileFormatError, read_items, read_responses

WIDE = "model,q1,q2,q3\nb,1,0,\na,0.5,1,0\n"
WIDE_SCORES = np.array([[1, 0, np.nan], [0.5, 1, 0]])


@pytest.fixture
def write(tmp_path):
    """Write text or bytes to a file of the given name and return its path."""

    def make(content, name="responses.csv"):
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return make


def scores_by_name(data):
    """Cells as a dictionary, whatever the order of the ids."""
    wide = data.to_wide()
    return {
        (r, i): wide[a, b]
        for a, r in enumerate(data.respondents)
        for b, i in enumerate(data.items)
        if not np.isnan(wide[a, b])
    }


EXPECTED = {
    ("b", "q1"): 1.0,
    ("b", "q2"): 0.0,
    ("a", "q1"): 0.5,
    ("a", "q2"): 1.0,
    ("a", "q3"): 0.0,
}

# ---- layouts


def test_wide_keeps_names_order_and_gaps(write):
    loaded = read_responses(write(WIDE))
    assert loaded.layout == "wide"
    assert loaded.data.respondents.tolist() == ["b", "a"]
    assert loaded.data.items.tolist() == ["q1", "q2", "q3"]
    np.testing.assert_array_equal(loaded.data.to_wide(), WIDE_SCORES)


@pytest.mark.parametrize("first", ["item_id", "Item", "question_id", "question"])
def test_items_as_rows_is_recognised_by_the_first_column(write, first):
    text = f"{first},b,a\nq1,1,0.5\nq2,0,1\nq3,,0\n"
    loaded = read_responses(write(text))
    assert loaded.layout == "items-as-rows"
    np.testing.assert_array_equal(loaded.data.to_wide(), WIDE_SCORES)
    assert loaded.data.respondents.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "header",
    ["model,item,score", "respondent_id,question_id,correct", "Model,Item_ID,Answer"],
)
def test_long_is_recognised_by_its_three_columns(write, header):
    text = f"{header}\nb,q1,1\nb,q2,0\na,q1,0.5\na,q2,1\na,q3,0\nb,q3,\n"
    loaded = read_responses(write(text))
    assert loaded.layout == "long"
    assert scores_by_name(loaded.data) == EXPECTED


def test_long_columns_can_be_named_and_others_are_ignored(write):
    text = "run,llm,prompt,task,right\n9,b,hello,q1,true\n9,a,bye,q1,False\n"
    loaded = read_responses(write(text), respondent="llm", item="task", score="right")
    assert loaded.layout == "long"
    assert scores_by_name(loaded.data) == {("b", "q1"): 1.0, ("a", "q1"): 0.0}


def test_the_item_table_decides_where_the_first_column_says_nothing(write):
    table = read_items(write("item_id\nq1\nq2\nq3\n".replace("\n", ",x\n"), "i.csv"))
    sideways = write("name,b,a\nq1,1,0.5\nq2,0,1\nq3,,0\n", "sideways.csv")
    loaded = read_responses(sideways, items=table)
    assert loaded.layout == "items-as-rows"
    assert scores_by_name(loaded.data) == EXPECTED
    assert read_responses(sideways).layout == "wide"
    assert read_responses(write(WIDE), items=table).layout == "wide"


def test_text_columns_outside_the_item_table_are_set_aside_and_noted(write):
    table = read_items(write("item_id,benchmark\nq1,x\nq2,x\n", "items.csv"))
    path = write("respondent,vendor,q1,q2\na,acme,1,0\nb,initech,0,1\n")
    loaded = read_responses(path, items=table)
    assert loaded.data.items.tolist() == ["q1", "q2"]
    assert any("vendor" in note for note in loaded.notes)
    with pytest.raises(FileFormatError, match="'vendor': 'acme' is not a number"):
        read_responses(path)


def test_label_columns_beside_items_as_rows_are_set_aside(write):
    loaded = read_responses(write("item_id,benchmark,b,a\nq1,x,1,0\nq2,y,0,1\n"))
    assert loaded.data.respondents.tolist() == ["b", "a"]
    assert any("benchmark" in note for note in loaded.notes)


def test_items_without_answers_are_noted(write):
    table = read_items(write("item,benchmark\nq1,x\nq2,x\nq3,x\nq9,x\n", "i.csv"))
    loaded = read_responses(write(WIDE), items=table)
    assert any("1 items of the item table" in note for note in loaded.notes)


# ---- file kinds

KINDS = {
    "r.csv.gz": WIDE,
    "r.tsv": WIDE.replace(",", "\t"),
    "r.tsv.gz": WIDE.replace(",", "\t"),
    "semicolon.csv": WIDE.replace(",", ";"),
    "windows.csv": "\ufeff" + WIDE.replace("\n", "\r\n"),
    "mac.csv": WIDE.replace("\n", "\r"),
    "no_last_line_end.csv": WIDE.rstrip("\n"),
    "blank_lines.csv": "\n" + WIDE.replace("\n", "\n\n") + "  \n",
    "quoted.csv": '"model","q1","q2","q3"\n"b","1","0",""\n"a","0.5","1","0"\n',
    "marks.csv": WIDE.replace("0,\n", "0,NA\n"),
    "words.csv": "model,q1,q2,q3\nb,true,False,NaN\na,0.5,1.0, 0\n",
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_text_files(write, name):
    loaded = read_responses(write(KINDS[name], name))
    np.testing.assert_array_equal(loaded.data.to_wide(), WIDE_SCORES)
    assert loaded.data.items.tolist() == ["q1", "q2", "q3"]
    assert loaded.data.respondents.tolist() == ["b", "a"]


@pytest.mark.parametrize("dtype", ["float64", "Float32", "object"])
@pytest.mark.parametrize("as_index", [True, False])
def test_parquet(tmp_path, dtype, as_index):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(WIDE_SCORES, index=["b", "a"], columns=["q1", "q2", "q3"])
    frame = frame.astype(dtype).rename_axis(index="model")
    path = tmp_path / "responses.parquet"
    (frame if as_index else frame.reset_index()).to_parquet(path)
    loaded = read_responses(path)
    np.testing.assert_array_equal(loaded.data.to_wide(), WIDE_SCORES)
    assert loaded.data.respondents.tolist() == ["b", "a"]


def test_parquet_long_with_integers_and_nullable_truth_values(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "model": ["a", "a", "b"],
            "item": [7, 8, 7],
            "correct": pd.array([True, None, False], dtype="boolean"),
        }
    )
    frame.to_parquet(tmp_path / "r.parquet")
    loaded = read_responses(tmp_path / "r.parquet")
    assert scores_by_name(loaded.data) == {("a", "7"): 1.0, ("b", "7"): 0.0}


def test_ids_are_kept_as_written(write):
    text = 'model,item,score\n007,NA,1\n1e3,null,0\n"x, y",nan,1\n'
    data = read_responses(write(text)).data
    assert set(data.respondents) == {"007", "1e3", "x, y"}
    assert set(data.items) == {"NA", "null", "nan"}


def test_a_quoted_line_end_shifts_no_cell_and_no_line_number(write):
    text = 'model,q1,q2\n"a\nb",1,0\nc,maybe,1\n'
    path = write(text)
    with pytest.raises(FileFormatError, match=r"line 4, column 'q1': 'maybe'"):
        read_responses(path)
    loaded = read_responses(write(text.replace("maybe", "0")))
    assert loaded.data.respondents.tolist() == ["a\nb", "c"]


texts = st.text(
    st.characters(
        codec="utf-8", exclude_characters="\0\r\x1f", exclude_categories=("Cs",)
    ),
    min_size=1,
    max_size=8,
).filter(lambda text: text.strip() == text)


@pytest.mark.slow
@given(
    st.lists(texts, min_size=2, max_size=5, unique=True),
    st.lists(texts, min_size=1, max_size=4, unique=True),
    st.data(),
)
def test_what_csv_writes_is_read_back_cell_by_cell(tmp_path_factory, rows, names, data):
    cell = st.sampled_from([0.0, 1.0, 0.25, np.nan])
    scores = np.array([[data.draw(cell) for _ in names] for _ in rows])
    path = tmp_path_factory.mktemp("files") / "r.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["respondent", *[f"q{name}" for name in names]])
        for row, values in zip(rows, scores, strict=True):
            writer.writerow([row, *["" if np.isnan(v) else v for v in values]])
    loaded = read_responses(path, layout="wide")
    assert loaded.data.respondents.tolist() == rows
    assert loaded.data.items.tolist() == [f"q{name}" for name in names]
    np.testing.assert_array_equal(loaded.data.to_wide(), scores)


# ---- refusals

BAD = {
    "empty": ("", "the file is empty"),
    "only spaces": (" \n\n", "the file is empty"),
    "header only": ("model,q1\n", "no row of data"),
    "one column": ("model\na\n", "only one column"),
    "same name twice": ("model,q1,q1\na,1,0\n", "two columns have the name 'q1'"),
    "no name": ("model,q1,\na,1,0\n", "column 3 has no name"),
    "short row": ("model,q1,q2\na,1,0\nb,1\n", "line 3: 2 values where .* 3 columns"),
    "long row": ("model,q1,q2\na,1,0,1\n", "line 2: 4 values where .* 3 columns"),
    "trailing comma": ("model,q1\na,1,\nb,0,\n", "line 2: 3 values"),
    "not a number": (
        "model,q1,q2\na,1,0\n\nb,1,maybe\n",
        "responses.csv, line 4, column 'q2': 'maybe' is not a number",
    ),
    "underscore": ("model,q1\na,0_1\n", "'0_1' is not a number"),
    "complex": ("model,q1\na,1j\n", "'1j' is not a number"),
    "too large": (
        "model,q1,q2\na,1,0\nb,85,100\n",
        "line 3, column 'q1': .* respondent 'b' on item 'q1' is 85.*is 100",
    ),
    "negative": ("model,q1\na,-1\n", "is -1, outside .*leave the cell"),
    "infinite": ("model,q1\na,inf\n", "is inf, outside"),
    "same id twice": (
        "model,q1\na,1\nb,0\na,1\n",
        r"line 4: the respondent 'a' was there already \(line 2\)",
    ),
    "same item twice": ("item_id,m\nq,1\nq,0\n", "the item 'q' was there already"),
    "no id": ("model,q1\na,1\n,0\n", "line 3: the respondent id .* is empty"),
    "long without id": ("model,item,score\na,,1\n", "line 2: the item id .* is empty"),
    "same pair twice": (
        "model,item,score\na,q,1\nb,q,1\na,q,0\n",
        "line 4: respondent 'a' has another answer to item 'q'",
    ),
    "half quoted": ('model,q1\n"a"b,1\n', "line 2: a quotation mark is opened"),
    "open quote": ('model,q1\n"a,1\nb,0\n', "line 2: a quotation mark is opened"),
    "not utf-8": (b"model,q1\na,1\n\xff\xfe,0\n", "line 3: not UTF-8 text"),
    "binary": (b"model,q1\na\0b,1\n", "line 2: a control character"),
    "separator": ("model,q1\na,1\nb\x1fc,0\n", "line 3: a control character"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused_with_one_clear_line(write, case):
    content, message = BAD[case]
    with pytest.raises(FileFormatError, match=message) as caught:
        read_responses(write(content))
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path / "none.parquet"):
        with pytest.raises(FileFormatError, match="there is no such file"):
            read_responses(path)
    with pytest.raises(FileFormatError, match="folder"):
        read_responses(tmp_path)


def test_zero_bytes_and_rubbish_are_refused_in_every_kind(tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("r.csv", "r.tsv", "r.csv.gz", "r.parquet"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(FileFormatError):
            read_responses(tmp_path / name)
    (tmp_path / "r.parquet").write_bytes(b"PAR1 and then nothing of the kind")
    with pytest.raises(FileFormatError, match="not a Parquet file"):
        read_responses(tmp_path / "r.parquet")


@pytest.mark.parametrize("cut", [5, 20, -9, -4])
def test_a_truncated_archive_is_refused(tmp_path, cut):
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress((WIDE * 50).encode())[:cut])
    with pytest.raises(FileFormatError, match="damaged or cut short"):
        read_responses(path)


def test_a_damaged_archive_is_refused(tmp_path):
    content = bytearray(gzip.compress((WIDE * 50).encode()))
    content[-6] ^= 0xFF  # the checksum
    (tmp_path / "r.csv.gz").write_bytes(bytes(content))
    with pytest.raises(FileFormatError, match="damaged or cut short"):
        read_responses(tmp_path / "r.csv.gz")


def test_items_that_the_item_table_lacks_are_refused(write):
    table = read_items(write("item_id,benchmark\nq1,x\nq2,x\n", "items.csv"))
    with pytest.raises(FileFormatError, match="1 of 3 items are not in .*: 'q3'"):
        read_responses(write(WIDE), items=table)
    other = read_items(write("item_id,benchmark\nz1,x\n", "other.csv"))
    with pytest.raises(FileFormatError, match="neither the columns .*'q1'.* nor"):
        read_responses(write(WIDE), items=other)


def test_stated_columns_must_exist_and_fit_the_layout(write):
    path = write(WIDE)
    with pytest.raises(FileFormatError, match="no column 'llm'; the columns are"):
        read_responses(path, respondent="llm")
    with pytest.raises(FileFormatError, match="no column is recognised as the item"):
        read_responses(path, layout="long")
    with pytest.raises(ValueError, match="layout must be one of"):
        read_responses(path, layout="tall")
    with pytest.raises(ValueError, match="long layout only"):
        read_responses(path, layout="wide", score="q1")


# ---- item tables


def test_item_table_keeps_labels_as_text(write):
    text = "benchmark,item_id,accuracy,subset\n2024,q1,0.5,01\n2024,q2,,\n"
    table = read_items(write(text))
    assert table.index.tolist() == ["q1", "q2"]
    assert table.index.name == "item_id"
    assert table["benchmark"].tolist() == ["2024", "2024"]
    assert table["subset"].iloc[0] == "01"
    assert pd.isna(table["subset"].iloc[1])
    assert table["accuracy"].dtype == np.float64


def test_item_table_takes_the_first_column_if_none_is_named_like_ids(write):
    assert read_items(write("prompt,benchmark\np1,x\n")).index.tolist() == ["p1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_id,benchmark\nq1,x\nq1,y\n", "line 3: the item 'q1' was there already"),
        ("item_id,benchmark\n,x\n", "line 2: the item id"),
        ("item_id,benchmark\nq1\n", "line 2: 1 values"),
    ],
)
def test_bad_item_tables_are_refused(write, text, message):
    with pytest.raises(FileFormatError, match=message):
        read_items(write(text))


# ---- real files

SETS = [
    ("nlu_test_sets", "items-as-rows", 90, 82756),
    ("openllm_v1", "wide", 6812, 1480),
    ("psn_irt", "items-as-rows", 12, 41871),
    ("jailbreakbench", "wide", 38, 100),
    ("livecodebench_2024", "wide", 56, 2462),
    ("xstest", "items-as-rows", 5, 450),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "layout", "n_respondents", "n_items"), SETS)
def test_real_sets_are_recognised(real_data, name, layout, n_respondents, n_items):
    folder = real_data(name)
    items = read_items(folder / "items.csv.gz")
    loaded = read_responses(folder / "responses.csv.gz", items=items)
    assert loaded.layout == layout
    assert (loaded.data.n_respondents, loaded.data.n_items) == (n_respondents, n_items)
    column = next(c for c in ("accuracy", "mean_score", "share_safe") if c in items)
    means = loaded.data.item_means()
    stated = items.loc[loaded.data.items, column].to_numpy()
    # the folder's own means are rounded to four places
    np.testing.assert_allclose(means, stated, atol=6e-5)


def test_graded_scores_are_refused_with_advice(real_data):
    path = real_data("science") / "responses.csv.gz"
    with pytest.raises(FileFormatError, match=re.escape("outside [0, 1]")):
        read_responses(path)
