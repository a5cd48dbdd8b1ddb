"""Item banks on full disks, on devices, and of writers that are killed."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from interpreters import LIMITED, limits, options, python_with_mounts
from item_banks import a_bank

from sklearn_mirt import load_item_bank, save_item_bank

SUPPORT = str(Path(__file__).parents[1] / "support")
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::sklearn_mirt.exceptions.ResponseDataWarning",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bank.json", "bank.parquet"])
def test_a_full_disk_leaves_the_old_item_bank_whole(tmp_path, name):
    path = tmp_path / name
    code = f"""
        import errno, os, sys
        sys.path.insert(0, {SUPPORT!r})
        from item_banks import a_bank
        from sklearn_mirt import load_item_bank, save_item_bank
        save_item_bank(a_bank(3), {str(path)!r})
        try:
            save_item_bank(a_bank(20_000), {str(path)!r}, force=True)
        except OSError as error:
            assert error.errno == errno.ENOSPC or "space" in str(error), error
        else:
            raise SystemExit("there was room")
        kept = load_item_bank({str(path)!r}).items.n_items
        print(kept, os.listdir({str(tmp_path)!r}))
    """
    mounts = f"mount -t tmpfs -o size=64k tmpfs {tmp_path}"
    assert python_with_mounts(mounts, code) == f"3 ['{name}']\n"


@limits
@pytest.mark.parametrize("name", ["bank.json", "bank.parquet"])
@pytest.mark.parametrize("killed", [False, True])
def test_no_room_in_the_middle_of_an_item_bank_leaves_the_old_one(
    tmp_path, name, killed
):
    """At byte 8,000 the system refuses to write, or kills who writes."""
    path = tmp_path / name
    save_item_bank(a_bank(3), path)
    code = f"""
import sys
sys.path.insert(0, {SUPPORT!r})
from item_banks import a_bank
from sklearn_mirt import save_item_bank
if {killed}:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
save_item_bank(a_bank(20_000), {str(path)!r}, force=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(size=8000) + code], **options({})
    )
    if killed:
        assert done.returncode == -signal.SIGXFSZ
        cut = [p.stat().st_size for p in tmp_path.iterdir() if p != path]
        assert len(cut) == 1 and cut[0] > 0  # it was in the middle
    else:
        assert "File too large" in done.stderr
        assert os.listdir(tmp_path) == [name]
    assert load_item_bank(path).items.n_items == 3


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_device_is_not_replaced_by_a_file():
    for force in (False, True):
        with pytest.raises(FileExistsError, match="device or a pipe"):
            save_item_bank(a_bank(1), "/dev/full", force=force)
    assert not os.path.isfile("/dev/full")


def test_a_file_that_cannot_be_made_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        save_item_bank(a_bank(1), tmp_path / "none" / "bank.json")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_while_writing_an_item_bank_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "bank.json"
    code = f"""
        import sys
        sys.path.insert(0, {SUPPORT!r})
        from item_banks import a_bank
        from sklearn_mirt import save_item_bank
        banks = [a_bank(300, float(k)) for k in range(2)]
        save_item_bank(banks[0], {str(path)!r})
        print("ready", flush=True)
        while True:
            for bank in banks:
                save_item_bank(bank, {str(path)!r}, force=True)
    """
    for wait in (0.02, 0.05):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout.readline() == "ready\n"
            threading.Event().wait(wait)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        bank = load_item_bank(path)
        assert bank.items.n_items == 300
        assert set(bank.items.intercepts) in ({0.0}, {1.0})
        path.unlink()
