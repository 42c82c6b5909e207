"""A data folder whose database or files were replaced while nothing ran: the next start says so and does not go on."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from app.embedded.folder import DataFolder
from app.embedded.offline import offline
from tests.embedded.test_cli import surebox
from tests.servers import short_folder
from tests.service import serving


@dataclass(frozen=True)
class Folders:
    """Two folders that were served, and copies of them as they were then."""

    ours: Path
    theirs: Path
    kept: Path

    def put_back(self) -> None:
        shutil.rmtree(self.ours)
        shutil.copytree(self.kept, self.ours, symlinks=True)


@pytest.fixture(scope="module")
def folders() -> Iterator[Folders]:
    with short_folder() as parent:
        both = Folders(parent / "ours", parent / "theirs", parent / "kept")
        for folder in (both.ours, both.theirs):
            with serving(folder):
                pass
        shutil.copytree(both.ours, both.kept, symlinks=True)
        yield both


def replace(folder: Path, by: Path) -> None:
    """Another's content under the same inode, as `rsync --delete` leaves it."""
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    shutil.copytree(by, folder, dirs_exist_ok=True, symlinks=True)


def refusal(folder: Path) -> str:
    done = surebox("serve", "--data-dir", str(folder), "--port", "0")
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    assert "times in a row" not in done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.long
def test_what_was_exchanged_is_named_at_the_next_start(folders: Folders) -> None:
    folder = folders.ours
    mine = (folder / "storage" / "installation" / "id").read_text().strip()
    other = (folders.theirs / "storage" / "installation" / "id").read_text().strip()
    replace(folder / "storage", folders.theirs / "storage")
    assert f"belongs to installation {mine}, the storage of STORAGE_URL to installation {other}" in refusal(folder)
    shutil.rmtree(folder / "storage")
    assert "has no id at all" in refusal(folder)
    folders.put_back()
    replace(folder / "postgres", folders.theirs / "postgres")
    assert refusal(folder) == (
        f"surebox: {folder}/postgres is not the database that {folder}/secrets.json opens: one of the two was "
        "replaced. Put both back as they were together, or choose another --data-dir."
    )
    shutil.rmtree(folder / "postgres")
    assert f"The database {folder}/postgres is gone" in refusal(folder)
    assert not (folder / "postgres").exists(), "no new one stands in its place"
    folders.put_back()
    with serving(folder) as service, service.client() as client:
        assert client.get("/v1/datasets").status_code == 200


@pytest.mark.long
def test_a_database_that_was_dropped_in_its_cluster_is_missed(folders: Folders) -> None:
    folders.put_back()
    prepared = DataFolder(folders.ours).prepared
    at = prepared.stat().st_mtime_ns
    with serving(folders.ours):
        pass
    assert prepared.stat().st_mtime_ns > at, "a copy is compared, by its inode"
    with offline(DataFolder(folders.ours)) as settings:
        address = settings.database_url.replace("/surebox?", "/postgres?")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE surebox"))
    assert "belongs to installation" in refusal(folders.ours)
