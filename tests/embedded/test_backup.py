"""`surebox backup` and `surebox restore`, as docs/operate/operations.md has them, of a service that works meanwhile."""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.embedded.folder import DataFolder
from tests import patient
from tests.embedded.test_cli import assert_one_line, surebox
from tests.methods.asking import ended, succeed, upload
from tests.servers import short_folder, wait_until
from tests.service import Service, serving
from tests.stored import stored

#: Housekeeping's slow round is then three seconds after its start, lost jobs are queued again at once, and ids that a
#: restored service's broker lacks are sent then, not after a quarter of a minute.
HASTY = {
    "SUREBOX_HOUSEKEEPING_SECONDS": "0.1",
    "SUREBOX_HEARTBEAT_TIMEOUT_SECONDS": "5",
    "SUREBOX_REQUEUE_AFTER_SECONDS": "0.5",
}
DAY = 86_400


def table(seed: int, rows: int = 300) -> str:
    draw = np.random.default_rng([25, seed])
    frame = pl.DataFrame({"age": draw.integers(18, 90, rows), "wage": draw.lognormal(3, 1, rows).round(2)})
    return frame.write_csv()


def boxes(dataset_id: str, **more: Any) -> dict[str, Any]:
    return {
        "method": "boxes",
        "publish": "auto",
        "dataset_id": dataset_id,
        "quasi_identifiers": ["age", "wage"],
        "k": 5,
    } | more


def of_yesterday(storage: Path) -> None:
    """Every file there is was written a day ago; what a job has just put away is none."""
    for path in stored(storage):
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (time.time() - DAY, time.time() - DAY))


def objects(storage: Path) -> dict[str, bytes]:
    """What lies in storage, but for what comes and goes while jobs run."""
    passing = ("checkpoint", "staging/", ".partial")
    paths = {path.relative_to(storage).as_posix(): path for path in stored(storage)}
    return {key: path.read_bytes() for key, path in paths.items() if not any(word in key for word in passing)}


def held(service: Service) -> float:
    """How many orphans housekeeping leaves alone: it has looked."""
    lines = patient.get(f"{service.address}/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith("surebox_orphans_held ")).split()[1])


def plant_orphans(storage: Path, count: int) -> list[Path]:
    made = [storage / "releases" / f"rel_orphan{number}" / "a.csv" for number in range(count)]
    for path in made:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"a")
    of_yesterday(storage)
    return made


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


def downloads(client: httpx.Client) -> dict[str, bytes]:
    """What readers have of every release."""
    return {
        each["id"]: client.get(f"/v1/releases/{each['id']}/data", params={"format": "csv"}).raise_for_status().content
        for each in client.get("/v1/releases").json()["items"]
        if each["state"] == "published"
    }


@dataclass(frozen=True)
class Lost:
    """A machine of which only the backup is left, and what readers and owners had of it."""

    jobs: list[dict[str, Any]]
    begun: list[dict[str, Any]]
    published: dict[str, bytes]
    checked: "subprocess.CompletedProcess[str]"
    refused: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="module")
def lost(place: Path) -> Lost:
    """Its backup was made while jobs ran, beside files of yesterday."""
    with serving(place / "data", **HASTY) as service, service.client() as client:
        datasets = [upload(client, table(seed))["id"] for seed in range(3)]
        jobs = [succeed(client, boxes(dataset_id)) for dataset_id in datasets]
        of_yesterday(place / "data" / "storage")
        begun = [client.post("/v1/anonymizations", json=boxes(one, k=7)).json() for one in datasets]
        done = surebox("backup", str(place / "backup"), "--data-dir", str(place / "data"))
        assert done.returncode == 0, done.stderr
        return Lost(
            jobs,
            begun,
            published=downloads(client),
            checked=surebox("restore", "--check", str(place / "backup")),
            refused=surebox("restore", str(place / "backup"), "--data-dir", str(place / "data")),
        )


@dataclass(frozen=True)
class Later:
    """What was done after another backup, of which it knows nothing."""

    before: str
    jobs: list[dict[str, Any]]
    published: dict[str, bytes]
    head: str


@pytest.fixture(scope="module")
def later(place: Path, lost: Lost) -> Later:
    """The backup is restored to a new machine, which changes its secret and goes on; it is backed up, and goes on."""
    folder = place / "new"
    restored = surebox("restore", str(place / "backup"), "--data-dir", str(folder))
    assert restored.returncode == 0, restored.stderr
    assert objects(folder / "storage") == objects(place / "backup" / "storage") | dict.fromkeys(
        ("installation/id", "installation/unconfirmed"), (place / "data/storage/installation/id").read_bytes()
    )
    assert surebox("keys", "rotate-secret", "--data-dir", str(folder)).returncode == 0
    orphans = plant_orphans(folder / "storage", 5)
    with serving(folder, **HASTY) as service, service.client() as client:
        assert client.get("/v1/datasets").status_code == 200, "keys of before are valid, also under another secret"
        assert "present secret" in surebox("keys", "list", "--data-dir", str(folder)).stdout
        assert_nothing_is_missing(client, lost)
        # What a job had stored that was under way at the backup, and not published, is an orphan too.
        wait_until(lambda: held(service) >= 5, what=lambda: f"{held(service)} orphans\n{service.logs()}")
        assert all(path.exists() for path in orphans)
        assert objects(place / "backup" / "storage").keys() <= objects(folder / "storage").keys()
        assert_publishing_is_held(client)
        assert surebox("publishing", "confirm", "--data-dir", str(folder)).returncode == 0
        before = upload(client, table(10))["id"]
        done = surebox("backup", str(place / "older"), "--data-dir", str(folder))
        assert done.returncode == 0, done.stderr
        jobs = [succeed(client, boxes(one)) for one in (before, upload(client, table(11))["id"])]
        head = surebox("provenance", "verify", "--data-dir", str(folder)).stdout
        return Later(before, jobs, downloads(client), head)


def assert_nothing_is_missing(client: httpx.Client, lost: Lost) -> None:
    for job in lost.jobs:
        assert client.get(f"/v1/jobs/{job['id']}/result").json() == job["result"]
    for job in lost.begun:
        answer = client.get(f"/v1/jobs/{job['id']}")
        if answer.status_code == 200:  # it was accepted before the snapshot
            assert ended(client, answer.json())["state"] == "succeeded"
    again = downloads(client)
    assert {job["release_id"] for job in lost.jobs} <= again.keys()
    both = again.keys() & lost.published.keys()
    assert {name: again[name] for name in both} == {name: lost.published[name] for name in both}


def assert_publishing_is_held(client: httpx.Client) -> None:
    draft = succeed(client, boxes(upload(client, table(9))["id"]))["release_id"]
    assert client.get(f"/v1/releases/{draft}").json()["state"] == "draft"
    refused = client.post(f"/v1/releases/{draft}/publish")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/publishing-held")
    assert "restored from a backup" in refused.json()["detail"]


def test_a_backup_made_while_jobs_run_is_whole_private_and_takes_no_room(place: Path, lost: Lost) -> None:
    assert "is whole" in lost.checked.stdout, lost.checked.stderr
    assert_one_line(lost.refused, "is in use by another `surebox serve`")
    assert sum(key.startswith("datasets/") for key in objects(place / "backup" / "storage")) == 3
    linked = next(path for path in stored(place / "data" / "storage", ".parquet") if "datasets/" in str(path))
    assert linked.stat().st_nlink > 1, "a link, not a copy"
    assert [path for path in (place / "backup").rglob("*") if path.stat().st_mode & 0o077] == []


def test_a_restored_database_learns_what_was_published_after_the_backup(place: Path, later: Later) -> None:
    folder = place / "new"
    restored = surebox("restore", str(place / "older"), "--data-dir", str(folder))
    assert restored.returncode == 0, restored.stderr
    assert "2 publications of after the backup are known again" in restored.stderr
    former = DataFolder(folder).secrets().previous_server_secret
    with serving(folder, SUREBOX_SERVER_SECRET=former) as service, service.client() as client:
        assert DataFolder(folder).secrets().server_secret == former != ""
        assert downloads(client) == later.published
        assert surebox("provenance", "verify", "--data-dir", str(folder)).stdout == later.head
        assert surebox("publishing", "status", "--data-dir", str(folder)).stdout == "releases are published\n"
        for job in later.jobs:
            known = client.get(f"/v1/jobs/{job['id']}").json()
            assert (known["state"], known["result"]) == ("succeeded", None) if "id" in known else known["status"] == 404
        entries = client.get("/v1/log", params={"limit": 100}).json()["items"]
        log = [one for one in entries if one["sequence"] is not None]  # others are not chained
        assert [one["sequence"] for one in log] == list(range(len(log), 0, -1))
        assert all(newer["previous"] == older["hash"] for newer, older in itertools.pairwise(log))
        again = upload(client, table(11))
        assert again["family_id"] == client.get(f"/v1/releases/{later.jobs[1]['release_id']}").json()["family_id"]
        for dataset_id, job in zip((later.before, again["id"]), later.jobs, strict=True):
            other = succeed(client, boxes(dataset_id, k=6))
            assert client.get(f"/v1/releases/{other['release_id']}").json()["state"] == "draft"
            assert "composition" in [one["audit"] for one in other["findings"]]
            family = client.get(f"/v1/datasets/{dataset_id}").json()["family_id"]
            listed = client.get(f"/v1/families/{family}").json()["published"]
            assert [one["release_id"] for one in listed] == [job["release_id"]]


def test_a_backup_that_is_not_whole_is_refused_and_nothing_is_touched(place: Path, lost: Lost) -> None:
    broken = place / "broken"
    shutil.copytree(place / "backup", broken)
    manifest = broken / "manifest.json"
    for path in (next(broken.rglob("release.copy")), next((broken / "storage" / "datasets").rglob("*.parquet"))):
        whole = path.read_bytes()
        path.unlink()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        done = surebox("restore", str(broken), "--data-dir", str(place / "never"))
        assert_one_line(done, "is not as written", path.name)
        path.write_bytes(whole)
    listed = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(listed | {"format": 99}))
    assert_one_line(surebox("restore", str(broken), "--data-dir", str(place / "never")), "newer version")
    manifest.unlink()
    assert_one_line(surebox("restore", str(broken), "--data-dir", str(place / "never")), "no whole backup")
    assert not (place / "never").exists()
    assert_one_line(surebox("backup", str(broken), "--data-dir", str(place / "data")), "is not empty")


def test_a_backup_of_another_installation_than_the_files_are_of_is_refused_and_nothing_is_touched(
    place: Path, lost: Lost
) -> None:
    other = DataFolder(place / "other")
    other.take()
    before = other.secrets()
    other.leave()
    mark = other.path / "storage" / "installation" / "id"
    for path, content in ((mark, "ins_other\n"), (other.postgres / "PG_VERSION", "16\n")):
        path.parent.mkdir(parents=True)
        path.write_text(content)
    done = surebox("restore", str(place / "backup"), "--data-dir", str(other.path))
    assert_one_line(done, "belongs to installation ins_other")
    assert other.secrets() == before
    assert (other.postgres / "PG_VERSION").exists()
    assert list(other.path.glob("before-restore-*")) == []


@pytest.fixture(scope="module")
def copied(place: Path, later: Later) -> Path:
    """A copy of a stopped folder, without its lock."""
    without = shutil.ignore_patterns("serve.lock", "*.lock", "before-restore-*")
    return Path(shutil.copytree(place / "new", place / "copied", ignore=without))


def test_a_stopped_folder_is_backed_up_also_a_copy_without_its_lock(place: Path, copied: Path) -> None:
    done = surebox("backup", str(place / "second"), "--data-dir", str(copied))
    assert done.returncode == 0, done.stderr
    tables = {one["name"]: one["rows"] for one in json.loads((place / "second/manifest.json").read_text())["tables"]}
    assert tables["dataset"] >= 3


def test_files_that_rows_name_and_are_nowhere_are_named_and_a_second_restore_holds_publishing(
    place: Path, lost: Lost
) -> None:
    lacking = place / "lacking"
    shutil.copytree(place / "backup", lacking)
    lines = (lacking / "files.jsonl").read_text().splitlines(keepends=True)
    gone = next(json.loads(line)["key"] for line in lines if '"datasets/' in line)
    (lacking / "files.jsonl").write_text("".join(line for line in lines if gone not in line))
    manifest = json.loads((lacking / "manifest.json").read_text())
    manifest["files"] -= 1
    manifest["sha256"]["files.jsonl"] = hashlib.sha256((lacking / "files.jsonl").read_bytes()).hexdigest()
    (lacking / "manifest.json").write_text(json.dumps(manifest))
    done = surebox("restore", str(lacking), "--data-dir", str(place / "incomplete"))
    assert done.returncode == 1
    assert f"Rows name 1 files that neither storage nor the backup has, the first {gone}" in done.stderr
    done = surebox("restore", str(lacking), "--accept-missing", "--data-dir", str(place / "incomplete"))
    assert done.returncode == 0, done.stderr
    assert "Publishing is held" in done.stderr
    status = surebox("publishing", "status", "--data-dir", str(place / "incomplete"))
    assert status.stdout.startswith("held: the service was restored from a backup"), status.stderr


def test_an_operator_adopts_the_storage_of_a_folder_whose_service_does_not_start(place: Path, copied: Path) -> None:
    mark = copied / "storage" / "installation" / "id"
    mark.write_text("ins_other\n")
    assert_one_line(surebox("backup", str(place / "none"), "--data-dir", str(copied)), "surebox installation adopt")
    done = surebox("installation", "adopt", "--data-dir", str(copied))
    assert (done.returncode, "Publishing is held" in done.stderr) == (0, True), done.stderr
    assert mark.read_text() == "ins_other\n"
    status = surebox("publishing", "status", "--data-dir", str(copied))
    assert status.stdout == "held: the database was put next to another storage\n"
