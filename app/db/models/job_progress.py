"""Progress and heartbeat: a narrow row beside the job, because it is written twice a second."""

from sqlalchemy import BigInteger, Column, DateTime, Double, ForeignKey, Sequence, Table, Text, func

from app.db.models.metadata import metadata

#: One sequence numbers events and progress alike, so that the ids of an event stream increase.
change = Sequence("job_change", metadata=metadata)

job_progress = Table(
    "job_progress",
    metadata,
    Column("job_id", Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("fraction", Double, nullable=False, server_default="0"),
    Column("stage", Text, nullable=False, server_default="queued"),
    Column("version", BigInteger, change, nullable=False, server_default=change.next_value()),
    Column("beat_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    postgresql_with={"fillfactor": 70},
)
