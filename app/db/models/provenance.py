"""Provenance, written in the transaction that makes a job succeed."""

from sqlalchemy import Column, DateTime, Double, ForeignKey, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from app.db.models.metadata import metadata

provenance = Table(
    "provenance",
    metadata,
    Column("job_id", Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("owner", Text, nullable=False),
    Column("requested_by", Text, comment="id of the API key"),
    Column("requested_at", DateTime(timezone=True), nullable=False),
    Column("finished_at", DateTime(timezone=True), nullable=False),
    Column("seconds", Double, nullable=False, comment="of the attempt that succeeded"),
    Column("dataset_id", Text, ForeignKey("dataset.id")),
    Column("dataset_sha256", Text),
    Column("spec", JSONB, nullable=False),
    Column("versions", JSONB, nullable=False, comment="code, Python and dependencies"),
    Column("attempts", JSONB, nullable=False),
    Column("release_id", Text),
    Column("release_sha256", JSONB, comment="by format"),
    Column("public", JSONB, nullable=False, comment="W3C PROV-JSON without restricted facts"),
    Column("restricted", JSONB, nullable=False, comment="W3C PROV-JSON, whole"),
)
