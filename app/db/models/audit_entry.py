"""What was done by whom, beside the chained log of publishing: kept for a time, then removed.

An entry is written in the transaction of what it records. Downloads and refusals are counted instead, by key or address
and minute, so that requests cannot fill the disk.
"""

from sqlalchemy import JSON, BigInteger, Column, DateTime, Identity, Index, Table, Text, func, text

from app.db.models.metadata import metadata

audit_entry = Table(
    "audit_entry",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("owner", Text, nullable=False, comment="whose log it is in; empty: the operator's alone"),
    Column("key_id", Text, comment="id of the API key; null: none, or the service itself"),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False, comment="id of what it was done to"),
    Column("facts", JSON, nullable=False, server_default="{}"),
    Column("count", BigInteger, nullable=False, server_default="1"),
    Column("bucket", Text, comment="what is counted together, and in which minute; null: a single entry"),
    Index("ix_audit_entry_created_at", "created_at"),
    Index("ix_audit_entry_owner_created_at", "owner", "created_at"),
    Index("ix_audit_entry_subject", "subject"),
    Index("uq_audit_entry_bucket", "bucket", unique=True, postgresql_where=text("bucket IS NOT NULL")),
)
