"""Public halves of the service's signing keys, with the times in which they sign. Private halves are never here."""

from sqlalchemy import Column, DateTime, Table, Text, func
from sqlalchemy.dialects.postgresql import JSONB

from app.db.models.metadata import metadata

signing_key = Table(
    "signing_key",
    metadata,
    Column("id", Text, primary_key=True, comment="RFC 7638 thumbprint"),
    Column("jwk", JSONB, nullable=False, comment="the public half"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("retires_at", DateTime(timezone=True), comment="it signs nothing from then on"),
    Column("revoked_at", DateTime(timezone=True), comment="nothing that it signed is trusted any more"),
    Column("revoked_because", Text),
)
