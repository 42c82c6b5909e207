"""Where the last checkpoint of an unfinished job lies; it holds generator state and is deleted at the end."""

from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, Integer, Table, Text, func

from app.db.models.metadata import metadata

job_checkpoint = Table(
    "job_checkpoint",
    metadata,
    Column("job_id", Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("steps", BigInteger, nullable=False, comment="steps completed when it was taken"),
    Column("key", Text, nullable=False),
    Column("taken_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
)
