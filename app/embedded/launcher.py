"""`surebox serve` on one machine: two servers, the workers, housekeeping and the API as children of one process."""

import os
import signal
import site
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryFile
from types import FrameType

from app.embedded.broker import BrokerServer
from app.embedded.child import Child, stop, surebox
from app.embedded.folder import DataFolder
from app.embedded.forked import FORKS, fork
from app.embedded.idle import IdleWatch
from app.embedded.listening import address, are_workers, parts_missing
from app.embedded.logs import LogFiles
from app.embedded.postgres import LOG_FOLDER, PostgresServer
from app.embedded.supervisor import Command, Fork, Part, Supervisor
from app.embedded.worker import prepare_to_fork
from app.errors import CannotStartError, UnavailableError
from app.processes.cores import usable_cores
from app.processes.importing import Importing, import_all
from app.processes.tied import tied_to_parent
from app.settings import get_settings

LOOK_SECONDS = 0.1
PREPARE_LOOK_SECONDS = 0.02
ROTATE_SECONDS = 60.0
IDLE_LOOK_SECONDS = 1.0
HOUSEKEEPING_LOOK_SECONDS = 0.5
READY_SECONDS = 120.0
#: Of a start that has left out the preparation of its database, until it prepares it after all.
LOOK_AT_DATABASE_SECONDS = 20.0
PREPARE_SECONDS = 600.0
#: Seconds between SIGTERM and SIGKILL.
API_PATIENCE = 5.0
WORKER_PATIENCE = 8.0
#: Processes of the interactive queue, half of which at most work for one owner: while one reads an upload, another
#: answers questions.
ANSWERING = 4
#: Processes of the batch queue, unless fewer are asked for: one of several is left to short jobs.
LEAST_WORKERS = 2
#: Stages, stopped from the last to the first.
DATABASE, BROKER, WORKERS, API = range(4)


class StopAsked(Exception):  # noqa: N818
    """A signal asks us to stop."""


class Launcher:
    """Everything that runs on one data folder.

    Parameters
    ----------
    folder
        The data folder.
    listener
        The socket of the API, already bound: it outlives an API process that dies.
    workers
        Processes of the batch queue.
    command_line
        Our own command line, which does what `sys.argv` says: forks of this process enter it.
    say
        Receives in one line what a person should know.
    """

    def __init__(
        self,
        *,
        folder: DataFolder,
        listener: socket.socket,
        workers: int,
        command_line: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self.folder = folder
        self.listener = listener
        self.workers = workers
        self.command_line = command_line
        self.say = say
        self.supervisor = Supervisor(say)
        self._stop = False
        settings = get_settings()
        self._logs = LogFiles(
            folder.logs,
            days=settings.log_file_days,
            total_bytes=settings.log_files_bytes,
            collected=folder.postgres / LOG_FOLDER,
        )
        self._idle: IdleWatch | None = None
        self._importing = Importing(import_front)
        self._workers: list[tuple[str, Part]] = []
        self._housekeeping: Part | None = None

    def run(self) -> None:
        """Start, keep running until SIGTERM or SIGINT, stop.

        Raises
        ------
        CannotStartError
            The folder is in use or not ours, something does not start, or a part died again and again.
        """
        self.folder.take()
        try:
            with self._signals():
                try:
                    self._start()
                    self._watch()
                except StopAsked:
                    self.say("Stopping.")
                finally:
                    self.listener.close()
                    self.supervisor.stop_all()
        finally:
            self.folder.leave()
            if self._idle is not None:
                self._idle.release()

    def _start(self) -> None:
        settings = get_settings()
        secrets = self.folder.secrets(given=settings.server_secret.get_secret_value())
        now = datetime.now(UTC)
        self.folder.begin_overlap(now)
        self.folder.make_signing_key()
        for path in (self.folder.scratch, self.folder.logs):
            path.mkdir(mode=0o700, exist_ok=True)
        self._logs.rotate(now)
        sockets = self.folder.make_sockets()
        postgres = PostgresServer(
            folder=self.folder.postgres,
            sockets=sockets,
            password=secrets.postgres_password,
            log=self.folder.logs / "postgres.log",
        )
        broker = BrokerServer(sockets=sockets, password=token_urlsafe(32), log=self.folder.logs / "valkey.log")
        environment = self._addresses(postgres, broker) | {
            "SUREBOX_SERVER_SECRET": secrets.server_secret,
            "SUREBOX_PREVIOUS_SERVER_SECRET": settings.previous_server_secret.get_secret_value()
            or secrets.previous(now),
        }
        self._refuse_lost_database(known=secrets.admin_key_written)
        self.folder.write_running(sockets=sockets, environment=environment)
        inherited = child_environment(environment)
        self._importing.start()  # while the servers start; it has ended before the first fork
        self._add("Postgres", postgres, stage=DATABASE, death_signal=signal.SIGINT)
        self._add("Valkey", broker, stage=BROKER)
        prepared = secrets.admin_key_written and self._is_prepared()
        if not prepared:
            self._prepare(inherited, with_key=not secrets.admin_key_written)
        self._importing.finish()
        self._start_processes(
            inherited, prepare=partial(self._prepare, inherited, with_key=False) if prepared else None
        )
        self.folder.write_running(sockets=sockets, environment=environment, address=address(self.listener))
        self._watch_idleness(environment["DATABASE_URL"])
        self._announce()

    def _addresses(self, postgres: PostgresServer, broker: BrokerServer) -> dict[str, str]:
        """Settings by which our processes find the servers, the files and the key."""
        return {
            "DATABASE_URL": postgres.url(),
            "REDIS_URL": broker.url(),
            "STORAGE_URL": self.folder.storage_url,
            "SUREBOX_SIGNING_KEY_FILE": str(self.folder.signing_key),
            "SUREBOX_STAGING_DIR": str(self.folder.scratch),
        }

    def _refuse_lost_database(self, *, known: bool) -> None:
        """Refuse to make a new database where an earlier start had one: what is known of releases would be gone.

        Raises
        ------
        CannotStartError
            With what to do.
        """
        if known and not self.folder.postgres.exists():
            raise CannotStartError(
                f"The database {self.folder.postgres} is gone, which knows what was released and every key. Put it "
                "back, bring a backup back with `surebox restore`, or choose another --data-dir."
            )

    def _preparation(self) -> str:
        """What tells this database, these files and these migrations from others: where one differs, all is compared.

        The cluster has a number of its own since `initdb`, at the beginning of `pg_control`.
        """
        revisions = sorted(path.name for path in (files("migrations") / "versions").iterdir() if path.is_file())
        files_are = "sealed" if self._has_keys() else "plain"
        cluster = (self.folder.postgres / "global" / "pg_control").read_bytes()[:8].hex()
        inode = self.folder.postgres.stat().st_ino
        mark = self.folder.storage_mark.read_bytes().hex() if self.folder.storage_mark.exists() else "none"
        return "\n".join([str(inode), cluster, mark, files_are, *revisions])

    @staticmethod
    def _has_keys() -> bool:
        """Whether settings name a key of the storage."""
        settings = get_settings()
        return bool(settings.storage_key.get_secret_value() or settings.previous_storage_key.get_secret_value())

    def _is_prepared(self) -> bool:
        """Whether an earlier start has brought the database here; keys are compared with the files each time."""
        if self._has_keys():
            return False
        try:
            return self.folder.prepared.read_text(encoding="utf-8") == self._preparation()
        except OSError:
            return False

    def _watch_idleness(self, database_url: str) -> None:
        minutes = get_settings().idle_minutes
        if minutes is not None:
            busy = partial(has_unfinished_jobs, database_url)
            self._idle = IdleWatch(self.folder.uses, seconds=60 * minutes, busy=busy)

    def _add(
        self, name: str, part: PostgresServer | BrokerServer | Part, *, stage: int, **options: signal.Signals
    ) -> None:
        self._pause(0)
        self.supervisor.add(name, part, stage=stage, **options)

    def _prepare(self, environment: dict[str, str], *, with_key: bool) -> None:
        """Make and migrate the database, compare it with the files, and make the admin key on the first start.

        A process of its own does it, which then ends.
        """
        arguments = ("prepare", *(["--admin-key"] if with_key else []))
        with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
            process = self._preparing(arguments, environment, outputs=(output.fileno(), errors.fileno()))
            try:
                self._finish(process)
            finally:
                stop(process, steps=[])
            for file in (output, errors):
                file.seek(0)
            out, err = output.read(), errors.read()
        if process.returncode:
            reason = (err.strip().splitlines() or ["no message"])[-1].removeprefix("surebox: ")
            if "refuses the password" in reason:
                raise CannotStartError(
                    f"{self.folder.postgres} is not the database that {self.folder.secrets_file} opens: one of the two "
                    "was replaced. Put both back as they were together, or choose another --data-dir."
                )
            raise CannotStartError(f"The database in {self.folder.path} could not be prepared: {reason}")
        for line in err.strip().splitlines():
            self.say(line)
        if with_key:
            self.folder.write_admin_key(out.strip().splitlines()[-1])
        self.folder.prepared.write_text(self._preparation(), encoding="utf-8")

    def _preparing(self, arguments: Sequence[str], environment: dict[str, str], *, outputs: tuple[int, int]) -> Child:
        if FORKS:
            self._importing.finish()
            return fork(self._entering(arguments), name="surebox-prepare", outputs=outputs, environment=environment)
        return subprocess.Popen(
            tied_to_parent(surebox(*arguments), death_signal=signal.SIGKILL),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=outputs[0],
            stderr=outputs[1],
            start_new_session=True,
        )

    def _entering(self, arguments: Sequence[str]) -> Callable[[], None]:
        """What a fork of ours does: what the command line does with these arguments."""

        def enter() -> None:
            get_settings.cache_clear()
            sys.argv = ["surebox", *arguments]
            self.command_line()

        return enter

    def _finish(self, process: Child) -> None:
        deadline = time.monotonic() + PREPARE_SECONDS
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise CannotStartError(f"The database was not prepared in {PREPARE_SECONDS:g} s.")
            self._pause(PREPARE_LOOK_SECONDS)

    def _part(
        self, name: str, *arguments: str, environment: dict[str, str], patience: float, keep_fds: Sequence[int] = ()
    ) -> Part:
        """One of our own processes: a fork of this one, which has imported most, or where that may not be a program."""
        log = self.folder.logs / f"{name}.log"
        own = {**environment, "SUREBOX_LOG_FILE": str(log.absolute())}
        if not FORKS:
            return Command(surebox(*arguments), environment=own, log=log, patience=patience, keep_fds=keep_fds)
        listed = f"surebox-{name.removeprefix('worker-')}"
        return Fork(
            self._entering(arguments), name=listed, environment=own, log=log, patience=patience, keep_fds=keep_fds
        )

    def _start_processes(self, environment: dict[str, str], *, prepare: Callable[[], None] | None) -> None:
        fd = self.listener.fileno()
        api = self._part(
            "api", "serve", "--listen-fd", str(fd), environment=environment, patience=API_PATIENCE, keep_fds=[fd]
        )
        self._add("The API", api, stage=API)
        self._importing = Importing(self._import_algorithms)
        self._importing.start()
        # The API compares database and files for all of them.
        interactive = ("worker", "--compared", "--queue", "interactive", "--concurrency", str(ANSWERING))
        batch = ("worker", "--compared", "--queue", "batch", "--concurrency", str(self.workers))
        for queue, arguments in (("interactive", interactive), ("batch", batch)):
            worker = self._part(f"worker-{queue}", *arguments, environment=environment, patience=WORKER_PATIENCE)
            self._workers.append((f"The {queue} worker", worker))
        self._housekeeping = self._part("housekeeping", "housekeeping", environment=environment, patience=API_PATIENCE)
        self._wait_until_ready(prepare)

    def _import_algorithms(self) -> None:
        """Import what workers need, while the API starts; forks of this process have it."""
        if FORKS:
            settings = get_settings().model_copy(update={"staging_dir": self.folder.scratch})
            prepare_to_fork(settings, threads=usable_cores())

    def _look_after(self) -> None:
        """Look after all parts, and start workers, once nothing is imported any more: a fork needs one thread."""
        if not self._importing.is_alive():
            self._importing.finish()
            self.supervisor.look()
            for name, part in self._workers:
                self._add(name, part, stage=WORKERS)
            self._workers.clear()

    def _keep_house(self) -> None:
        """Start housekeeping once all else is there: nothing waits for it, and until then the cores are busy."""
        if self._housekeeping is not None and not self._workers and self._missing() == []:
            self._add("Housekeeping", self._housekeeping, stage=WORKERS)
            self._housekeeping = None

    def _wait_until_ready(self, prepare: Callable[[], None] | None) -> None:
        """Wait until the API can be asked; jobs wait for workers that come up meanwhile.

        Where a part ends, or after a while, prepare the database after all: that says what is wrong.
        """
        started = time.monotonic()
        while not are_workers(self._missing()):
            self._look_after()
            waited = time.monotonic() - started
            if prepare is not None and (waited > LOOK_AT_DATABASE_SECONDS or self.supervisor.has_lost_a_part()):
                prepare()
                prepare = None
            if waited > READY_SECONDS:
                raise CannotStartError(f"The service was not ready in {READY_SECONDS:g} s; see {self.folder.logs}.")
            self._pause(LOOK_SECONDS)

    def _missing(self) -> list[str] | None:
        return parts_missing(*(get_settings().operations_address or self.listener.getsockname()[:2]))

    def _announce(self) -> None:
        self.say(f"Surebox is ready at {address(self.listener)}")
        if self.folder.admin_key.exists():
            self.say(f"Admin key: {self.folder.admin_key}")
        self.say(f"Logs: {self.folder.logs}")
        self.say("Stop with Ctrl-C.")

    def _watch(self) -> None:
        rotate_at = idle_look_at = look_at = time.monotonic()
        while True:
            self._look_after()
            if time.monotonic() >= look_at:
                self._keep_house()
                look_at = time.monotonic() + HOUSEKEEPING_LOOK_SECONDS
            if self._idle is not None and time.monotonic() >= idle_look_at:
                if self._idle.is_over():
                    self.say("No one has used the service for a while.")
                    raise StopAsked
                idle_look_at = time.monotonic() + IDLE_LOOK_SECONDS
            if time.monotonic() >= rotate_at:
                self._logs.rotate(datetime.now(UTC))
                rotate_at = time.monotonic() + ROTATE_SECONDS
            self._pause(LOOK_SECONDS)

    def _pause(self, seconds: float) -> None:
        """Sleep, unless a signal asks us to stop."""
        if not self._stop and seconds > 0:
            time.sleep(seconds)
        if self._stop:
            raise StopAsked

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Note SIGTERM, SIGINT and SIGHUP instead of dying of them: children are stopped in order."""

        def note(_number: int, _frame: FrameType | None) -> None:
            self._stop = True

        numbers = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
            numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, note) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def import_front() -> None:
    """Import what forks of this process need first."""
    if FORKS:
        import_all(["app.embedded.api", "app.installation.check", "app.main", "app.housekeeping.loop"])


def has_unfinished_jobs(database_url: str) -> bool:
    """Whether a job waits or runs; a database that does not answer is not known to have none."""
    from app.db.repositories.reaping import any_unfinished
    from app.db.session import Database

    database = Database(database_url, pool_size=1)
    try:
        with database.read() as connection:
            return any_unfinished(connection)
    except UnavailableError:
        return True
    finally:
        database.close()


def child_environment(ours: dict[str, str]) -> dict[str, str]:
    """Return what a child of ours sees: the caller's settings, and the addresses of our servers instead of none."""
    inherited = dict(os.environ)
    root = str(Path(__file__).parents[2])
    if root not in (*site.getsitepackages(), site.getusersitepackages()):
        # Run from a source tree: `-P` keeps the current folder off the import path.
        inherited["PYTHONPATH"] = os.pathsep.join(filter(None, [root, inherited.get("PYTHONPATH")]))
    return {**inherited, **ours}
