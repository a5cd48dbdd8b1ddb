"""The folder of fetched files."""

import pytest

from sklearn_mirt.datasets.fetching import fetch_file


def test_a_fetched_file_cannot_lead_out_of_the_cache(tmp_path):
    for name in ("../x", "a/../../x", str(tmp_path.parent / "x")):
        with pytest.raises(ValueError, match="leads out of the folder"):
            fetch_file("http://localhost:9/x", name, folder=tmp_path / "cache")
    assert not (tmp_path / "x").exists()
