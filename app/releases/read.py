"""Reading releases: the public part of them, and for their keepers the drafts; `Viewer` decides what is visible."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from app.contracts.releases import Release, ReleaseFormat
from app.db.repositories import releases
from app.db.repositories.release_access import Viewer
from app.db.repositories.releases import ReleaseFile, ReleaseFilter
from app.db.session import Database
from app.errors import InvalidError, NotFoundError
from app.methods.catalogue import public_statistics

__all__ = [
    "ReleaseFile", "ReleaseFilter", "latest_release", "list_releases", "read_file", "read_parameters",
    "read_provenance", "read_release", "read_statistics",
]  # fmt: skip


def read_release(*, database: Database, viewer: Viewer, release_id: str) -> Release:
    """A release.

    Raises
    ------
    NotFoundError
        If there is none, it was deleted, or it is not there for whoever asks.
    """
    with database.read() as connection:
        release = releases.get(connection, viewer=viewer, release_id=release_id)
    if release is None:
        raise _absent()
    return release


def list_releases(
    *, database: Database, viewer: Viewer, only: ReleaseFilter, before: tuple[datetime, str] | None, limit: int
) -> Sequence[Release]:
    """Releases, newest first."""
    with database.read() as connection:
        return releases.list_releases(connection, viewer=viewer, only=only, before=before, limit=limit)


def latest_release(*, database: Database, viewer: Viewer, series_id: str | None, tags: Mapping[str, str]) -> str:
    """Id of the newest published release of a series, or under tags.

    Raises
    ------
    InvalidError
        Neither is named.
    NotFoundError
        There is none, or none that is there for whoever asks.
    """
    if series_id is None and not tags:
        raise InvalidError.at("?series_id", "name a series (`series_id`), a `tag`, or both: the newest of which?")
    with database.read() as connection:
        release_id = releases.latest(connection, viewer=viewer, series_id=series_id, tags=tags)
    if release_id is None:
        raise NotFoundError("no release of this series, or with these tags, is published")
    return release_id


def read_file(*, database: Database, viewer: Viewer, release_id: str, release_format: ReleaseFormat) -> ReleaseFile:
    """Where one file of the release is.

    Raises
    ------
    NotFoundError
        If there is no such release, or it has no file of this format.
    """
    with database.read() as connection:
        file = releases.get_file(connection, viewer=viewer, release_id=release_id, release_format=release_format.value)
        known = file is not None or releases.get(connection, viewer=viewer, release_id=release_id) is not None
    if file is not None:
        return file
    if known:
        raise NotFoundError(f"this release has no file in {release_format.value}; its `files` names those there are")
    raise _absent()


def read_statistics(*, database: Database, viewer: Viewer, release_id: str) -> list[dict[str, Any]]:
    """What the release states about its statistics, without what only the job's result may state."""
    return read_statistics_of(database=database, viewer=viewer, release_id=release_id)[1]


def read_statistics_of(*, database: Database, viewer: Viewer, release_id: str) -> tuple[str, list[dict[str, Any]]]:
    """The release's method, and what the release states about its statistics."""
    with database.read() as connection:
        stored = releases.get_statistics(connection, viewer=viewer, release_id=release_id)
    if stored is None:
        raise _absent()
    return stored.method, public_statistics(stored.method, stored.statistics)


def read_parameters(*, database: Database, viewer: Viewer, release_id: str) -> dict[str, Any]:
    """What may be published of the specification of the release."""
    with database.read() as connection:
        parameters = releases.get_parameters(connection, viewer=viewer, release_id=release_id)
    if parameters is None:
        raise _absent()
    return dict(parameters)


def read_provenance(*, database: Database, viewer: Viewer, release_id: str) -> Mapping[str, Any]:
    """The public part of the provenance of the release, as PROV-JSON."""
    with database.read() as connection:
        provenance = releases.get_public_provenance(connection, viewer=viewer, release_id=release_id)
    if provenance is None:
        raise _absent()
    return provenance


def _absent() -> NotFoundError:
    return NotFoundError("there is no release with this id")
