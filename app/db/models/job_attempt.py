"""Attempts of a job and how each ended."""

from sqlalchemy import Column, DateTime, ForeignKey, Integer, Table, Text, func

from app.db.models.metadata import metadata

job_attempt = Table(
    "job_attempt",
    metadata,
    Column("job_id", Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("ended_at", DateTime(timezone=True)),
    Column("outcome", Text, comment="succeeded, failed, cancelled, lost, given back, time limit"),
)
