"""The Python client where things break: whatever happens there is one dataset, one job, and the same bytes."""

import hashlib
import io
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
import pytest

from app.embedded.folder import DataFolder
from surebox_client import Surebox, plans
from surebox_client.errors import ConnectionFailedError
from tests.clients.relay import relaying
from tests.servers import short_folder
from tests.service import Service, serving

LIMIT = 10
SETTINGS = {
    "SUREBOX_REQUESTS_PER_MINUTE": str(LIMIT),
    "SUREBOX_HEARTBEAT_SECONDS": "0.5",
    "SUREBOX_HEARTBEAT_TIMEOUT_SECONDS": "10",
    "SUREBOX_HOUSEKEEPING_SECONDS": "0.5",
    "SUREBOX_REQUEUE_AFTER_SECONDS": "3",
}


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"age": rng.integers(18, 80, rows), "wage": rng.normal(3_000, 600, rows).round(1)})


@pytest.fixture(scope="module")
def strained() -> Iterator[Service]:
    """A service that lets nobody ask more than ten times a minute, and soon notices that a worker has died."""
    with short_folder() as folder, serving(folder / "data", **SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def limited(strained: Service) -> Iterator[dict[str, Any]]:
    """A whole flow of an owner who has used up the minute; it waits in a thread while other tests run."""
    seen: dict[str, Any] = {}

    def flow() -> None:
        with Surebox(strained.address, key=strained.new_key("sdk-limited")) as sb:
            for _ in range(LIMIT):
                sb.get("/v1/owner")
            began = time.monotonic()
            dataset = sb.upload(table(300, 1), name="limited")
            seen["waited"] = time.monotonic() - began
            release = sb.boxes(dataset, quasi_identifiers=["age", "wage"], k=10, publish="auto").wait().release
            seen["rows"] = release["rows"]
            seen["datasets"], seen["jobs"] = len([*sb.datasets()]), len([*sb.jobs()])

    thread = threading.Thread(target=flow, daemon=True)
    thread.start()
    yield seen
    thread.join(1)


def processes(service: Service, name: str) -> list[psutil.Process]:
    """Processes of a service by what the system calls them."""
    everyone = psutil.Process(DataFolder(service.folder).running().pid).children(recursive=True)
    return [each for each in everyone if each.name() == name]


def test_a_flow_begins_that_must_wait_for_its_minute(limited: dict[str, Any]) -> None:
    assert "waited" not in limited


class Deadly(io.BytesIO):
    """A file in the middle of which, at its first reading, the API is killed."""

    def __init__(self, data: bytes, kill: Any) -> None:
        super().__init__(data)
        self._kill = kill

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if self._kill is not None and self.tell() > len(self.getvalue()) // 2:
            kill, self._kill = self._kill, None
            kill()
        return data


def test_the_api_is_killed_amid_an_upload(strained: Service) -> None:
    data = b"age,wage\n" + b"".join(b"%d,%d\n" % (18 + i % 60, i * 7919 % 50_003) for i in range(150_000))

    def kill() -> None:
        (api,) = processes(strained, "surebox-api")
        api.kill()
        api.wait(30)

    with Surebox(strained.address, key=strained.new_key("sdk-killed")) as sb:
        dataset = sb.upload(Deadly(data, kill), format="csv", name="killed")
        assert dataset["sha256"] == hashlib.sha256(data).hexdigest()
        assert [each.id for each in sb.datasets()] == [dataset.id]


def test_a_worker_is_killed_amid_a_job(strained: Service) -> None:
    with Surebox(strained.address, key=strained.new_key("sdk-worker")) as sb:
        dataset = sb.upload(table(30_000, 2))
        job = sb.boxes(
            dataset, quasi_identifiers=["age", "wage"], k=5, statistics=["mean(wage)", "correlation(age, wage)"]
        )
        for event in job.events():
            if event["state"] == "running":
                for each in processes(strained, "surebox-batch"):
                    if each.is_running():
                        os.kill(each.pid, signal.SIGKILL)
                break
        amid = sb.job(job.id).state == "running"  # else it was quicker than the signal
        job.wait(timeout=400)
        assert job["attempts"] == (2 if amid else 1)
        assert [each.id for each in sb.jobs()] == [job.id]
        assert job.release["rows"] == 30_000


def test_a_relay_cuts_downloads_and_holds_events_back(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "SILENCE", 2.0)
    key = service.new_key("sdk-relay")
    with (
        relaying(service.address, cut_after=20_000, hold_events=True) as relay,
        Surebox(relay.address, key=key) as sb,
        Surebox(service.address, key=key) as straight,
    ):
        dataset = sb.upload(table(4_000, 3))
        release = sb.boxes(dataset, quasi_identifiers=["age", "wage"], k=5, publish="auto").wait().release
        for form in ("csv", "parquet"):
            file = release["files"].get(form)
            if file is not None:
                path = release.download(tmp_path / f"release.{form}")
                assert (
                    path.read_bytes()
                    == straight.release(release.id).download(tmp_path / f"straight.{form}").read_bytes()
                )
        assert len([*straight.datasets()]) == len([*straight.jobs()]) == 1
    assert relay.cut >= 2
    assert [each for each in relay.requests if " bytes=" in each]


def test_a_stream_that_cannot_be_rewound_is_not_sent_again(strained: Service) -> None:
    class Pipe(io.RawIOBase):
        """Bytes that come once; the API is killed while they do."""

        def __init__(self) -> None:
            self.left = 60

        def readable(self) -> bool:
            return True

        def seekable(self) -> bool:
            return False

        def read(self, _size: int = -1, /) -> bytes:
            self.left -= 1
            if self.left == 30:
                (api,) = processes(strained, "surebox-api")
                api.kill()
                api.wait(30)
            return b"1,2\n" * 16_000 if self.left > 0 else b""

    with Surebox(strained.address, key=strained.new_key("sdk-stream")) as sb:
        with pytest.raises(ConnectionFailedError) as failure:
            sb.upload(Pipe(), format="csv")
        assert "cannot be rewound" in " ".join(failure.value.__notes__)
        assert [*sb.datasets()] == []


def test_the_flow_has_waited_and_made_one_of_each(limited: dict[str, Any]) -> None:
    deadline = time.monotonic() + 400
    while "jobs" not in limited and time.monotonic() < deadline:
        time.sleep(0.2)
    assert limited["waited"] > 1
    assert (limited["datasets"], limited["jobs"], limited["rows"]) == (1, 1, 300)
