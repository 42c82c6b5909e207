"""What the operator lets an owner have otherwise than all owners."""

from sqlalchemy import CheckConstraint, Column, Double, Table, Text

from app.db.models.metadata import metadata

owner_quota = Table(
    "owner_quota",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("resource", Text, primary_key=True, comment="contracts.usage.LimitedResource"),
    Column("maximum", Double, nullable=False),
    CheckConstraint("maximum >= 0", name="maximum"),
)
