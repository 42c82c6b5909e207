"""Append-only log of the changes of a job's state."""

from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, Index, Integer, Table, Text, func, text

from app.db.models.job_progress import change
from app.db.models.metadata import metadata

job_event = Table(
    "job_event",
    metadata,
    Column("id", BigInteger, change, primary_key=True, server_default=change.next_value()),
    Column("job_id", Text, ForeignKey("job.id", ondelete="CASCADE"), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Index("ix_job_event_job_id", "job_id", "id"),
    Index("ix_job_event_passing", "at", postgresql_where=text("state IN ('queued', 'running')")),
)
