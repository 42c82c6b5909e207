"""A real API process of one's own: uvicorn on a free port, on a fresh database and the session's broker."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from app.api.protocol import ProblemProtocol
from app.auth.keys import KeyInfo, create_key
from app.db.session import Database
from app.main import create_app
from app.settings import Settings
from tests import patient

SECRET = "a secret of tests with more than 32 characters"


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve an app on a free port; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, http=ProblemProtocol, log_config=None, access_log=False, ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 60
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.started, "the app did not start"
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive(), "the app did not stop"


@dataclass(frozen=True)
class Api:
    """An API under test."""

    url: str
    app: FastAPI
    settings: Settings
    database: Database

    def make_key(self, owner: str = "alice", scopes: tuple[str, ...] = ("admin",)) -> str:
        """A new key."""
        return self.make_key_info(owner, scopes)[1]

    def make_key_info(self, owner: str = "alice", scopes: tuple[str, ...] = ("admin",)) -> tuple[KeyInfo, str]:
        """A new key and what is shown of it."""
        return create_key(
            database=self.database,
            secret=self.settings.server_secret,
            owner=owner,
            scopes=scopes,
            name="test",
            now=datetime.now(UTC),
        )

    @contextmanager
    def client(self, key: str | None = None) -> Iterator[httpx.Client]:
        """A client that sends a key."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with patient.Client(base_url=self.url, headers=headers, timeout=60) as client:
            yield client


@pytest.fixture
def make_settings(database_url: str, redis_url: str, tmp_path: Path) -> Callable[..., Settings]:
    """Settings of a service of one's own."""

    def make(**changed: Any) -> Settings:
        given = {
            "database_url": database_url,
            "redis_url": redis_url,
            "storage_url": f"file:{tmp_path / 'storage'}",
            "server_secret": SECRET,
        }
        return Settings(**{**given, **changed})

    return make


@pytest.fixture
def start(make_settings: Callable[..., Settings]) -> Iterator[Callable[..., Any]]:
    """Start an API with settings of one's own: `with start(requests_per_minute=3) as api`."""

    @contextmanager
    def starting(prepare: Callable[[FastAPI], None] | None = None, **changed: Any) -> Iterator[Api]:
        settings = make_settings(**changed)
        app = create_app(settings)
        if prepare is not None:
            prepare(app)
        database = Database(settings.database_url, pool_size=4)
        try:
            with serving(app) as url:
                yield Api(url=url, app=app, settings=settings, database=database)
        finally:
            database.close()

    return starting


@pytest.fixture
def api(start: Callable[..., Any]) -> Iterator[Api]:
    """An API with the settings of tests."""
    with start() as started:
        yield started


@pytest.fixture
def make_key(api: Api) -> Callable[..., str]:
    """Makes keys: `make_key("alice", ("jobs:read",))`."""
    return api.make_key


@pytest.fixture
def client(api: Api) -> Iterator[httpx.Client]:
    """A client of Alice, who may do everything that is hers."""
    with api.client(api.make_key()) as made:
        yield made
