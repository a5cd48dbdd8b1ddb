"""Files that appear whole: their permissions."""

import os
import threading

import pytest

from sklearn_mirt.data.files.atomic import replacing


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
