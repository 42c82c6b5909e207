"""The whole result of a job, as the bytes that are served (or the storage key of larger ones)."""

from sqlalchemy import BigInteger, Column, ForeignKey, LargeBinary, Table, Text

from app.db.models.metadata import metadata

job_result = Table(
    "job_result",
    metadata,
    Column("job_id", Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("body", LargeBinary, comment="JSON; null when it lies in storage"),
    Column("key", Text),
    Column("bytes", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
)
