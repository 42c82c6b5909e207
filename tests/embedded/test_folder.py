"""The data folder: one master, secrets that stay, sockets whose path is short enough."""

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.embedded.folder import DataFolder, can_bind
from app.errors import CannotStartError

ROOT = Path(__file__).parents[2]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_and_all_secrets_in_it_are_private(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "new" / "data")
    folder.take()
    folder.secrets()
    folder.write_admin_key("key")
    folder.write_running(sockets=folder.make_sockets(), environment={"A": "b"})
    assert mode(folder.path) == 0o700
    assert mode(folder.path / "run") == 0o700
    assert {path.name: mode(path) for path in folder.path.iterdir() if path.is_file()} == {
        "serve.lock": 0o600,
        "secrets.json": 0o600,
        "admin.key": 0o600,
        "running.json": 0o600,
        ".gitignore": 0o600,
    }


def test_a_second_master_is_refused_and_told_who_is_the_first(tmp_path: Path) -> None:
    first = DataFolder(tmp_path)
    first.take()
    with pytest.raises(CannotStartError, match=rf"in use by another .* \(process {os.getpid()}\)"):
        DataFolder(tmp_path).take()
    first.leave()
    DataFolder(tmp_path).take()


def test_the_lock_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from app.embedded.folder import DataFolder;"
        "DataFolder(Path(sys.argv[1])).take(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=False).returncode == -9
    DataFolder(tmp_path).take()


def test_secrets_stay_the_same(tmp_path: Path) -> None:
    made = DataFolder(tmp_path).secrets()
    assert len(made.server_secret) >= 32
    assert DataFolder(tmp_path).secrets() == made
    assert DataFolder(tmp_path / "..").secrets() != made


def test_a_new_folder_names_only_the_secrets_that_every_version_knows(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.secrets()
    folder.write_admin_key("key")
    assert json.loads(folder.secrets_file.read_text()).keys() == {
        "server_secret", "postgres_password", "admin_key_written",
    }  # fmt: skip


def test_a_second_change_of_the_secret_is_refused_while_the_first_one_is_needed(tmp_path: Path) -> None:
    folder, now = DataFolder(tmp_path), datetime.now(UTC)
    first = folder.secrets().server_secret
    folder.change_server_secret("b" * 40, overlap_days=0.5)
    for change in (folder.change_server_secret, lambda secret: folder.secrets(given=secret)):
        with pytest.raises(CannotStartError, match=r"changed already, .* known until 0\.5 days after the next start"):
            change("c" * 40)
    assert folder.secrets().previous(now + timedelta(days=400)) == first, "no service has started with the second one"
    folder.begin_overlap(now - timedelta(days=1))
    assert folder.secrets().previous(now) == ""
    folder.change_server_secret("c" * 40)
    assert folder.secrets().previous(now) == "b" * 40


def test_the_first_start_after_a_change_knows_the_former_secret_whatever_the_overlap(tmp_path: Path) -> None:
    folder, now = DataFolder(tmp_path), datetime.now(UTC)
    first = folder.secrets().server_secret
    folder.change_server_secret("b" * 40, overlap_days=0)
    assert folder.secrets().previous(now) == first
    folder.begin_overlap(now)
    folder.begin_overlap(now + timedelta(days=1))
    assert folder.secrets().previous(now) == ""


def test_a_change_of_the_secret_can_be_taken_back(tmp_path: Path) -> None:
    folder, now = DataFolder(tmp_path), datetime.now(UTC)
    first = folder.secrets().server_secret
    assert folder.secrets(given="b" * 40).previous(now) == first
    back = folder.secrets(given=first)
    assert (back.server_secret, back.previous(now)) == (first, "b" * 40)


def test_lost_secrets_are_not_replaced_when_there_is_a_database(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.secrets()
    folder.postgres.mkdir()
    (tmp_path / "secrets.json").unlink()
    with pytest.raises(CannotStartError, match=r"secrets\.json is gone"):
        folder.secrets()


def test_an_admin_key_is_written_once(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    assert not folder.secrets().admin_key_written
    folder.write_admin_key("key")
    folder.admin_key.unlink()
    assert DataFolder(tmp_path).secrets().admin_key_written


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotStartError, match="cannot be used: File exists"):
        DataFolder(tmp_path / "file").take()


def test_a_folder_with_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    with pytest.raises(CannotStartError, match="not one of its data folders"):
        DataFolder(tmp_path).take()
    assert [path.name for path in tmp_path.iterdir()] == ["postgres"]


def test_sockets_lie_elsewhere_when_the_path_is_too_long_and_are_cleared_on_the_next_start(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / ("long" * 30))
    folder.take()
    sockets = folder.make_sockets()
    folder.write_running(sockets=sockets, environment={})
    assert folder.path not in sockets.parents
    assert mode(sockets) == 0o700
    assert can_bind(sockets)
    (sockets / "stale").touch()
    again = folder.make_sockets()
    folder.write_running(sockets=again, environment={})
    assert not sockets.exists()
    folder.leave()
    assert not again.exists()


def test_a_foreign_folder_named_as_sockets_is_not_removed(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.take()
    precious = tmp_path / "run"
    precious.mkdir()
    folder.write_running(sockets=precious, environment={})
    folder.make_sockets()
    assert precious.exists()


def test_running_is_known_only_while_somebody_is_master(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    with pytest.raises(CannotStartError, match="No `surebox serve` runs"):
        folder.running()
    folder.take()
    folder.write_running(sockets=tmp_path / "run", environment={"DATABASE_URL": "x"})
    assert DataFolder(tmp_path).running().environment == {"DATABASE_URL": "x"}
    folder.leave()
    with pytest.raises(CannotStartError, match="No `surebox serve` runs"):
        folder.running()
