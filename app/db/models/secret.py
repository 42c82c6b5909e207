"""Random secrets of owners, sealed by the service's: from them follow random choices that are published.

Those of columns are a family's, which outlives its data: the same data, uploaded again, get the same choices.
"""

from sqlalchemy import Column, DateTime, ForeignKey, Index, LargeBinary, Table, Text, func

from app.db.models.metadata import metadata

secret = Table(
    "secret",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True, comment="what it is for; of a column the keyed fingerprint of its values"),
    Column("sealed", LargeBinary, nullable=False),
    Column("sealed_under", LargeBinary, nullable=False, index=True, comment="which of the service's secrets opens it"),
    Column("family_id", Text, ForeignKey("family.id", ondelete="CASCADE"), comment="of a column: whose data it is of"),
    Column("fingerprint", Text, comment="of a column: keyed, of the multiset of its values"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Index("ix_secret_family_id", "family_id", "fingerprint"),
)
