"""The installation that a database belongs to: one row, made with it. Its id is in storage as well."""

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, DateTime, LargeBinary, Table, Text, func, text

from app.db.models.metadata import metadata

installation = Table(
    "installation",
    metadata,
    Column("single", Boolean, primary_key=True, server_default=text("true")),
    Column("id", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("storage_marked_at", DateTime(timezone=True), comment="when its id was written to storage"),
    Column("orphans_held", BigInteger, nullable=False, server_default="0", comment="objects without a row, left alone"),
    Column("publishing_held_at", DateTime(timezone=True), comment="nothing is published since then"),
    Column("publishing_held_because", Text),
    Column("secret_name", LargeBinary, comment="of the server's secret that the last process has started with"),
    CheckConstraint("single", name="single"),
)
