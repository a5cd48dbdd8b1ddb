"""Results kept in a folder are computed once and belong to their settings."""

import json

import numpy as np
import pytest

from sklearn_mirt.data.files.kept_results import KeptResults, digest, is_kept_folder


@pytest.fixture
def result():
    return {
        "abilities": np.arange(3.0),
        "mdisc": np.float32([[1.5]]),
        "group": np.array(["a", "été"]),
    }


def test_a_result_is_computed_once_and_read_back_bit_for_bit(tmp_path, result):
    assert not is_kept_folder(tmp_path / "new")
    for compute in (lambda: result, pytest.fail):
        kept = KeptResults(tmp_path / "new", {"seed": 1})
        found = kept.get("part", compute)
        assert set(found) == set(result)
        for name, values in result.items():
            np.testing.assert_array_equal(found[name], values)
            assert found[name].dtype == values.dtype
    assert is_kept_folder(tmp_path / "new")


def test_other_settings_are_refused_by_name(tmp_path):
    KeptResults(tmp_path, {"data": "x", "seed": 1, "names": [["a", "b"]]})
    KeptResults(tmp_path, {"data": "x", "seed": 1, "names": [["a", "b"]]})
    with pytest.raises(ValueError, match=r"other data or settings \(different seed\)"):
        KeptResults(tmp_path, {"data": "x", "seed": 2, "names": [["a", "b"]]})
    with pytest.raises(ValueError, match=r"different names, new\)"):
        KeptResults(tmp_path, {"data": "x", "seed": 1, "new": 3})


def test_an_interrupted_task_leaves_no_file(tmp_path, result):
    kept = KeptResults(tmp_path, {})

    def stopped():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept.get("part", stopped)
    assert [path.name for path in tmp_path.iterdir()] == ["kept_results.json"]
    np.testing.assert_array_equal(
        kept.get("part", lambda: result)["group"], result["group"]
    )


def test_no_pickle_is_loaded_from_the_folder(tmp_path):
    KeptResults(tmp_path, {})
    np.savez(tmp_path / "part.npz", values=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        KeptResults(tmp_path, {}).get("part", pytest.fail)


def test_settings_are_readable(tmp_path):
    KeptResults(tmp_path, {"max_iter": 3})
    text = (tmp_path / "kept_results.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"max_iter": 3}


def test_a_digest_depends_on_arrays_and_settings():
    one = digest([np.ones(3)], "a")
    assert one == digest([np.ones(3)], "a")
    assert one != digest([np.zeros(3)], "a")
    assert one != digest([np.ones(3)], "b")
