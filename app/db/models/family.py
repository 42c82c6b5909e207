"""Families: the same data of one owner, however often they were uploaded."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Table, Text, func, text

from app.db.models.metadata import metadata

family = Table(
    "family",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("apart", Boolean, nullable=False, server_default=text("false"), comment="the keeper said `new_family`"),
    Column("published", BigInteger, nullable=False, server_default="0", comment="releases ever published of it"),
    Column(
        "confirmed",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="by a keeper; false: its data came by a lesser key, and it is compared with nothing",
    ),
    Column(
        "joined", Boolean, nullable=False, server_default=text("true"), comment="false: confirmed, not compared yet"
    ),
    Column(
        "older_secrets",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="of before secrets were a family's own: it has those of the owner",
    ),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
