"""Releases: what a succeeded anonymization publishes."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Table,
    Text,
    func,
    text,
)
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
    Column("tags", JSONB, nullable=False, server_default="{}"),
    Column("statistics", JSONB, nullable=False, comment="public statistics"),
    Column(
        "warnings", JSON, nullable=False, server_default="[]", comment="list of contracts.warnings.JobWarning; public"
    ),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("deleted_at", DateTime(timezone=True)),
    Column("state", Text, nullable=False, server_default="published"),
    Column("published_at", DateTime(timezone=True), server_default=func.now(), comment="null: never; it stays"),
    Column("withdrawn_at", DateTime(timezone=True)),
    Column("withdrawn_because", Text),
    Column(
        "made_by", Text, comment="id of the API key that submitted its job; under four eyes another one publishes it"
    ),
    Column("readers", ARRAY(Text), nullable=False, server_default="{}", comment="owners beside its own"),
    Column("public", Boolean, nullable=False, server_default=text("false")),
    Column(
        "findings", JSON, nullable=False, server_default="[]", comment="list of contracts.findings.Finding; restricted"
    ),
    Column("family_id", Text, comment="what it was composed with"),
    Column("composed_after", BigInteger, comment="how many were published of the family when it was composed"),
    Column("composed", JSONB, comment="what it leaves with all that was published by then; restricted"),
    Column("accepts_composition", Boolean, nullable=False, server_default=text("false")),
    Column("base_release_id", Text, ForeignKey("release.id"), comment="of a series: what it is made from alone"),
    Column("previous_release_id", Text, ForeignKey("release.id"), comment="of a new version: whose boxes it has"),
    Column("series_id", Text, comment="the first release that this one goes on"),
    CheckConstraint("state IN ('draft', 'published', 'withdrawn')", name="state"),
    Index("ix_release_family_id", "family_id"),
    Index("ix_release_series_id", "series_id"),
    Index("ix_release_readers", "readers", postgresql_using="gin"),
    Index("ix_release_owner_created_at", "owner", "created_at", "id"),
)
