"""`surebox serve` with everything it starts: what it promises, and what it leaves when it ends."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from app.embedded.broker import free_port
from app.embedded.folder import DataFolder
from tests import patient
from tests.servers import short_folder, still_alive, wait_until
from tests.service import bare_environment, wait_for_line, wait_for_workers

ROOT = Path(__file__).parents[2]
CSV = b"age,income\n30,100\n40,200\n50,300\n"


@dataclass(frozen=True, slots=True)
class Launched:
    process: subprocess.Popen[bytes]
    log: Path
    folder: Path

    def address(self) -> str:
        address = wait_for_line(self.process, self.log, r"Surebox is ready at (\S+)")
        wait_for_line(self.process, self.log, "Stop with Ctrl-C")
        wait_for_workers(address)
        return address

    def client(self) -> httpx.Client:
        address = self.address()
        headers = {"Authorization": f"Bearer {(self.folder / 'admin.key').read_text().strip()}"}
        return patient.Client(base_url=address, headers=headers)

    def everyone(self) -> list[psutil.Process]:
        return [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]

    def lines(self) -> list[str]:
        """The names and command lines of the children."""
        lines = []
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):
                lines.append(f"{child.name()} {' '.join(child.cmdline())}")
        return lines

    def child(self, *words: str) -> psutil.Process:
        """The child in whose name and command line all words stand."""
        matches = []
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):
                line = f"{child.name()} {' '.join(child.cmdline())}"
                if all(word in line for word in words):
                    matches.append(child)
        (only,) = matches
        return only


def surebox(*arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "app.cli", *arguments]
    return subprocess.run(command, cwd=ROOT, env=bare_environment(**settings), capture_output=True, text=True)


@contextmanager
def launched(folder: Path, *options: str, **settings: str) -> Iterator[Launched]:
    log = folder.parent / f"out-{secrets.token_hex(4)}.log"
    port = [] if "--port" in options else ["--port", "0"]
    command = [sys.executable, "-m", "app.cli", "serve", *port, *options]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=bare_environment(**settings), stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield Launched(process, log, folder)
    finally:
        with suppress(psutil.NoSuchProcess):
            rest = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            for each in rest:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        process.wait()


@contextmanager
def embedded(folder: Path) -> Iterator[Launched]:
    with launched(folder, "--data-dir", str(folder), "--workers", "1") as server:
        yield server


def works(client: httpx.Client) -> bool:
    with suppress(httpx.TransportError):
        return {client.get(path).status_code for path in ("/readyz", "/v1/datasets")} == {200}
    return False


@pytest.fixture(scope="module")
def running() -> Iterator[Launched]:
    """One service, under a path too long for sockets, with blanks and letters of several scripts."""
    with short_folder() as parent, embedded(parent / ("Ünï cødé's 数据 " + "x" * 60)) as service:
        service.address()
        yield service
        everyone = service.everyone()
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert still_alive(everyone, within=60) == []


def test_the_admin_key_is_private_and_valid(running: Launched) -> None:
    key = running.folder / "admin.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert str(key) in running.log.read_text()
    with running.client() as client:
        assert client.get("/v1/datasets").status_code == 200
        assert client.get("/v1/datasets", headers={"Authorization": "Bearer sb_wrong"}).status_code == 401


def test_a_second_start_on_the_folder_is_refused_in_one_line(running: Launched) -> None:
    done = surebox("serve", "--port", "0", "--data-dir", str(running.folder))
    assert done.returncode == 1
    assert done.stderr.startswith("surebox: The data folder")
    assert f"(process {running.process.pid})" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_in_use_is_refused_in_one_line(running: Launched, tmp_path: Path) -> None:
    port = running.address().rsplit(":", 1)[1]
    done = surebox("serve", "--port", port, "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 1
    assert done.stderr == (
        f"surebox: Cannot listen at 127.0.0.1 port {port}: Address already in use. "
        "Choose another --port (0: any free one) or --host.\n"
    )
    assert not (tmp_path / "data").exists()


def test_keys_are_made_listed_and_revoked_on_the_running_service(running: Launched) -> None:
    folder = ("--data-dir", str(running.folder))
    made = surebox("keys", "create", "--owner", "office", "--name", "portal", "--scope", "datasets:read", *folder)
    assert made.returncode == 0, made.stderr
    key, key_id = made.stdout.strip(), made.stderr.split()[0]
    with patient.Client(
        base_url=running.address(),
        headers={"Authorization": f"Bearer {key}"},
    ) as client:
        assert client.get("/v1/datasets").status_code == 200
        assert client.get("/v1/jobs").status_code == 403
        listed = surebox("keys", "list", "--owner", "office", *folder).stdout
        assert listed.split("\t")[:4] == [key_id, "office", "portal", "datasets:read"]
        assert key not in listed
        assert surebox("keys", "revoke", key_id, *folder).returncode == 0
        wait_until(lambda: client.get("/v1/datasets").status_code == 401, seconds=60)
    assert surebox("keys", "revoke", key_id, *folder).returncode == 1


def test_a_changed_quota_is_shown_as_it_holds_now(running: Launched) -> None:
    whose = ("--owner", "office", "--data-dir", str(running.folder))
    before = surebox("quotas", "show", *whose).stdout.splitlines()
    changed = surebox("quotas", "set", "datasets", "7", *whose)
    assert (changed.returncode, changed.stdout) == (0, "datasets\t0\t7\n"), changed.stderr
    assert surebox("quotas", "reset", "datasets", *whose).stdout.strip() in before


def test_secrets_stand_on_no_command_line(running: Launched) -> None:
    environment = DataFolder(running.folder).running().environment
    secret = DataFolder(running.folder).secrets()
    password = environment["REDIS_URL"].split("@")[0].rsplit(":", 1)[1]
    for process in running.everyone():
        with suppress(psutil.NoSuchProcess):
            line = " ".join(process.cmdline())
            assert not any(word in line for word in (secret.server_secret, secret.postgres_password, password))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("The API", ("surebox-api",)),
        ("The batch worker", ("surebox-batch",)),
        ("Housekeeping", ("surebox-houseke",)),
        ("Valkey", ("valkey",)),
        ("Postgres", ("bin/postgres",)),
    ],
)
def test_a_part_that_is_killed_is_started_again(running: Launched, name: str, words: tuple[str, ...]) -> None:
    wait_until(lambda: "surebox-houseke" in " ".join(running.lines()), seconds=60)
    old = running.child(*words)
    old.kill()
    wait_until(lambda: f"{name} ended (signal SIGKILL); it starts again" in running.log.read_text(), seconds=60)

    def replaced() -> bool:
        with suppress(ValueError):
            return running.child(*words).pid != old.pid
        return False

    wait_until(replaced, seconds=60)
    with running.client() as client:
        wait_until(lambda: works(client), seconds=60)


def is_reaper(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return "orphan_reaper" in " ".join(process.cmdline())
    return False


def test_kill_9_leaves_no_orphan_and_the_next_start_finds_all_data() -> None:
    with short_folder() as parent:
        folder = parent / "data"
        with embedded(folder) as service, service.client() as client:
            made = client.post("/v1/datasets", params={"name": "d"}, content=CSV, headers={"Content-Type": "text/csv"})
            assert made.status_code == 201, made.text
            key = (folder / "admin.key").read_text()
            wait_until(lambda: len(service.everyone()) > 12, seconds=60)
            everyone = service.everyone()
            reapers = [each for each in everyone if is_reaper(each)]
            os.kill(service.process.pid, signal.SIGKILL)
            service.process.wait()
            with embedded(folder) as again, again.client() as next_client:
                assert next_client.get(f"/v1/datasets/{made.json()['id']}").json() == made.json()
                assert (folder / "admin.key").read_text() == key
                assert still_alive([each for each in everyone if each not in reapers], within=0) == []
                assert still_alive(reapers, within=20) == []  # the last to end: it waits for all others
                rest = again.everyone()
                again.process.send_signal(signal.SIGINT)
                assert again.process.wait(60) == 0
                assert still_alive(rest, within=60) == []
        assert not (folder / "run").exists()
        assert not (folder / "running.json").exists()


def test_it_stops_while_it_starts_and_leaves_nothing() -> None:
    with short_folder() as parent, embedded(parent / "data") as service:
        wait_until((parent / "data" / "postgres" / "postmaster.pid").exists, seconds=60)
        everyone = service.everyone()
        service.process.terminate()
        assert service.process.wait(60) == 0
        assert still_alive(everyone, within=60) == []
        assert "Stopping." in service.log.read_text()


def test_a_folder_that_an_unreleased_version_made_is_refused_in_one_sentence() -> None:
    with short_folder() as parent:
        folder = parent / "data"
        with embedded(folder) as service:
            service.address()
            with psycopg.connect(DataFolder(folder).running().environment["DATABASE_URL"]) as connection:
                connection.execute("UPDATE alembic_version SET version_num = '0022'")
            service.process.terminate()
            assert service.process.wait(60) == 0
        DataFolder(folder).prepared.unlink()  # it would name that version's migrations
        refused = surebox("serve", "--data-dir", str(folder), "--port", "0")
        assert refused.returncode == 1
        assert refused.stderr.splitlines()[-1] == (
            f"surebox: The database in {folder} could not be prepared: The database 'surebox' was made by an "
            "unreleased version of Surebox (revision 0022): start with an empty database and an empty storage "
            "(of a data folder: name another one), and upload the data again."
        )
        assert "Traceback" not in refused.stderr


def test_with_all_addresses_given_only_the_api_runs(database_url: str, redis_url: str, tmp_path: Path) -> None:
    port = str(free_port())
    settings = {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "STORAGE_URL": f"file:{tmp_path}/storage",
        "SUREBOX_SERVER_SECRET": "s" * 32,
    }
    with launched(tmp_path / "none", "--port", port, **settings) as service:
        with patient.Client(base_url=f"http://127.0.0.1:{port}") as client:

            def answers() -> bool:
                with suppress(httpx.TransportError):
                    return client.get("/healthz").status_code == 200
                return False

            wait_until(answers, seconds=60)
            assert client.get("/readyz").status_code == 503  # nobody started a worker
        assert psutil.Process(service.process.pid).children() == []
        service.process.terminate()
        assert service.process.wait(60) in (0, -signal.SIGTERM)
    assert not (tmp_path / "none").exists()
