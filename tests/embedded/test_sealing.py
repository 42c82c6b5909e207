"""Storage that is sealed, as an operator has it: begun late, changed, backed up, restored, refused without its key."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import pytest

from app.embedded.broker import free_port
from tests.embedded.test_cli import assert_one_line, surebox
from tests.methods.asking import succeed, upload
from tests.servers import short_folder
from tests.service import Service, serving, wait_for_workers
from tests.stored import stored

FIRST, SECOND = {"SUREBOX_STORAGE_KEY": "1" * 40}, {"SUREBOX_STORAGE_KEY": "2" * 40}
BOTH = SECOND | {"SUREBOX_PREVIOUS_STORAGE_KEY": FIRST["SUREBOX_STORAGE_KEY"]}
HASTY = {"SUREBOX_HOUSEKEEPING_SECONDS": "0.1", "SUREBOX_INLINE_ARTIFACT_BYTES": "0"}
WORD = "zebrafinch"


def table(seed: int) -> str:
    draw = np.random.default_rng([25, 13, seed])
    kinds = draw.choice([WORD, f"{WORD}-tail"], 400)
    return pl.DataFrame({"age": draw.integers(18, 90, 400), "kind": kinds}).write_csv()


def release(client: httpx.Client, seed: int) -> dict[str, bytes]:
    """Upload, anonymize, and what readers and owners then have."""
    dataset_id = upload(client, table(seed))["id"]
    columns = {"method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["age"], "keep": ["kind"], "k": 5}
    job = succeed(client, columns)
    return had(client, job["id"], job["release_id"])


def had(client: httpx.Client, job_id: str, release_id: str) -> dict[str, bytes]:
    data = f"/v1/releases/{release_id}/data?format=csv"
    return {
        path: client.get(path).raise_for_status().content
        for path in (f"/v1/jobs/{job_id}/result", data, f"/v1/releases/{release_id}/certificate")
    }


def again(client: httpx.Client, before: dict[str, bytes]) -> dict[str, bytes]:
    return {path: client.get(path).raise_for_status().content for path in before}


def clear(storage: Path) -> list[str]:
    """What storage has with its words readable, or with the head that such files have."""
    files = {path.relative_to(storage).as_posix(): path.read_bytes() for path in stored(storage)}
    return [key for key, body in files.items() if WORD.encode() in body or not body.startswith(b"SBXSEAL1")]


def counts(folder: Path, **keys: str) -> tuple[int, ...]:
    done = surebox("storage", "status", "--data-dir", str(folder), **keys)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, re.findall(r"^\d+", done.stdout, re.MULTILINE)))


def seal(folder: Path, **keys: str) -> None:
    """Seal everything; publications are housekeeping's."""
    done = surebox("storage", "seal", "--data-dir", str(folder), **keys)
    assert done.returncode == 0, done.stderr
    deadline = time.monotonic() + 60
    while sum(counts(folder, **keys)[1:]):
        assert time.monotonic() < deadline, counts(folder, **keys)
        time.sleep(0.1)


@dataclass(frozen=True)
class Sealed:
    """A folder that was sealed under the first key, its backup, and what was had of it."""

    folder: Path
    backup: Path
    before: dict[str, bytes]
    readable_before: list[str]
    readable_after_new: list[str]
    readable_after_all: list[str]


def assert_a_changed_file_is_refused(service: Service, client: httpx.Client, data: str) -> None:
    release_id = data.split("/")[3]
    (file,) = stored(service.folder / "storage" / "releases" / release_id, ".csv")
    sealed = file.read_bytes()
    file.write_bytes(sealed[:60] + bytes([sealed[60] ^ 1]) + sealed[61:])
    refused = client.get(data)
    file.write_bytes(sealed)
    assert (refused.status_code, refused.json()["type"]) == (500, "/problems/storage-damaged")
    assert "not as written" in refused.json()["detail"]
    assert "storage.damaged" in service.logs(lines=500)


@pytest.fixture(scope="module")
def sealed() -> Iterator[Sealed]:
    with short_folder() as place:
        folder, storage, backup = place / "data", place / "data" / "storage", place / "backup"
        with serving(folder, **HASTY) as service, service.client() as client:
            before = release(client, 0)
            marks = storage / "installation"
            (marks / "unconfirmed").write_bytes((marks / "id").read_bytes())  # as after a restore without a key
            readable_before = clear(storage)
        apart = f"127.0.0.1:{free_port()}"  # at no cost: the launcher asks there whether all is ready
        with serving(folder, **HASTY, **FIRST, SUREBOX_OPERATIONS_LISTEN=apart) as service, service.client() as client:
            assert client.get("/readyz").status_code == 404
            wait_for_workers(f"http://{apart}")
            assert client.get(f"http://{apart}/readyz").status_code == 200
            assert again(client, before) == before, "what is not sealed stays readable"
            known = set(readable_before)
            before |= release(client, 1)
            readable_after_new = [key for key in clear(storage) if key not in known]
            seal(folder, **FIRST)
            readable_after_all = clear(storage)
            assert again(client, before) == before
            data = next(path for path in before if "/data" in path)
            assert_a_changed_file_is_refused(service, client, data)
            part = client.get(data, headers={"Range": "bytes=7-40"})
            assert (part.status_code, part.content) == (206, before[data][7:41])
            done = surebox("backup", str(backup), "--data-dir", str(folder), **FIRST)
            assert done.returncode == 0, done.stderr
        yield Sealed(folder, backup, before, readable_before, readable_after_new, readable_after_all)


def test_with_a_key_nothing_new_is_readable_and_with_seal_nothing_at_all(sealed: Sealed) -> None:
    assert {key.split("/")[0] for key in sealed.readable_before} >= {"datasets", "jobs", "releases", "publications"}
    assert sealed.readable_after_new == []
    assert sealed.readable_after_all == []


def test_a_backup_holds_sealed_files_as_they_are_and_no_key(sealed: Sealed) -> None:
    files = {path.relative_to(sealed.backup / "storage"): path for path in stored(sealed.backup / "storage")}
    assert {path.as_posix().split("/")[0] for path in files} >= {"datasets", "jobs", "releases", "publications"}
    for path, file in files.items():
        assert file.read_bytes() == (sealed.folder / "storage" / path).read_bytes()
    for file in stored(sealed.backup):
        assert FIRST["SUREBOX_STORAGE_KEY"].encode() not in file.read_bytes(), file


def test_without_the_key_or_with_another_one_nothing_starts_and_nothing_is_restored(sealed: Sealed) -> None:
    start = ("serve", "--port", "0", "--data-dir", str(sealed.folder))
    for keys, words in [({}, "are sealed: set SUREBOX_STORAGE_KEY"), (SECOND, "sealed under a key that is neither")]:
        refused = surebox(*start, **keys)
        assert (refused.returncode, words in refused.stderr) == (1, True), refused.stderr
        assert "Traceback" not in refused.stderr
    restore = ("restore", str(sealed.backup), "--data-dir", str(sealed.folder.with_name("elsewhere")))
    assert_one_line(surebox(*restore, **SECOND), "sealed under other keys than SUREBOX_STORAGE_KEY")


@pytest.mark.long
def test_a_restored_backup_goes_on_under_another_key_and_then_without_any(sealed: Sealed) -> None:
    folder = sealed.folder.with_name("new")
    done = surebox("restore", str(sealed.backup), "--data-dir", str(folder), **BOTH)
    assert done.returncode == 0, done.stderr
    with serving(folder, **HASTY, **BOTH) as service, service.client() as client:
        assert again(client, sealed.before) == sealed.before
        assert counts(folder, **BOTH)[1] > 0
        seal(folder, **BOTH)
        assert again(client, sealed.before) == sealed.before
        assert_one_line(surebox("storage", "seal", "--undo", "--data-dir", str(folder), **BOTH), "stop them first")
    strict = SECOND | {"SUREBOX_STORAGE_SEALED_ONLY": "true"}
    assert sum(counts(folder, **strict)[1:]) == 0, "the former key can go"
    done = surebox("storage", "seal", "--undo", "--data-dir", str(folder), **SECOND)
    assert done.returncode == 0, done.stderr
    with serving(folder, **HASTY) as service, service.client() as client:
        assert again(client, sealed.before) == sealed.before
