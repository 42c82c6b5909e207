"""Fixtures every test may use: real servers, one of each per test process."""

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import settings
from xdist.remote import Producer

from app.embedded.broker import BrokerServer
from app.embedded.postgres import PostgresServer
from tests.drawing import LONG, examples
from tests.servers import Databases, new_broker, new_postgres, short_folder
from tests.service import Service
from tests.sharing import ByFolder, turn

pytest_plugins = ["tests.whole_service", "tests.browser"]

#: How long an example takes says nothing on a machine that is busy, or compiles a kernel. `make test` draws the same
#: examples each time: a property that fails for one draw in a thousand is found by `make long`.
settings.register_profile("surebox", deadline=None, derandomize=not LONG, max_examples=examples(100))
settings.load_profile("surebox")

# As in workers: several processes share the cores, and threads that spin for their turn take what others need.
for _library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFolder:
    return ByFolder(config, log)


def pytest_report_header() -> str:
    return f"examples are drawn anew: SUREBOX_LONG={LONG} repeats them" if LONG else "examples are the same each time"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: turn(item.nodeid))
    heavy = [] if LONG else [item for item in items if item.get_closest_marker("long")]
    if heavy:
        config.hook.pytest_deselected(items=heavy)
        items[:] = [item for item in items if item not in heavy]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows what the services that it used have logged: why a job failed stands there only."""
    report = yield
    if report.failed:
        for name, used in getattr(item, "funcargs", {}).items():
            if isinstance(used, Service):
                report.sections.append((f"log of the fixture {name}", used.logs()))
    return report


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The Postgres of this test session. Do not stop it: `own_postgres` is for that."""
    with short_folder() as folder:
        server = new_postgres(folder)
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="session")
def postgres_url(postgres_server: PostgresServer) -> str:
    """The maintenance database of the session's Postgres."""
    return postgres_server.url("postgres")


@pytest.fixture(scope="session")
def databases(postgres_server: PostgresServer) -> Databases:
    """Makes databases on the session's Postgres: `fresh()` (migrated), `empty()`."""
    return Databases(postgres_server)


@pytest.fixture
def database(databases: Databases) -> Iterator[Callable[[], str]]:
    """A factory of fresh migrated databases (their URLs), dropped when the test ends."""
    made: list[str] = []

    def make() -> str:
        made.append(databases.fresh())
        return made[-1]

    yield make
    for url in made:
        databases.drop(url)


@pytest.fixture
def database_url(database: Callable[[], str]) -> str:
    """The URL of one fresh migrated database."""
    return database()


@pytest.fixture(scope="session")
def broker_server() -> Iterator[BrokerServer]:
    """The Valkey of this test session. Do not stop it: `own_broker` is for that."""
    with short_folder() as folder:
        server = new_broker(folder)
        server.start()
        yield server
        server.stop()


@pytest.fixture
def redis_url(broker_server: BrokerServer) -> str:
    """The session's Valkey, emptied for this test."""
    url = broker_server.tcp_url()
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return url


@pytest.fixture
def server_folder() -> Iterator[Path]:
    """A folder for servers of one's own; its path is short enough for Unix sockets."""
    with short_folder() as folder:
        yield folder


@pytest.fixture
def own_postgres(server_folder: Path) -> Iterator[PostgresServer]:
    """A started Postgres of one's own (socket and TCP), to stop, kill and start again at the same address."""
    server = new_postgres(server_folder, tcp=True)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def own_broker(server_folder: Path) -> Iterator[BrokerServer]:
    """A started Valkey of one's own (socket and TCP), to stop, kill and start again at the same address."""
    server = new_broker(server_folder)
    server.start()
    yield server
    server.stop()
