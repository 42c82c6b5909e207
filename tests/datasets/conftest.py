from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.embedded.broker import BrokerServer
from app.storage.protocol import Storage
from tests import patient
from tests.processes import Processes, processes
from tests.servers import Databases

MAX_BYTES = 30_000_000
LIMITS = {
    "SUREBOX_MAX_UPLOAD_BYTES": str(MAX_BYTES),
    "SUREBOX_MAX_COLUMNS": "200",
    "SUREBOX_MAX_FIELD_BYTES": "10000",
    "SUREBOX_HOUSEKEEPING_SECONDS": "0.5",
}


@dataclass(frozen=True)
class Uploads:
    """A running service that takes uploads, and a client of one owner."""

    processes: Processes
    address: str
    client: httpx.Client
    storage: Storage

    def post(self, content: Any, name: str = "test", content_type: str = "text/csv", **more: Any) -> httpx.Response:
        """Upload a body."""
        headers = {"Content-Type": content_type} | more.pop("headers", {})
        params = httpx.QueryParams(more.pop("params", None)).merge({"name": name})
        return self.client.post("/v1/datasets", content=content, params=params, headers=headers, **more)

    def staged(self) -> list[str]:
        """What lies in staging, unfinished files included."""
        return [entry.key for entry in self.storage.list("staging/")] + self.partial()

    def partial(self) -> list[str]:
        """Unfinished files of the local storage."""
        return [path.name for path in self._folder.joinpath(".partial").iterdir()]

    def stored(self, dataset_id: str) -> list[str]:
        """What is stored of a dataset."""
        return [entry.key for entry in self.storage.list(f"datasets/{dataset_id}/")]

    @property
    def _folder(self) -> Path:
        return Path(self.processes.settings["STORAGE_URL"].removeprefix("file:"))


@pytest.fixture(scope="session")
def service(
    databases: Databases, broker_server: BrokerServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Processes, str]]:
    """API, interactive worker and housekeeping; one of each per test session."""
    folder = tmp_path_factory.mktemp("datasets")
    url = databases.fresh()
    limits = LIMITS | {"SUREBOX_STAGING_DIR": str(folder / "scratch")}
    with processes(folder, database_url=url, redis_url=broker_server.tcp_url(), **limits) as made:
        made.worker("interactive")
        made.start("housekeeping", log="housekeeping")
        yield made, made.api()[0]
    databases.drop(url)


@pytest.fixture
def make_uploads(service: tuple[Processes, str]) -> Iterator[Callable[..., Uploads]]:
    """More owners, and other API processes, of the same service."""
    running, address = service
    clients: list[httpx.Client] = []

    def make(address: str = address, **key: Any) -> Uploads:
        headers = {"Authorization": f"Bearer {running.key(**key)}"}
        clients.append(patient.Client(base_url=address, headers=headers, timeout=180))
        return Uploads(running, address, clients[-1], running.storage())

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def uploads(make_uploads: Callable[..., Uploads]) -> Uploads:
    """The service as a new owner sees it."""
    return make_uploads()
