"""A lost connection to Postgres is a 503, and no socket has a number that is too large to be looked at."""

import os
import resource
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest
from sqlalchemy import text

from app.db.session import Database
from app.errors import UnavailableError

SECONDS = 1.5
QUESTION = text("SELECT count(*) FROM job")


@contextmanager
def resetting(url: str, every: float) -> Iterator[None]:
    """End all other connections to a database again and again."""
    stopped = threading.Event()

    def reset() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not stopped.wait(every):
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )

    thread = threading.Thread(target=reset)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@pytest.mark.parametrize(
    "every", [0.001, pytest.param(0.0003, marks=pytest.mark.long), pytest.param(0.02, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("way", ["read", "unit_of_work", "snapshot"])
def test_connections_that_are_reset_are_a_lost_database_and_no_error_of_ours(
    database_url: str, way: str, every: float
) -> None:
    database = Database(database_url, pool_size=4, timeout=5)
    outcomes: Counter[str] = Counter()

    def one() -> str:
        try:
            with getattr(database, way)() as opened:
                connection = getattr(opened, "connection", opened) if way == "unit_of_work" else opened
                for _ in range(3):
                    connection.execute(QUESTION)
        except UnavailableError:
            return "503"
        except Exception as error:  # noqa: BLE001 - whatever comes would be a 500
            return type(error).__name__
        return "200"

    def ask() -> None:
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            outcomes[one()] += 1

    threads = [threading.Thread(target=ask) for _ in range(4)]
    try:
        with resetting(database_url, every):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert set(outcomes) <= {"200", "503"}, outcomes
        assert outcomes["503"], outcomes
        assert one() == "200"
    finally:
        database.close()


def test_a_connection_whose_socket_has_a_number_above_1024_is_used(database_url: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    database = Database(database_url)
    try:
        with ExitStack() as held:
            while (taken := os.open(os.devnull, os.O_RDONLY)) < 1100:
                held.callback(os.close, taken)
            held.callback(os.close, taken)
            with database.unit_of_work() as unit:
                number = unit.connection.connection.dbapi_connection.fileno()  # type: ignore[union-attr]
                first = unit.connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            assert number > 1024
            with database.read() as connection:
                assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() == first
    finally:
        database.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
