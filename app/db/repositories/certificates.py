"""Certificates of releases, and the chain that they form for each owner."""

from dataclasses import dataclass, fields
from datetime import datetime

from sqlalchemy import Connection, and_, false, func, insert, select, update

from app.contracts.releases import ReleaseState
from app.db.repositories.entries import mark_stale
from app.db.repositories.releases import COUNTS_FROM_ZERO, ReleaseRow, row_of, select_rows
from app.db.tables.access import signing_key
from app.db.tables.jobs import provenance
from app.db.tables.releases import certificate, release, release_file

_CHAIN_LOCK = 7_305_014
_WITHOUT = and_(
    release.c.state == ReleaseState.PUBLISHED,
    release.c.deleted_at.is_(None),
    ~select(certificate.c.release_id).where(certificate.c.release_id == release.c.id).exists(),
    ~func.coalesce(COUNTS_FROM_ZERO, false()),  # no certificate of today states such numbers
)


@dataclass(frozen=True, slots=True)
class Link:
    """One certificate in its owner's chain."""

    release_id: str
    owner: str
    position: int
    previous: str | None
    sha256: str
    envelope: bytes | None
    issued_at: datetime


def certifiable(connection: Connection, *, release_id: str) -> tuple[ReleaseRow, dict[str, str]] | None:
    """A published release that has no certificate yet, and the checksums of its files by their formats."""
    written = provenance.c.job_id.is_not(None)
    row = connection.execute(select_rows().where(release.c.id == release_id, _WITHOUT, written)).mappings().first()
    if row is None:
        return None
    files = select(release_file.c.format, release_file.c.sha256)
    listed = connection.execute(files.where(release_file.c.release_id == release_id, release_file.c.served))
    return row_of(row), {each.format: each.sha256 for each in listed}


def uncertified(connection: Connection, *, limit: int) -> list[tuple[str, bool]]:
    """Published releases without a certificate, the oldest first, and whether they are older than any signing key."""
    first_key = select(func.min(signing_key.c.created_at)).scalar_subquery()
    without = (
        select(release.c.id, (release.c.published_at < first_key).label("before_keys"))
        .where(_WITHOUT)
        .order_by(release.c.published_at, release.c.id)
        .limit(limit)
    )
    return [(row.id, bool(row.before_keys)) for row in connection.execute(without)]


def lock_chain(connection: Connection, *, owner: str) -> None:
    """Let one transaction at a time add to an owner's chain."""
    connection.execute(select(func.pg_advisory_xact_lock(_CHAIN_LOCK, func.hashtext(owner))))


def head(connection: Connection, *, owner: str) -> tuple[int, str | None]:
    """Place and digest of the last certificate of an owner; 0 and None where there is none."""
    last = (
        select(certificate.c.position, certificate.c.sha256)
        .where(certificate.c.owner == owner)
        .order_by(certificate.c.position.desc())
        .limit(1)
    )
    row = connection.execute(last).first()
    return (0, None) if row is None else (row.position, row.sha256)


def now(connection: Connection) -> datetime:
    """The database's clock, by which keys sign."""
    at: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return at


def insert_certificate(connection: Connection, *, link: Link) -> None:
    """Add a certificate to its owner's chain."""
    mark_stale(connection, release_id=link.release_id)
    connection.execute(
        insert(certificate).values(
            release_id=link.release_id,
            owner=link.owner,
            position=link.position,
            previous=link.previous,
            sha256=link.sha256,
            envelope=link.envelope,
            issued_at=link.issued_at,
        )
    )


def get_envelope(connection: Connection, *, release_id: str) -> bytes | None:
    """The certificate of a release as it is served."""
    statement = select(certificate.c.envelope).where(certificate.c.release_id == release_id)
    return connection.execute(statement).scalar_one_or_none()


def forget_envelope(connection: Connection, *, release_id: str) -> None:
    """The release is deleted: its certificate's place in the chain stays, what it states goes, and its timestamp."""
    mark_stale(connection, release_id=release_id)
    gone = {"envelope": None, "timestamp": None, "timestamped_at": None}
    connection.execute(update(certificate).where(certificate.c.release_id == release_id).values(gone))


def revoked(connection: Connection) -> list[tuple[str, datetime]]:
    """Digests of the certificates of releases that are no longer published, and since when."""
    since = func.coalesce(release.c.withdrawn_at, release.c.deleted_at)
    statement = (
        select(certificate.c.sha256, since.label("since"))
        .join(release, release.c.id == certificate.c.release_id)
        .where(since.is_not(None))
        .order_by(certificate.c.sha256)
    )
    return [(row.sha256, row.since) for row in connection.execute(statement)]


def chains(connection: Connection, *, owner: str | None = None) -> list[Link]:
    """The chains of all owners (or of one), in their order."""
    linked = [certificate.c[each.name] for each in fields(Link)]
    statement = select(*linked).order_by(certificate.c.owner, certificate.c.position)
    if owner is not None:
        statement = statement.where(certificate.c.owner == owner)
    return [Link(**row) for row in connection.execute(statement).mappings()]
