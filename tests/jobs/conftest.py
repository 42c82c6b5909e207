from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.service import Service, settings_of


@pytest.fixture
def serve(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start API processes on one database; settings as keywords."""
    started: list[Service] = []

    def start(**more: Any) -> Service:
        service = Service(
            settings_of(more.pop("database_url", database_url), more.pop("redis_url", redis_url), tmp_path, **more)
        )
        service.start()
        started.append(service)
        return service

    yield start
    for service in started:
        service.stop()


@pytest.fixture
def service(serve: Callable[..., Service]) -> Service:
    """One API process on a fresh database."""
    return serve()
