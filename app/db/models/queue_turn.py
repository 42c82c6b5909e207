"""When an owner last had a worker of a queue: owners take turns."""

from sqlalchemy import Column, DateTime, Table, Text, func

from app.db.models.metadata import metadata

queue_turn = Table(
    "queue_turn",
    metadata,
    Column("queue", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("claimed_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
)
