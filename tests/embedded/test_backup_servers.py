"""Backup and restore with servers of one's own: a bucket that is listed, a database that is replaced."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from app.db import copying
from app.db.copying import TableCopy
from app.db.session import Connection
from app.installation.backup import backup
from app.storage.factory import open_storage
from app.storage.protocol import Storage
from tests.embedded.test_cli import assert_one_line, surebox
from tests.faults.rig import SERVER_SECRET, Rig
from tests.s3 import S3Server
from tests.servers import Databases


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    server = S3Server(tmp_path / "s3.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def rig(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Rig]:
    made = Rig(database_url, redis_url, tmp_path)
    yield made
    made.stop()


def count(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM dataset d JOIN job_input i ON i.dataset_id = d.id").fetchone()
    assert row is not None
    return int(row[0])


def put(storage: Storage, key: str, content: bytes = b"PAR1") -> None:
    with storage.writer(key) as writer:
        writer.write(content)


def test_an_entry_that_erasing_rewrites_meanwhile_is_in_the_backup_as_it_is_then(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, key = open_storage(rig.settings), "publications/aa/000000000001/rel_1.json"
    put(storage, key, b"before")
    copy_out = copying.copy_out

    def erasing(connection: Connection, folder: Path) -> list[TableCopy]:
        put(storage, key, b"erased")
        return copy_out(connection, folder)

    monkeypatch.setattr(copying, "copy_out", erasing)
    backup(rig.settings, tmp_path / "backup", copy=True, say=lambda _: None)
    assert (tmp_path / "backup" / "storage" / key).read_bytes() == b"erased"


@pytest.mark.long
def test_a_listed_bucket_and_a_replaced_database(
    rig: Rig, s3: S3Server, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    at = {
        "DATABASE_URL": rig.database_url, "STORAGE_URL": f"s3://{s3.bucket}/backup", "SUREBOX_S3_ENDPOINT": s3.endpoint,
        "SUREBOX_S3_ALLOW_HTTP": "true", "SUREBOX_SERVER_SECRET": SERVER_SECRET, **s3.environment,
    }  # fmt: skip
    settings = rig.settings.model_copy(
        update={"storage_url": at["STORAGE_URL"], "s3_endpoint": s3.endpoint, "s3_allow_http": True}
    )
    storage, key = open_storage(settings), f"datasets/{rig.dataset()}/data.parquet"
    put(storage, key)
    for _ in range(3):
        rig.submit()
    folder = tmp_path / "backup"
    done = surebox("backup", str(folder), **at)
    assert done.returncode == 0, done.stderr
    listed = [json.loads(line) for line in (folder / "files.jsonl").read_text().splitlines()]
    assert {"key": key, "bytes": 4, "sha256": None} in listed
    assert not any((folder / "storage").iterdir())
    assert [path for path in folder.rglob("*") if path.stat().st_mode & 0o077] == []

    target = databases.empty()
    elsewhere = at | {"DATABASE_URL": target}
    refused = surebox("restore", str(folder), **(elsewhere | {"SUREBOX_SERVER_SECRET": "o" * 40}))
    assert_one_line(refused, "SUREBOX_SERVER_SECRET is not the secret that the backup was made under")
    done = surebox("restore", str(folder), **elsewhere)
    assert done.returncode == 0, done.stderr
    assert count(target) == count(rig.database_url) == 3
    assert surebox("publishing", "status", **elsewhere).stdout == "releases are published\n", "the bucket has lived on"

    assert_one_line(surebox("restore", str(folder), **elsewhere), "not empty", "--replace")
    with psycopg.connect(target):
        refused = surebox("restore", str(folder), "--replace", **elsewhere)
        assert_one_line(refused, "1 connections to the database are open")
    storage.move(key, f"trash/{key}/2026-01-01")
    done = surebox("restore", str(folder), "--replace", **elsewhere)
    assert done.returncode == 0, done.stderr
    assert "1 files were missing in storage and are there again" in done.stderr, "from the trash"
    assert b"".join(storage.chunks(key)) == b"PAR1"
    storage.delete(key)
    done = surebox("restore", str(folder), "--replace", **elsewhere)
    assert (done.returncode, key in done.stderr) == (1, True), done.stderr
    databases.drop(target)
