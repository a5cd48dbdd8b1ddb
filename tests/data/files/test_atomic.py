"""Files and folders that appear whole or not at all."""

import os
import threading

import pytest

from sklearn_mirt.data.files.atomic import filling, refuse_existing, replacing


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


def test_a_folder_is_filled_at_once_and_keeps_its_other_files(tmp_path):
    folder = tmp_path / "new" / "out"
    for text in ("one", "two"):
        with filling(folder) as scratch:
            (scratch / "a.txt").write_text(text)
            assert scratch.parent == folder.parent
        (folder / "mine.txt").touch()
        assert (folder / "a.txt").read_text() == text
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "mine.txt"]
    assert list(folder.parent.iterdir()) == [folder]


def test_a_folder_is_not_filled_by_half(tmp_path):
    with pytest.raises(OSError, match="full"), filling(tmp_path / "out") as scratch:
        (scratch / "a.txt").write_text("half")
        raise OSError("the disk is full")
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_names_the_option_that_replaces_the_file(tmp_path):
    path = tmp_path / "mine.csv"
    path.touch()
    with pytest.raises(FileExistsError, match="; force replaces it"):
        refuse_existing(path, force=False)
    with pytest.raises(FileExistsError, match="; --force replaces it"):
        refuse_existing(path, force=False, option="--force")
