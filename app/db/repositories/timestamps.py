"""Timestamps of certificates by an authority: which are due, and those there are."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select, update

from app.contracts.releases import ReleaseState
from app.db.tables.releases import certificate, release


@dataclass(frozen=True, slots=True)
class Due:
    """A certificate that has no timestamp yet."""

    release_id: str
    envelope: bytes


@dataclass(frozen=True, slots=True)
class Timestamp:
    """What an authority answered about a certificate, and the time in it."""

    token: bytes
    at: datetime


def due(connection: Connection, *, limit: int) -> list[Due]:
    """Certificates of published releases without a timestamp; those requested in vain come after the others."""
    statement = (
        select(certificate.c.release_id, certificate.c.envelope)
        .join(release, release.c.id == certificate.c.release_id)
        .where(
            certificate.c.envelope.is_not(None),
            certificate.c.timestamp.is_(None),
            release.c.state == ReleaseState.PUBLISHED,
        )
        .order_by(certificate.c.timestamp_asked_at.nulls_first(), certificate.c.issued_at)
        .limit(limit)
    )
    return [Due(**row) for row in connection.execute(statement).mappings()]


def keep(connection: Connection, *, release_id: str, token: bytes, at: datetime) -> bool:
    """Keep a timestamp, unless there is one or the release has been deleted meanwhile; whether it is kept."""
    statement = update(certificate).where(
        certificate.c.release_id == release_id,
        certificate.c.envelope.is_not(None),
        certificate.c.timestamp.is_(None),
    )
    return connection.execute(statement.values(timestamp=token, timestamped_at=at)).rowcount == 1


def note_failure(connection: Connection, *, release_id: str) -> None:
    """It was requested in vain: others go first now."""
    statement = update(certificate).where(certificate.c.release_id == release_id)
    connection.execute(statement.values(timestamp_asked_at=func.clock_timestamp()))


def get(connection: Connection, *, release_id: str) -> Timestamp | None:
    """The timestamp of a release's certificate."""
    statement = select(certificate.c.timestamp, certificate.c.timestamped_at).where(
        certificate.c.release_id == release_id, certificate.c.timestamp.is_not(None)
    )
    row = connection.execute(statement).first()
    return None if row is None else Timestamp(row.timestamp, row.timestamped_at)


def times(connection: Connection, *, release_id: str) -> tuple[datetime | None, datetime | None]:
    """When the certificate of a release was issued, and when an authority saw it."""
    statement = select(certificate.c.issued_at, certificate.c.timestamped_at).where(
        certificate.c.release_id == release_id
    )
    row = connection.execute(statement).first()
    return (None, None) if row is None else (row.issued_at, row.timestamped_at)
