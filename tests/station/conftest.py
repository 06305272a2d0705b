"""The library's scenarios, and a little one that compiles fast, as the command gives them to the station."""

import time
from pathlib import Path

import pytest

from hydromechs.cli._pilot import catalog as commands_catalog
from hydromechs.station import configured

LITTLE = Path(__file__).parent / "files" / "little.yaml"


@pytest.fixture(scope="session")
def catalog():
    return commands_catalog(str(LITTLE))


@pytest.fixture(scope="session")
def little(catalog):
    """A little vehicle with an arm and a ball, to be flown."""
    return configured(catalog, "little")


def until(condition, seconds=20.0):
    """Return True if a condition becomes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@pytest.fixture(name="until", scope="session")
def _until():
    return until
