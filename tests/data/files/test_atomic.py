"""Files that appear whole: their permissions."""

import os
import threading

import pytest

from sklearn_mirt.data.files.atomic import moved_into, replacing


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_files_have_the_permissions_of_the_umask_whatever_other_threads_write(tmp_path):
    """Asking for the umask once meant clearing it for all threads for a moment."""
    before = os.umask(0o027)
    try:
        threads = [
            threading.Thread(target=_write_some, args=(tmp_path, k)) for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {0o640}
    assert len(list(tmp_path.iterdir())) == 100


def _write_some(folder, k):
    for n in range(25):
        with replacing(folder / f"{k}-{n}.txt", force=False) as scratch:
            scratch.write_text("x")


def test_files_move_into_a_folder_together_or_not_at_all(tmp_path):
    folder = tmp_path / "new" / "folder"
    with moved_into(folder) as scratch:
        (scratch / "a.txt").write_text("1")
    (folder / "mine.txt").write_text("x")
    with moved_into(folder) as scratch:
        (scratch / "a.txt").write_text("2")
    with pytest.raises(ZeroDivisionError), moved_into(folder) as scratch:
        (scratch / "a.txt").write_text("3")
        _ = 1 / 0
    assert {p.name: p.read_text() for p in folder.iterdir()} == {
        "a.txt": "2",
        "mine.txt": "x",
    }
    assert [p.name for p in folder.parent.iterdir()] == ["folder"]
