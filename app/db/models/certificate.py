"""Certificates of published releases, each naming the one before it of the same owner: a chain.

A certificate's place in the chain outlives its release: of a deleted one the envelope goes, the digests stay.
"""

from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, LargeBinary, Table, Text, UniqueConstraint

from app.db.models.metadata import metadata

certificate = Table(
    "certificate",
    metadata,
    Column("release_id", Text, ForeignKey("release.id"), primary_key=True),
    Column("owner", Text, nullable=False),
    Column("position", BigInteger, nullable=False, comment="in the owner's chain, from 1; never shown"),
    Column("previous", Text, comment="sha256 of the payload before it"),
    Column("sha256", Text, nullable=False, unique=True, comment="of the payload"),
    Column("envelope", LargeBinary, comment="DSSE as served; null once the release is deleted"),
    Column("issued_at", DateTime(timezone=True), nullable=False),
    Column("timestamp", LargeBinary, comment="RFC 3161 answer about the envelope; goes with it"),
    Column("timestamped_at", DateTime(timezone=True), comment="the time in it"),
    Column("timestamp_asked_at", DateTime(timezone=True), comment="last asked for in vain"),
    UniqueConstraint("owner", "position"),
)
