"""The database of a data folder on which nothing runs, for the work before a service starts."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr

from app.embedded.folder import DataFolder
from app.embedded.postgres import PostgresServer
from app.embedded.prepare import create_database
from app.installation.manifest import SECRETS, SIGNING, Manifest
from app.installation.restore import check_storage
from app.processes.private import write_private
from app.settings import Settings
from app.storage.factory import open_storage


@contextmanager
def offline(folder: DataFolder) -> Iterator[Settings]:
    """Be the folder's only master, with its Postgres running and nothing else; the settings of its parts.

    Raises
    ------
    CannotStartError
        A service runs on it, or Postgres does not start.
    """
    folder.take()
    try:
        secrets = folder.secrets()
        folder.logs.mkdir(mode=0o700, exist_ok=True)
        sockets = folder.make_sockets()
        server = PostgresServer(
            folder=folder.postgres,
            sockets=sockets,
            password=secrets.postgres_password,
            log=folder.logs / "postgres.log",
        )
        folder.write_running(sockets=sockets, environment={})
        server.start()
        try:
            create_database(server.url())
            yield Settings(
                database_url=server.url(),
                storage_url=folder.storage_url,
                server_secret=SecretStr(secrets.server_secret),
                previous_server_secret=SecretStr(secrets.previous(datetime.now(UTC))),
                signing_key_file=folder.signing_key,
            )
        finally:
            server.stop()
    finally:
        folder.leave()


def make_room(folder: DataFolder, backup: Path, manifest: Manifest, *, say: Callable[[str], None]) -> None:
    """Put a backup's secrets in place and set aside what the folder had but its files, which live on.

    Raises
    ------
    CannotStartError
        A service runs on the folder, or its files are another installation's: nothing is touched.
    """
    folder.take()
    try:
        check_storage(open_storage(Settings(storage_url=folder.storage_url)), manifest)
        aside = folder.path / f"before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S}"
        for path in (folder.postgres, folder.secrets_file, folder.signing_key, folder.admin_key):
            if path.exists():
                aside.mkdir(mode=0o700, exist_ok=True)
                path.rename(aside / path.name)
        if aside.exists():
            say(f"What was there before is in {aside}: remove it once the service is well.")
        kept = json.loads((backup / SECRETS).read_text(encoding="utf-8"))
        folder.restore_secrets(server_secret=kept["server_secret"], previous=kept["previous_server_secret"])
        if kept.get("admin_key"):
            write_private(folder.admin_key, kept["admin_key"] + "\n")
        if (backup / SIGNING).exists():
            write_private(folder.signing_key, (backup / SIGNING).read_text(encoding="utf-8"))
    finally:
        folder.leave()
