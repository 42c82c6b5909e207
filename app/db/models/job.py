"""Jobs. The row is the truth; `attempt` is the fence that every write of a worker carries."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.models.metadata import metadata

job = Table(
    "job",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("kind", Text, nullable=False, comment="anonymization, audit, or the internal ingest"),
    Column("method", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("listed", Boolean, nullable=False, server_default=text("true")),
    Column("state", Text, nullable=False),
    Column("labels", JSONB, nullable=False, server_default="{}"),
    Column("spec", JSONB, nullable=False, comment="as asked, defaults filled in; seed only as 'given' or null"),
    Column("seed", BigInteger, comment="given seed of a test run; never shown"),
    Column("dataset_id", Text, ForeignKey("dataset.id")),
    Column("requested_by", Text, comment="id of the API key that asked"),
    Column("result", JSONB, comment="the summary"),
    Column("release_id", Text),
    Column("error", JSONB, comment="RFC 9457 members"),
    Column("attempt", Integer, nullable=False, server_default="0", comment="fence: claims so far"),
    Column("given_back", Integer, nullable=False, server_default="0", comment="claims that do not count as attempts"),
    Column("cancel_requested_at", DateTime(timezone=True)),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("queued_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("enqueued_at", DateTime(timezone=True), comment="last time the id was sent to the broker"),
    Column("started_at", DateTime(timezone=True)),
    Column("finished_at", DateTime(timezone=True)),
    Column("expires_at", DateTime(timezone=True)),
    CheckConstraint("state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name="state"),
    CheckConstraint("(finished_at IS NULL) = (state IN ('queued', 'running'))", name="finished"),
    Index("ix_job_owner_created_at", "owner", "created_at", "id"),
    Index("ix_job_unfinished", "state", "queue", postgresql_where=text("finished_at IS NULL")),
    Index("ix_job_dataset_id", "dataset_id"),
    Index("ix_job_expires_at", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
)
