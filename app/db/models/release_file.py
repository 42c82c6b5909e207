"""The files of a release; they never change, so their checksum is their ETag."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Table, Text, text

from app.db.models.metadata import metadata

release_file = Table(
    "release_file",
    metadata,
    Column("release_id", Text, ForeignKey("release.id", ondelete="CASCADE"), primary_key=True),
    Column("format", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("served", Boolean, nullable=False, server_default=text("true"), comment="false: read by audits only"),
)
