"""API keys: only their HMAC is stored."""

from sqlalchemy import Column, DateTime, LargeBinary, Table, Text, func
from sqlalchemy.dialects.postgresql import ARRAY

from app.db.models.metadata import metadata

api_key = Table(
    "api_key",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("revoked_at", DateTime(timezone=True)),
    Column("expires_at", DateTime(timezone=True), comment="it works until then"),
    Column("used_at", DateTime(timezone=True), comment="last use, to the hour"),
    Column("hashed_under", LargeBinary, comment="which of the service's secrets; null: not known"),
)
