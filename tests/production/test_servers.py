"""The servers of docker-compose.yml: the broker's own command and Postgres' health check, run as processes."""

import shlex
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from app.embedded.binaries import broker_program, postgres_program
from app.embedded.broker import free_port
from app.embedded.child import BARE_ENVIRONMENT
from app.embedded.postgres import PostgresServer, choose_identity
from app.processes.tied import tied_to_parent
from tests.meta import compose
from tests.servers import new_postgres

PASSWORD = "0123456789abcdef" * 3
START_SECONDS = 60.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Valkey as compose starts it, on a port of its own; its secret ends with a line break, as `openssl` writes it."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "redis_password").write_text(PASSWORD + "\n")
    (tmp_path / "data").mkdir()
    shell, option, line = compose.services()["redis"]["command"]
    port = free_port()
    line = line.replace(compose.SECRETS_FOLDER, f"{tmp_path}/secrets/").replace("/data/", f"{tmp_path}/data/")
    line = line.replace("exec valkey-server", f"exec {shlex.quote(str(broker_program()))}")
    command = [shell, option, f"{line} --bind 127.0.0.1 --port {port}"]
    process = subprocess.Popen(command, cwd=tmp_path / "data", stdout=subprocess.DEVNULL)
    yield process, port
    process.kill()
    process.wait()


def answered(client: "redis.Redis", process: "subprocess.Popen[bytes]") -> bool:
    """Whether it answers, as soon as it listens."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return bool(client.ping())
        except redis.AuthenticationError:
            return False
        except redis.ConnectionError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_broker_asks_for_its_password_holds_nothing_on_disk_and_evicts_nothing(
    broker: tuple["subprocess.Popen[bytes]", int], tmp_path: Path
) -> None:
    process, port = broker
    with redis.Redis(port=port, password=PASSWORD, decode_responses=True) as client:
        assert answered(client, process)
        settings = client.config_get("*")
        assert {name: settings[name] for name in ("save", "appendonly", "maxmemory", "maxmemory-policy")} == {
            "save": "", "appendonly": "no", "maxmemory": str(256 << 20), "maxmemory-policy": "noeviction",
        }  # fmt: skip
        client.set("name", "value")
    for wrong in ({}, {"password": "wrong"}):
        with redis.Redis(port=port, **wrong) as client:
            assert not answered(client, process)
    assert PASSWORD not in " ".join(psutil.Process(process.pid).cmdline())
    (only,) = (tmp_path / "data").iterdir()
    assert stat.S_IMODE(only.stat().st_mode) == 0o600
    process.send_signal(signal.SIGTERM)
    assert process.wait(START_SECONDS) == 0
    assert [path.name for path in (tmp_path / "data").iterdir()] == [only.name]


def test_the_health_check_of_postgres_says_whether_it_accepts_connections(own_postgres: PostgresServer) -> None:
    kind, program, *arguments = compose.services()["postgres"]["healthcheck"]["test"]
    assert kind == "CMD"
    command = [str(postgres_program(program)), *arguments, "--port", str(own_postgres.port)]
    assert subprocess.run(command, check=False).returncode == 0
    own_postgres.stop()
    assert subprocess.run(command, check=False).returncode != 0


def test_postgres_is_made_with_checksums_passwords_and_utf8_whatever_the_locale_of_its_image(
    server_folder: Path,
) -> None:
    """By the arguments of compose, as the user and in the environment of whom an image may have."""
    environment = compose.services()["postgres"]["environment"]
    server = new_postgres(server_folder, tcp=True)
    password = server_folder / "postgres_password"
    password.write_text(server.password)
    command = [str(postgres_program("initdb")), "-D", str(server.folder), "--username", environment["POSTGRES_USER"]]
    command += ["--pwfile", str(password), *environment["POSTGRES_INITDB_ARGS"].split()]
    command = tied_to_parent(command, death_signal=signal.SIGKILL, identity=choose_identity())
    subprocess.run(command, check=True, capture_output=True, env=BARE_ENVIRONMENT)
    server.start()
    try:
        with psycopg.connect(server.tcp_url("postgres")) as connection:
            shown = [connection.execute(f"SHOW {each}").fetchone() for each in ("server_encoding", "data_checksums")]
        assert shown == [("UTF8",), ("on",)]
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.tcp_url("postgres").replace(server.password, "wrong"))
    finally:
        server.stop()
