"""Datasets: the profile is public to the owner, `numeric` (extremes) is for validation only."""

from sqlalchemy import JSON, BigInteger, Boolean, CheckConstraint, Column, DateTime, Index, Table, Text, func, text
from sqlalchemy.dialects.postgresql import JSONB

from app.db.models.metadata import metadata

dataset = Table(
    "dataset",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("tags", JSONB, nullable=False, server_default="{}"),
    Column("options", JSONB, nullable=False, comment="ReadOptions of the upload"),
    Column("bytes", BigInteger, nullable=False, comment="of the decoded body"),
    Column("sha256", Text, nullable=False, comment="of the decoded body"),
    Column("rows", BigInteger),
    Column("columns", JSONB, comment="list of contracts.datasets.DatasetColumn"),
    Column("numeric", JSONB, comment="NumericSummary by column; restricted"),
    Column("ingest_job_id", Text, comment="the unlisted job that reads the upload"),
    Column("staged_key", Text, comment="storage key of the upload until it is read"),
    Column("data_key", Text, comment="storage key of the typed Parquet copy"),
    Column("data_bytes", BigInteger),
    Column("error", JSONB, comment="problem of a failed ingest"),
    Column("warnings", JSON, nullable=False, server_default="[]", comment="list of contracts.warnings.JobWarning"),
    Column("same_data_as_dataset_id", Text, comment="the keeper's word: id of a dataset, or `none`"),
    Column("version_of_dataset_id", Text, comment="id of the dataset that it is a new version of"),
    Column("family_id", Text, comment="datasets of the same data"),
    Column("joined_by", JSONB, comment="why it is of its family, as releases.families.reason reads it"),
    Column("by_keeper", Boolean, nullable=False, server_default=text("true"), comment="by a key with jobs:read"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", DateTime(timezone=True)),
    Column("deleted_at", DateTime(timezone=True)),
    CheckConstraint("state IN ('ingesting', 'ready', 'failed', 'deleted')", name="state"),
    Index("ix_dataset_family_id", "family_id"),
    Index("ix_dataset_owner_created_at", "owner", "created_at", "id"),
)
