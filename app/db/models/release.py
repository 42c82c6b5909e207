"""Releases: what a succeeded anonymization publishes."""

from sqlalchemy import JSON, BigInteger, Column, DateTime, ForeignKey, Index, Table, Text, func
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from app.db.models.metadata import metadata

release = Table(
    "release",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False, server_default="", comment="what the owner calls it"),
    Column("job_id", Text, ForeignKey("job.id"), nullable=False, unique=True),
    Column("dataset_id", Text, ForeignKey("dataset.id"), nullable=False),
    Column("method", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("columns", JSONB, nullable=False),
    Column("flags", ARRAY(Text), nullable=False),
    Column("labels", JSONB, nullable=False, server_default="{}"),
    Column("statistics", JSONB, nullable=False, comment="public statistics"),
    Column("warnings", JSON, nullable=False, server_default="[]", comment="list of contracts.warnings.Warning; public"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("deleted_at", DateTime(timezone=True)),
    Index("ix_release_owner_created_at", "owner", "created_at", "id"),
)
