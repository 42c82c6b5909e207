"""The archive of Postgres' log by docs/operate/operations.md: a base backup, segments, a moment between."""

import shutil
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from pydantic import SecretStr

from app.auth.keys import create_key, list_keys
from app.db.session import Database
from app.embedded.binaries import postgres_program
from app.embedded.postgres import PostgresServer
from tests.servers import Databases, new_postgres


def ask(url: str, statement: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement).fetchone()
        return None if row is None else row[0]


def set_up(server: PostgresServer, **settings: str) -> None:
    """Append to the configuration of a server that does not run."""
    with (server.folder / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())


def make_key(database: Database, name: str) -> None:
    params = {"owner": "o", "scopes": ["admin"], "name": name, "now": datetime.now(UTC)}
    create_key(database=database, secret=SecretStr("s" * 40), **params)


def wait_archived(url: str) -> None:
    """Until the segment that is being written now lies in the archive."""
    segment = ask(url, "SELECT pg_walfile_name(pg_switch_wal())")
    deadline = time.monotonic() + 60
    while (ask(url, "SELECT last_archived_wal FROM pg_stat_archiver") or "") < segment:
        assert time.monotonic() < deadline, "nothing was archived"
        time.sleep(0.05)


def test_an_archive_brings_back_any_moment_after_the_base_backup(server_folder: Path) -> None:
    archive, base = server_folder / "archive", server_folder / "base"
    archive.mkdir()
    server = new_postgres(server_folder)
    server.start()
    url = Databases(server).fresh()
    server.stop()
    keep = f"test ! -f {archive}/%f && cp %p {archive}/%f.part && mv {archive}/%f.part {archive}/%f"
    set_up(server, wal_level="replica", archive_mode="on", archive_timeout="60", archive_command=keep)
    server.start()
    database = Database(url, pool_size=1)
    make_key(database, "before the base backup")
    command = [postgres_program("pg_basebackup"), "--dbname", server.url("postgres"), "--pgdata", base]
    done = subprocess.run([*map(str, command), "--checkpoint=fast"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    make_key(database, "before the accident")
    moment = str(ask(url, "SELECT clock_timestamp()"))
    make_key(database, "after it")
    wait_archived(url)
    database.close()
    server.kill()

    shutil.rmtree(server.folder)
    base.rename(server.folder)
    set_up(
        server, restore_command=f"cp {archive}/%f %p", recovery_target_time=moment, recovery_target_action="promote"
    )  # fmt: skip
    (server.folder / "recovery.signal").touch()
    server.start()
    try:
        database = Database(url, pool_size=1)
        deadline = time.monotonic() + 60
        while ask(url, "SELECT pg_is_in_recovery()"):
            assert time.monotonic() < deadline, server.log.read_text()[-2000:]
            time.sleep(0.05)
        assert [info.name for info in list_keys(database=database)] == ["before the base backup", "before the accident"]
        make_key(database, "it goes on")
        database.close()
    finally:
        server.stop()
