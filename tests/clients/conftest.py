"""The whole service on one machine, once for all clients; with a rate limit that a test cannot reach."""

from collections.abc import Iterator

import pytest

from tests.servers import short_folder
from tests.service import Service, serving


@pytest.fixture(scope="package")
def service() -> Iterator[Service]:
    with short_folder() as folder, serving(folder / "data", SUREBOX_REQUESTS_PER_MINUTE="1000000") as running:
        yield running
