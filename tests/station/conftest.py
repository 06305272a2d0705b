"""A catalog of the library's scenarios, as the command gives it to the station."""

import pytest

from hydromechs.cli._pilot import catalog as library_catalog


@pytest.fixture(scope="session")
def catalog():
    return library_catalog()
