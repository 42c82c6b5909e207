from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.contracts.base import new_id
from app.embedded.broker import BrokerServer
from app.methods.catalogue import METHODS
from tests.jobs.service import Service, settings_of
from tests.servers import Databases


@pytest.fixture(autouse=True)
def _boxes_are_put_to_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases that tests of `many` name can be put to it."""
    boxes = METHODS["boxes"]
    monkeypatch.setitem(METHODS, "boxes", replace(boxes, answers=boxes.answers | {"many"}))


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


@pytest.fixture(scope="session")
def one_service(
    databases: Databases, broker_server: BrokerServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    url = databases.fresh()
    service = Service(settings_of(url, broker_server.tcp_url(), tmp_path_factory.mktemp("storage")))
    service.start()
    yield service
    service.stop()
    databases.drop(url)


@pytest.fixture
def shared(one_service: Service) -> Service:
    """One API process for all tests that only ask questions; each test is an owner of its own."""
    one_service.owner = new_id("owner")
    return one_service
