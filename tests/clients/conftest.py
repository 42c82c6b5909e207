"""The whole service on one machine, once for all clients; with a rate limit that a test cannot reach."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers import short_folder
from tests.service import Service, serving


@pytest.fixture(scope="package")
def service() -> Iterator[Service]:
    with short_folder() as folder, serving(folder / "data", SUREBOX_REQUESTS_PER_MINUTE="1000000") as running:
        yield running


@pytest.fixture(scope="package")
def served(service: Service) -> dict[str, Any]:
    """The OpenAPI document as the service hands it out; it is made for whoever asks first, who waits."""
    with service.client() as client:
        document: dict[str, Any] = client.get("/openapi.json").raise_for_status().json()
    return document
