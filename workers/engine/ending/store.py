"""What an attempt has stored, so that nothing of it stays where the attempt does not succeed.

Keys are an attempt's own, and what a row points to by now is kept: a commit whose answer was lost may have succeeded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from app.datasets.delete import remove_leftovers
from app.db.repositories import expiry
from app.db.repositories.claims import Claim
from app.db.session import Database
from app.errors import UnavailableError
from app.methods.ingest.spec import INGEST
from app.storage.protocol import Storage, Writer

log = structlog.get_logger(__name__)


class Traces:
    """A storage that remembers the keys it was asked to write; else as the one it stands before."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._keys: list[str] = []
        self.chunks, self.fetch, self.delete = storage.chunks, storage.fetch, storage.delete
        self.move, self.list, self.sweep, self.check = storage.move, storage.list, storage.sweep, storage.check

    @contextmanager
    def writer(self, key: str) -> Iterator[Writer]:
        """Write one object."""
        self._keys.append(key)
        with self._storage.writer(key) as writer:
            yield writer

    def put_file(self, key: str, path: Path) -> None:
        """Store a copy of a file."""
        self._keys.append(key)
        self._storage.put_file(key, path)

    def remove(self, claimed: Claim, database: Database) -> None:
        """The attempt has ended: remove what no row points to, and the upload that was read, or refused.

        What cannot be removed now is housekeeping's.
        """
        try:
            if self._keys:
                with database.read() as connection:
                    kept = expiry.referenced(connection, keys=self._keys)
                for key in set(self._keys) - kept:
                    self._storage.delete(key)
            made_from = claimed.inputs.dataset
            if claimed.kind == INGEST and made_from is not None:
                remove_leftovers(database=database, storage=self._storage, dataset_id=made_from.id)
        except UnavailableError as error:
            log.warning("job.traces_left", error=type(error).__name__)
