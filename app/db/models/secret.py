"""Random secrets of owners, sealed by the service's: from them follow random choices that are published.

They outlive the data they belong to: the same data, uploaded again, get the same choices.
"""

from sqlalchemy import Column, DateTime, LargeBinary, Table, Text, func

from app.db.models.metadata import metadata

secret = Table(
    "secret",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True, comment="what it is for; of a column the keyed fingerprint of its values"),
    Column("sealed", LargeBinary, nullable=False),
    Column("sealed_under", LargeBinary, nullable=False, index=True, comment="which of the service's secrets opens it"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
