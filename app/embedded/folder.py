"""The data folder of the embedded default: who uses it, its secrets, where its sockets are."""

import fcntl
import json
import os
import secrets
import shutil
import socket
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from app.errors import CannotStartError
from app.processes.private import write_private

#: As long as the longest socket name in the folder, `.s.PGSQL.5432`.
PROBE = ".probe.socket"
SHORT_PREFIX = "surebox-"
#: How long a server secret is known after an operator has set another one.
OVERLAP_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Secrets:
    """Made once, on the first start, and never shown."""

    server_secret: str
    postgres_password: str
    admin_key_written: bool = False
    #: While the secret is being changed: the former one, for how many days from the next start on it is known next to
    #: the new one, and, once the service has started, until when (RFC 3339).
    previous_server_secret: str = ""
    previous_days: float = 0.0
    previous_until: str = ""

    def previous(self, now: datetime) -> str:
        """The former secret while it is known, and always at the first start after the change, which reseals all."""
        over = self.previous_until and datetime.fromisoformat(self.previous_until) <= now
        return "" if over else self.previous_server_secret


@dataclass(frozen=True, slots=True)
class Running:
    """What a running `surebox serve` leaves in its folder, for `surebox keys list --data-dir` and the next start."""

    pid: int
    sockets: str
    environment: dict[str, str]
    #: Of the API; empty while the service starts.
    address: str = ""


class DataFolder:
    """One data folder, of which one process at a time is the master."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self._lock: int | None = None

    @property
    def postgres(self) -> Path:
        """Postgres' own folder."""
        return self.path / "postgres"

    @property
    def scratch(self) -> Path:
        """Scratch files of the workers."""
        return self.path / "scratch"

    @property
    def logs(self) -> Path:
        """One log file per process."""
        return self.path / "logs"

    @property
    def admin_key(self) -> Path:
        """The key written on the first start."""
        return self.path / "admin.key"

    @property
    def signing_key(self) -> Path:
        """The private keys that sign certificates, newest first."""
        return self.path / "signing.pem"

    @property
    def storage_url(self) -> str:
        """Where datasets and releases are."""
        return f"file:{quote(str(self.path / 'storage'))}"

    @property
    def secrets_file(self) -> Path:
        """Made once and never shown."""
        return self.path / "secrets.json"

    @property
    def uses(self) -> Path:
        """What commands lock while they use the service; see `app.embedded.idle`."""
        return self.path / "uses.lock"

    @property
    def storage_mark(self) -> Path:
        """Where the files have the id of their installation; see `app.installation.check`."""
        return self.path / "storage" / "installation" / "id"

    @property
    def prepared(self) -> Path:
        """What the database was prepared for; it lies in Postgres' folder, so that it goes and comes back with it."""
        return self.postgres / "surebox.prepared"

    @property
    def _running(self) -> Path:
        return self.path / "running.json"

    @property
    def _lock_file(self) -> Path:
        return self.path / "serve.lock"

    def take(self) -> None:
        """Make the folder where there is none, and become its master until this process ends.

        Raises
        ------
        CannotStartError
            Another process is its master, it contains something else, or it cannot be written.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_free():
                raise CannotStartError(
                    f"{self.path} contains files under names that Surebox uses, but is not one of its data folders. "
                    "Choose an empty or a new --data-dir."
                )
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CannotStartError(
                f"The data folder {self.path} cannot be used: {error.strerror}. Choose another --data-dir."
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            master = os.read(descriptor, 32).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise CannotStartError(
                f"The data folder {self.path} is in use by another `surebox serve` (process {master}). "
                "Stop that one first, or choose another --data-dir."
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
        self._lock = descriptor
        ignored = self.path / ".gitignore"
        if not ignored.exists():
            write_private(ignored, "*\n")

    def leave(self) -> None:
        """Remove what only a running service needs, and let others be master."""
        self._clear_sockets()
        self._running.unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def secrets(self, *, given: str = "") -> Secrets:
        """Return the secrets; make them on the first start.

        Parameters
        ----------
        given
            A server secret that the operator has set. If it is another one than before, that one is known next to it
            for a while.
        """
        try:
            known = Secrets(**json.loads(self.secrets_file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            if self.postgres.exists():
                raise CannotStartError(
                    f"{self.secrets_file} is gone: without it nothing can open the database in {self.postgres} or "
                    "check a key. Put it back from a backup, or choose another --data-dir."
                ) from None
            made = Secrets(given or secrets.token_urlsafe(48), postgres_password=secrets.token_urlsafe(32))
            self._write_secrets(made)
            return made
        except (ValueError, TypeError) as error:
            raise CannotStartError(f"{self.secrets_file} cannot be read. Put it back from a backup.") from error
        if given and given != known.server_secret:
            return self.change_server_secret(given)
        return known

    def write_admin_key(self, key: str) -> None:
        """Write the admin key, and remember that it was written."""
        write_private(self.admin_key, key + "\n")
        self._write_secrets(replace(self.secrets(), admin_key_written=True))

    def change_server_secret(self, secret: str, *, overlap_days: float = OVERLAP_DAYS) -> Secrets:
        """Have another secret from the next start on; the former one is known next to it for a while.

        Raises
        ------
        CannotStartError
            A former one is still known and is not the one to go back to: what only it opens would be lost.
        """
        known = self.secrets()
        if known.previous(datetime.now(UTC)) not in ("", secret):
            when = known.previous_until or f"{known.previous_days:g} days after the next start"
            raise CannotStartError(
                f"The server secret of {self.path} was changed already, and the one before is known until {when}: a "
                "second change would lose what only that one opens. Change it after that."
            )
        changed = replace(
            known,
            server_secret=secret,
            previous_server_secret=known.server_secret,
            previous_days=overlap_days,
            previous_until="",
        )
        self._write_secrets(changed)
        return changed

    def begin_overlap(self, now: datetime) -> None:
        """The service starts: from now on the former secret is known for as long as was said when it was changed."""
        known = self.secrets()
        if known.previous_server_secret and not known.previous_until:
            until = now + timedelta(days=known.previous_days)
            self._write_secrets(replace(known, previous_until=until.isoformat()))

    def restore_secrets(self, *, server_secret: str, previous: str) -> None:
        """Have the secrets of a backup, and a database of its own that is yet to be made."""
        password = secrets.token_urlsafe(32)
        self._write_secrets(Secrets(server_secret, password, True, previous, OVERLAP_DAYS if previous else 0.0))

    def _write_secrets(self, known: Secrets) -> None:
        """Without claims that are not so: an older version refuses names that it does not know."""
        write_private(self.secrets_file, json.dumps({name: value for name, value in asdict(known).items() if value}))

    def make_signing_key(self) -> None:
        """Make the first signing key where there is none."""
        from app.certificates.signing import new_pem

        if not self.signing_key.exists():
            write_private(self.signing_key, new_pem())

    def make_sockets(self) -> Path:
        """Make the folder of the Unix sockets: here, or where the path would be too long (107 bytes) elsewhere."""
        self._clear_sockets()
        inside = self.path / "run"
        inside.mkdir(mode=0o700, exist_ok=True)
        if can_bind(inside):
            return inside
        inside.rmdir()
        for parent in dict.fromkeys([tempfile.gettempdir(), "/tmp", "/var/tmp"]):  # noqa: S108
            with suppress(OSError):
                short = Path(tempfile.mkdtemp(prefix=SHORT_PREFIX, dir=parent))
                if can_bind(short):
                    return short
                short.rmdir()
        raise CannotStartError(
            f"No folder for Unix sockets: the path of {self.path} is too long for them or its file system has none, "
            "and so has every temporary folder. Choose a shorter --data-dir."
        )

    def write_running(self, *, sockets: Path, environment: dict[str, str], address: str = "") -> None:
        """Show other commands where the running service is."""
        running = Running(pid=os.getpid(), sockets=str(sockets), environment=environment, address=address)
        write_private(self._running, json.dumps(asdict(running)))

    def running(self) -> Running:
        """Return where the service that runs on this folder is.

        Raises
        ------
        CannotStartError
            None does.
        """
        nobody = CannotStartError(
            f"No `surebox serve` runs on the data folder {self.path}. Start it first, or name its --data-dir."
        )
        try:
            with self._lock_file.open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            running = self._read_running()
            if running is not None:
                return running
        except OSError as error:
            raise nobody from error
        raise nobody

    def _read_running(self) -> Running | None:
        with suppress(OSError, ValueError, TypeError):
            return Running(**json.loads(self._running.read_text(encoding="utf-8")))
        return None

    def _is_free(self) -> bool:
        """Return whether it is ours, or contains nothing under a name that we would write to."""
        if self._lock_file.exists() or self.storage_mark.exists():
            return True
        with suppress(OSError, ValueError, TypeError):  # a copy that was made without the lock
            Secrets(**json.loads(self.secrets_file.read_text(encoding="utf-8")))
            return True
        ours = (self.postgres, self.path / "storage", self.scratch, self.logs, self.path / "run", self.admin_key)
        return not any(path.exists() for path in (*ours, self.secrets_file, self._running, self.signing_key))

    def _clear_sockets(self) -> None:
        """Remove the sockets of a start before this one, if the folder of that name is still ours."""
        running = self._read_running()
        if running is None:
            return
        folder = Path(running.sockets)
        if folder == self.path / "run" or folder.name.startswith(SHORT_PREFIX):
            shutil.rmtree(folder, ignore_errors=True)


def can_bind(folder: Path) -> bool:
    """Return whether a Unix socket can be made in a folder: its path may be too long, its file system may have none."""
    path = folder / PROBE
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(str(path))
    except OSError:
        return False
    path.unlink()
    return True
