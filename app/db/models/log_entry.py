"""The log of an owner: appended to, never changed; each entry holds the hash of the one before."""

from sqlalchemy import JSON, BigInteger, Column, DateTime, Index, Table, Text

from app.db.models.metadata import metadata

log_entry = Table(
    "log_entry",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, comment="from 1, without gaps"),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("key_id", Text, comment="id of the API key; null: the service itself"),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False, comment="id of what it was done to"),
    Column("facts", JSON, nullable=False),
    Column("previous", Text, nullable=False, comment="hash of the entry before; zeros before the first"),
    Column("hash", Text, nullable=False),
    Index("ix_log_entry_owner_created_at", "owner", "created_at"),
)
