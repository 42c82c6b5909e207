"""The service of a data folder: joined where one runs, started where none does.

A command holds `uses.lock` shared for as long as it needs the service, and touches it at its beginning and its end. A
service that ends for want of use holds it alone: a command that comes meanwhile waits, and starts another. Of commands
that begin at once the one that holds `starting.lock` starts the service, and the others join it.

The files are the service's (`surebox serve --data-dir`): `serve.lock` is held while it runs and has its process id,
`running.json` its address once it is ready, `admin.key` the key of the first start.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from surebox_client.errors import ConnectionFailedError, SureboxError

USES: Final = "uses.lock"
READY_SECONDS: Final = 180.0
STOP_SECONDS: Final = 60.0
#: How long the first start on a folder may take before a person is told that it is still at it.
LOOK_SECONDS: Final = 0.02
#: Of the caller's environment; they say where other services are, or are secrets that a service must not inherit.
_NOT_INHERITED: Final = ("DATABASE_URL", "REDIS_URL", "STORAGE_URL", "SUREBOX_URL", "SUREBOX_API_KEY")

Say = Callable[[str], None]


class FolderInUseError(SureboxError):
    """Commands use the service of the folder."""


@dataclass(frozen=True, slots=True)
class Running:
    """The service of a folder; `started` says that this process has started it."""

    folder: Path
    address: str
    started: bool = False

    @property
    def key(self) -> str:
        """The admin key of the folder.

        Raises
        ------
        SureboxError
            It is not in the folder any more.
        """
        try:
            return (self.folder / "admin.key").read_text(encoding="utf-8").strip()
        except OSError as error:
            message = f"{error.filename} cannot be read ({error.strerror}). Name the file of a key with --key-file."
            raise SureboxError(message) from None


def absolute(folder: Path | str) -> Path:
    """The folder's whole path."""
    return Path(folder).expanduser().absolute()


@contextmanager
def joined(folder: Path | str, *, say: Say, idle_minutes: float = 10) -> Iterator[Running]:
    """Use the service of a folder; where none runs one is started, which ends by itself when it is not used any more.

    Parameters
    ----------
    folder
        The data folder; it is made where there is none.
    say
        Told in one line what takes time.
    idle_minutes
        After how many minutes without commands and jobs a service that is started here ends.

    Raises
    ------
    ConnectionFailedError
        The service is not installed here, or did not start.
    """
    path = absolute(folder)
    if not path.exists():
        _make(path)
    with _used(path, say=say):
        yield running(path) or _start(path, idle_minutes=idle_minutes, say=say)


def running(folder: Path) -> Running | None:
    """The service that runs on a folder and is ready."""
    try:
        address = json.loads((folder / "running.json").read_text(encoding="utf-8"))["address"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Running(folder, address) if address and _is_served(folder) else None


def stop(folder: Path | str, *, even_in_use: bool = False) -> bool:
    """End the service of a folder, whoever started it, and wait until it has ended; False: none runs.

    Raises
    ------
    FolderInUseError
        Commands use it.
    ConnectionFailedError
        It does not end.
    """
    path = absolute(folder)
    if not path.is_dir() or not _is_served(path):
        return False
    with _alone(path, needed=not even_in_use):
        with suppress(ProcessLookupError):
            os.kill(_master(path), signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while _is_served(path):
            if time.monotonic() > deadline:
                raise ConnectionFailedError(f"The service on {path} has not ended in {STOP_SECONDS:g} s.")
            time.sleep(LOOK_SECONDS)
    return True


def _make(path: Path) -> None:
    """Make a folder that holds personal data: closed to others, and left alone by git."""
    _installed()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    ignored = path / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")


def _installed() -> None:
    """Refuse where there is a client and no service.

    Raises
    ------
    ConnectionFailedError
        With what to do.
    """
    if not entry_points(group="surebox.commands", name="serve"):
        raise ConnectionFailedError(
            "No service runs here, and none is installed: pip install surebox from your index, "
            "or name with --url where one runs."
        )


@contextmanager
def _used(path: Path, *, say: Say) -> Iterator[None]:
    """Keep the service of a folder from ending by itself."""
    try:
        descriptor = os.open(path / USES, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SureboxError(f"The data folder {path} cannot be used: {error.strerror}.") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            say("The service of the folder is ending; another one is started after it.")
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.utime(descriptor)
        yield
        os.utime(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _alone(path: Path, *, needed: bool) -> Iterator[None]:
    """Keep commands away from the folder."""
    descriptor = os.open(path / USES, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if needed:
            os.close(descriptor)
            raise FolderInUseError("Other commands use the service. Wait for them, or use --force.") from None
    try:
        yield
    finally:
        os.close(descriptor)


def _is_served(path: Path) -> bool:
    """Whether a service is the folder's master: it starts, runs or ends."""
    try:
        with (path / "serve.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _master(path: Path) -> int:
    return int((path / "serve.lock").read_text(encoding="ascii").split()[0])


def _start(path: Path, *, idle_minutes: float, say: Say) -> Running:
    """Start the service, or wait for who is starting it."""
    with (path / "starting.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (other := running(path)) is not None:
            return other
        process = None
        if not _is_served(path):
            _installed()
            say(f"Starting the service on {path}; it ends after {idle_minutes:g} idle minutes, or by `surebox stop`.")
            process = _launch(path, idle_minutes=idle_minutes)
        ready = _wait_until_ready(path, process)
        if process is not None:
            process.returncode = 0  # it goes on without us: nobody is to wait for it
        return ready


def _wait_until_ready(path: Path, process: "subprocess.Popen[bytes] | None") -> Running:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        ended = process is None or process.poll() is not None
        if (ready := running(path)) is not None:
            return Running(path, ready.address, started=process is not None and not ended)
        if ended and not _is_served(path):
            raise ConnectionFailedError(f"The service on {path} did not start: {_last_line(path)}")
        if time.monotonic() > deadline:
            raise ConnectionFailedError(f"The service on {path} was not ready in {READY_SECONDS:g} s: see {path}/logs")
        time.sleep(LOOK_SECONDS)


def _launch(path: Path, *, idle_minutes: float) -> "subprocess.Popen[bytes]":
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    environment.setdefault("SUREBOX_IDLE_MINUTES", f"{idle_minutes:g}")
    with open(path / "serve.log", "wb", opener=_private) as log:
        return subprocess.Popen(
            surebox("serve", "--port", "0", "--data-dir", str(path)),
            cwd=path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def surebox(*arguments: str) -> Sequence[str]:
    """The command line of this program, whatever the current folder holds."""
    return [sys.executable, "-P", "-m", "surebox_client.commands", *arguments]


def _last_line(path: Path) -> str:
    lines = (path / "serve.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].removeprefix("surebox: ") if lines else f"see {path / 'logs'}"


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)
