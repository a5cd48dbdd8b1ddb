"""Code in new interpreters: with limits on files, or with other file systems."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

# larger files are refused with an OSError, or end the process by SIGXFSZ
LIMITED = """
import resource, signal
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
"""
limits = pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limits here")


def python(code, **environment):
    """Run code in a new interpreter; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        **options(environment),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def python_with_mounts(mounts, code, **environment):
    """Run code with file systems mounted that no other process sees."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here: file systems cannot be mounted for a test")
    unshare = ["unshare", "--mount"]
    if os.geteuid() != 0:  # root of a private name space
        unshare += ["--user", "--map-root-user"]
    probe = subprocess.run(
        [*unshare, "sh", "-c", mounts], capture_output=True, check=False
    )
    if probe.returncode:
        pytest.skip(f"mounting is not permitted here: {probe.stderr.decode().strip()}")
    command = f'{mounts} && exec "$0" -W ignore -c "$1"'
    done = subprocess.run(
        [*unshare, "sh", "-c", command, sys.executable, textwrap.dedent(code)],
        **options(environment),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def options(environment):
    """Return the options of `subprocess.run` for a test."""
    return {
        "capture_output": True,
        "text": True,
        "timeout": 300,
        "check": False,
        "env": {**os.environ, **environment},
    }
