"""Items written for other programs."""

import numpy as np

from sklearn_mirt import ItemBank, ItemParameters
from sklearn_mirt.banks.interchange import read_mirt_table, write_mirt_table


def test_items_for_r_can_be_written_for_a_spreadsheet(tmp_path):
    ids = np.array(["=q", "-1", "plain"], dtype=object)
    items = ItemParameters(
        np.full((3, 1), 0.1),
        np.array([-0.5, 0.0, 1.0]),
        np.zeros(3),
        np.zeros((3, 2, 2)),
        ids,
    )
    path = tmp_path / "items.csv"
    write_mirt_table(ItemBank.from_items(items), path, guard_formulas=True)
    assert path.read_text().splitlines()[1] == '"\'=q","0.1","-0.5","0","1"'
    back = read_mirt_table(path).items
    assert back.ids.tolist() == ["'=q", "'-1", "plain"]
    assert back.intercepts.tolist() == [-0.5, 0.0, 1.0]
