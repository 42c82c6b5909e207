"""Whether a worker of this host lives: what a container's health check asks."""

from app.db.repositories import workers
from app.db.session import Database
from app.processes.place import here

#: Workers are seen every few seconds; silence for so long is not a hiccup of the network.
SILENCE_SECONDS = 60.0


def worker_lives(database: Database) -> bool:
    """Return whether a worker process of this host was seen lately, by the database's clock."""
    host = here()
    with database.read() as connection:
        return any(seen.host == host for seen in workers.recent(connection, within_seconds=SILENCE_SECONDS))
