"""Idempotency keys: unique per owner, written in the transaction of what they guard."""

from sqlalchemy import CheckConstraint, Column, DateTime, Integer, Table, Text, func

from app.db.models.metadata import metadata

idempotency = Table(
    "idempotency",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("token", Text, nullable=False, comment="who holds the lease"),
    Column("leased_until", DateTime(timezone=True), nullable=False),
    Column(
        "state",
        Text,
        nullable=False,
        server_default="reserved",
        comment="reserved, accepted (what it made is there), answered",
    ),
    Column("resource_id", Text, comment="the dataset or job it made"),
    Column("status", Integer, comment="null while in flight"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now(), index=True),
    CheckConstraint("state IN ('reserved', 'accepted', 'answered')", name="state"),
)
