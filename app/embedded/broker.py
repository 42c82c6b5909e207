"""A Valkey of our own: broker without a disk (the row in Postgres is the truth), a child that dies with us."""

import signal
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

from app.embedded.binaries import broker_program
from app.embedded.child import Announce, spawn, stop
from app.embedded.postgres import last_line
from app.errors import CannotStartError


def free_port() -> int:
    """Return a TCP port of the loopback interface that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class BrokerServer:
    """A Valkey server in the foreground, as our child.

    Parameters
    ----------
    sockets
        Short folder (mode 0700) of the Unix socket `valkey.sock`.
    password
        Of its default user.
    log
        File of its messages.
    port
        Loopback TCP port to listen on as well; None for the socket alone.
    """

    def __init__(self, *, sockets: Path, password: str, log: Path, port: int | None = None) -> None:
        self.sockets = sockets
        self.password = password
        self.log = log
        self.port = port
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def socket_path(self) -> Path:
        """The Unix socket."""
        return self.sockets / "valkey.sock"

    def url(self, database: int = 0) -> str:
        """The address over the Unix socket, as redis-py spells it; `app.queue.broker_url` translates for Celery."""
        return f"unix://:{quote(self.password)}@{quote(str(self.socket_path))}?db={database}"

    def tcp_url(self, database: int = 0) -> str:
        """The address over loopback TCP."""
        return f"redis://:{quote(self.password)}@127.0.0.1:{self.port}/{database}"

    def start(self, *, timeout: float = 20.0, announce: Announce | None = None) -> None:
        """Start and wait until commands are answered.

        Raises
        ------
        CannotStartError
            Valkey gave up or did not answer in time.
        """
        self.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.socket_path.unlink(missing_ok=True)
        # The configuration goes through standard input: a password on the command line can be read by everyone.
        command, configuration = [str(broker_program()), "-"], self._configuration().encode()
        self.process = spawn(command, log=self.log, stdin=configuration, announce=announce)
        deadline = time.monotonic() + timeout
        while not self._answers():
            if self.process.poll() is not None:
                raise CannotStartError(f"Valkey gave up; see {self.log}: {last_line(self.log)}")
            if time.monotonic() > deadline:
                self.stop()
                raise CannotStartError(f"Valkey did not answer in {timeout:g} s; see {self.log}.")
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop; what it contains is lost, which is allowed."""
        if self.process is not None:
            stop(self.process, steps=[(signal.SIGTERM, 5.0)])

    def kill(self) -> None:
        """Kill as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _configuration(self) -> str:
        settings = {
            "port": str(self.port or 0),
            "bind": "127.0.0.1",
            "unixsocket": f'"{self.socket_path}"',
            "unixsocketperm": "700",
            "requirepass": self.password,
            "save": '""',
            "appendonly": "no",
            "maxmemory-policy": "noeviction",
            "dir": f'"{self.sockets}"',
            "daemonize": "no",
            "logfile": f'"{self.log.absolute()}"',  # opened for each line, so the file may be renamed
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(1.0)
                client.connect(str(self.socket_path))
                client.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2:
                    part = client.recv(100)
                    if not part:
                        return False
                    answer += part
        except (FileNotFoundError, ConnectionError, TimeoutError):
            return False
        return answer == b"+OK\r\n+PONG\r\n"
