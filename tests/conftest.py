"""Fixtures and settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first example of a property may pay for a numba compilation: no deadline. `make
# test` tries the same 50 examples each time, `make test-quick` 15, `make nightly` 1,000
# other ones.
# `make mutants` runs a test again and again in one process, each time as a new object.
_UNCHECKED = [HealthCheck.too_slow, HealthCheck.differing_executors]
_COMMON = {"deadline": None, "suppress_health_check": _UNCHECKED}
settings.register_profile("test", max_examples=50, derandomize=True, **_COMMON)
settings.register_profile("quick", max_examples=15, derandomize=True, **_COMMON)
settings.register_profile("nightly", max_examples=1000, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))


def _real_data_folder() -> Path | None:
    """Folder of the real response sets, or None where it is not on this machine."""
    named = os.environ.get("SKLEARN_MIRT_DATA")
    return Path(named) if named else None


@pytest.fixture(scope="session")
def real_data():
    """Function from the name of a real response set to its folder.

    Skips the calling test where the environment variable SKLEARN_MIRT_DATA is not set
    or the set is not there: the data may not be redistributed with the package.
    """
    folder = _real_data_folder()

    def find(name: str) -> Path:
        if folder is None:
            pytest.skip("SKLEARN_MIRT_DATA is not set: real response sets unavailable")
        if not (folder / name / "responses.csv.gz").exists():
            pytest.skip(f"no response set {name!r} in SKLEARN_MIRT_DATA ({folder})")
        return folder / name

    return find
