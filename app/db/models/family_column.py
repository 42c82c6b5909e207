"""By what data are recognised: keyed fingerprints of their columns as multisets."""

from sqlalchemy import Column, ForeignKey, Index, Table, Text

from app.db.models.metadata import metadata

family_column = Table(
    "family_column",
    metadata,
    Column("family_id", Text, ForeignKey("family.id", ondelete="CASCADE"), primary_key=True),
    Column("fingerprint", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Index("ix_family_column_owner_fingerprint", "owner", "fingerprint"),
)
