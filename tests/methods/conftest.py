"""One whole service for all tests of methods, as a person starts it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.servers import short_folder
from tests.service import serving

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    """A client of a service that was started for these tests."""
    with (
        short_folder() as folder,
        serving(folder / "data", SUREBOX_REQUESTS_PER_MINUTE="100000") as service,
        service.client() as client,
    ):
        yield client


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real microdata beside the project."""
    if not SHARED.is_dir():
        pytest.skip("the folder of real microdata (../shared/data) is not on this machine")
    return SHARED
