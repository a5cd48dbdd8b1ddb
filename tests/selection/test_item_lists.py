"""Lists of selected items, written to files."""

import pandas as pd

from sklearn_mirt.data.files.write import write_item_list


def test_a_list_of_items_can_be_written_for_a_spreadsheet(tmp_path):
    items = pd.DataFrame({"benchmark": "=b", "doc_id": 3}, index=["@x", "plain"])
    write_item_list(items, tmp_path / "plain.csv")
    write_item_list(items, tmp_path / "safe.csv", guard_formulas=True)
    assert (tmp_path / "plain.csv").read_text().splitlines()[1] == "@x,=b,3"
    assert (tmp_path / "safe.csv").read_text().splitlines()[1] == '"\'@x","\'=b","3"'
