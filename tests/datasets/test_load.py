"""What an upload costs: memory of the API that does not grow with it, on either storage, and a disk that is full."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from app.embedded.broker import BrokerServer
from tests import patient
from tests.processes import Processes, processes
from tests.s3 import S3Server
from tests.stored import stored
from tests.tmpfs import small_file_system

BLOCK = b"".join(b"%d,%d,some text\n" % (i, i * 7919 % 1_000_003) for i in range(50_000))
MEGABYTE = 1 << 20
UPLOAD_BYTES = 500_000_000


def blocks(size: int) -> Iterator[bytes]:
    """About that many bytes of CSV."""
    yield b"a,b,c\n"
    for _ in range(size // len(BLOCK)):
        yield BLOCK


def client(running: Processes, address: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {running.key()}", "Content-Type": "text/csv", "Prefer": "respond-async"}
    return patient.Client(base_url=address, headers=headers, timeout=300)


@pytest.fixture(params=["local", "s3"])
def running(
    request: pytest.FixtureRequest, database_url: str, broker_server: BrokerServer, tmp_path: Path
) -> Iterator[Processes]:
    """An API on a storage of either kind; nobody reads what it stages."""
    settings: dict[str, str] = {}
    server = None
    if request.param == "s3":
        server = S3Server(tmp_path / "s3.log")
        server.start()
        settings = {
            "STORAGE_URL": f"s3://{server.bucket}/load",
            "SUREBOX_S3_ENDPOINT": server.endpoint,
            "SUREBOX_S3_ALLOW_HTTP": "true",
            **server.environment,
        }
    with processes(tmp_path, database_url=database_url, redis_url=broker_server.tcp_url(), **settings) as made:
        yield made
    if server is not None:
        server.stop()


def test_the_api_does_not_grow_with_an_upload(running: Processes) -> None:
    address, process = running.api()
    with client(running, address) as uploader:
        # The first upload loads code and fills pools; what is measured is growth with size.
        assert uploader.post("/v1/datasets", content=blocks(20_000_000)).status_code == 202
        memory = psutil.Process(process.pid)
        before = memory.memory_info().rss
        peak = before

        def measured() -> Iterator[bytes]:
            nonlocal peak
            for block in blocks(UPLOAD_BYTES):
                yield block
                peak = max(peak, memory.memory_info().rss)

        answer = uploader.post("/v1/datasets", content=measured())
        peak = max(peak, memory.memory_info().rss)
    assert answer.status_code == 202, answer.text
    assert answer.json()["bytes"] > 0.98 * UPLOAD_BYTES
    assert peak - before < 50 * MEGABYTE


def test_a_full_disk_is_507_and_leaves_room_for_the_next(
    database_url: str, broker_server: BrokerServer, tmp_path: Path
) -> None:
    with (
        small_file_system(tmp_path / "small", megabytes=8) as folder,
        processes(
            tmp_path,
            database_url=database_url,
            redis_url=broker_server.tcp_url(),
            STORAGE_URL=f"file:{folder}",
        ) as running,
        client(running, (running.api())[0]) as uploader,
    ):
        answer = uploader.post("/v1/datasets", content=b"".join(blocks(20_000_000)))
        assert answer.status_code == 507, answer.text
        assert answer.json()["type"] == "/problems/storage-full"
        assert "no room" in answer.json()["detail"]
        assert stored(folder) == [folder / "installation" / "id"], "nothing of an upload"
        assert uploader.get("/v1/datasets").json()["items"] == []
        assert uploader.post("/v1/datasets", content=b"".join(blocks(4_000_000))).status_code == 202
        with (folder / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while filler.write(os.urandom(4096)):
                pass
        assert uploader.post("/v1/datasets", content=b"a\n1\n").status_code == 507
