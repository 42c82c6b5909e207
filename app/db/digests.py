"""Digests of stored objects, kept in the database: each change is a transaction of its own."""

from app.contracts.digests import ObjectDigests
from app.db.repositories import stored_objects
from app.db.session import Database


class DatabaseDigests:
    """Digests of stored objects in the database; see `app.storage.digested`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> ObjectDigests | None:
        """The digests of an object, as far as they are known."""
        with self._database.read() as connection:
            return stored_objects.get(connection, key=key)

    def put(self, key: str, digests: ObjectDigests) -> None:
        """Keep the digests of an object."""
        with self._database.unit_of_work() as unit:
            stored_objects.put(unit.connection, key=key, digests=digests)

    def forget(self, key: str) -> None:
        """The object is gone."""
        with self._database.unit_of_work() as unit:
            stored_objects.forget(unit.connection, key=key)

    def copy(self, key: str, to: str) -> None:
        """The object is about to have another key."""
        with self._database.unit_of_work() as unit:
            stored_objects.copy(unit.connection, key=key, to=to)

    def move(self, key: str, to: str) -> None:
        """The object has another key."""
        with self._database.unit_of_work() as unit:
            stored_objects.move(unit.connection, key=key, to=to)

    def note_damaged(self, key: str) -> None:
        """The object is not as written."""
        with self._database.unit_of_work() as unit:
            stored_objects.note_damaged(unit.connection, key=key)
