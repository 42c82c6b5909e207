"""What each publication has written to storage before it was answered: the index of these objects."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Table, Text, func, text

from app.db.models.metadata import metadata

publication_entry = Table(
    "publication_entry",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, comment="from 1, without gaps"),
    Column("release_id", Text, nullable=False, unique=True),
    Column("key", Text, nullable=False, comment="storage key"),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("stale", Boolean, nullable=False, server_default=text("false"), comment="its rows have changed since"),
)
