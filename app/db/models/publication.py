"""The ledger of a family: what was ever published of it. Deleting a release or a dataset takes nothing back."""

from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, Identity, Index, Table, Text, func
from sqlalchemy.dialects.postgresql import JSONB

from app.db.models.metadata import metadata

publication = Table(
    "publication",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("family_id", Text, ForeignKey("family.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("release_id", Text, nullable=False, unique=True),
    Column("method", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("base_release_id", Text, comment="of a series: it tells no more than this one"),
    Column("previous_release_id", Text, comment="of a new version: whose boxes it has"),
    Column("composed", JSONB, comment="what all up to this one leave together"),
    Index("ix_publication_family_id", "family_id", "id"),
)
