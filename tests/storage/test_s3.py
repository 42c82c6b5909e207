"""What only S3 has: multipart uploads, a service that goes away."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.errors import UnavailableError
from app.settings import Settings
from app.storage.factory import open_storage
from app.storage.protocol import Storage
from tests.s3 import S3Server


def put(storage: Storage, key: str, *, megabytes: int, at_the_end: Callable[[], None]) -> None:
    with storage.writer(key) as writer:
        for _ in range(megabytes):
            writer.write(os.urandom(1 << 20))
        at_the_end()


def test_a_failed_writer_aborts_its_multipart_upload(s3_storage: Storage, s3_server: S3Server) -> None:
    def fail() -> None:
        assert s3_server.unfinished_uploads() == 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        put(s3_storage, "staging/a", megabytes=40, at_the_end=fail)
    assert s3_server.unfinished_uploads() == 0


def test_a_finished_writer_leaves_no_multipart_upload(s3_storage: Storage, s3_server: S3Server) -> None:
    with s3_storage.writer("staging/a") as writer:
        for _ in range(20):
            writer.write(os.urandom(1 << 20))
    assert s3_server.unfinished_uploads() == 0
    assert s3_storage.sweep(before=datetime.now(UTC)) == 0


def test_a_bucket_that_does_not_exist_is_not_healthy(s3_storage: Storage, s3_server: S3Server) -> None:
    settings = Settings(storage_url="s3://no-such-bucket/x", s3_endpoint=s3_server.endpoint, s3_allow_http=True)
    with pytest.raises(UnavailableError):
        open_storage(settings).check()


def test_a_service_that_went_away_is_unavailable(s3_storage: Storage, tmp_path: Path) -> None:
    own = S3Server(tmp_path / "own.log")
    own.start()
    try:
        storage = open_storage(Settings(storage_url=f"s3://{own.bucket}", s3_endpoint=own.endpoint, s3_allow_http=True))
        with storage.writer("staging/a") as writer:
            writer.write(b"x")
        with pytest.raises(UnavailableError):
            put(storage, "staging/b", megabytes=20, at_the_end=own.stop)
        for use in (
            storage.check,
            lambda: storage.chunks("staging/a"),
            lambda: list(storage.list("staging/")),
            lambda: storage.delete("staging/a"),
        ):
            with pytest.raises(UnavailableError):
                use()
    finally:
        own.stop()


def test_an_error_of_what_is_being_stored_stays_what_it_is(s3_storage: Storage, s3_server: S3Server) -> None:
    def fail() -> None:
        raise PermissionError(13, "the file behind it cannot be read")

    with pytest.raises(PermissionError):
        put(s3_storage, "staging/a", megabytes=20, at_the_end=fail)
    assert s3_server.unfinished_uploads() == 0
