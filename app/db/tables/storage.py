"""Digests of stored objects."""

from sqlalchemy import BigInteger, Column, DateTime, Index, LargeBinary, Table, Text, text

from app.db.tables.metadata import metadata

#: The digests of each object, in another place than its bytes, and when they were last compared.
stored_object = Table(
    "stored_object",
    metadata,
    Column("key", Text, primary_key=True),
    Column("bytes", BigInteger, comment="null: not known yet"),
    Column("pieces", LargeBinary, comment="SHA-256 of each mebibyte; null: not known yet"),
    Column("checked_at", DateTime(timezone=True), comment="when it was last read and as written, or found damaged"),
    Column("damaged_at", DateTime(timezone=True), comment="since when it is not as written"),
    Index("ix_stored_object_checked_at", text("checked_at NULLS FIRST"), postgresql_where=text("damaged_at IS NULL")),
    Index("ix_stored_object_damaged", "checked_at", postgresql_where=text("damaged_at IS NOT NULL")),
)
