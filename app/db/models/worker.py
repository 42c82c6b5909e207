"""Worker processes and when each was last seen: what readiness and the memory metric are read from."""

from sqlalchemy import BigInteger, Column, DateTime, Integer, Table, Text, func
from sqlalchemy.dialects.postgresql import JSONB

from app.db.models.metadata import metadata

worker = Table(
    "worker",
    metadata,
    Column("id", Text, primary_key=True),
    Column("queue", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("rss_bytes", BigInteger, nullable=False),
    Column("concurrency", Integer, nullable=False, server_default="1", comment="jobs it runs at a time"),
    Column("knows", JSONB, comment="[method, version] pairs it claims; null: it claims anything"),
    Column("memory_bytes", BigInteger, comment="that each of its jobs may take; null: it does not say"),
    Column("started_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("seen_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
)
