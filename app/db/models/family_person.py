"""Columns that say whose record one of a family's is: named once, and counted by from then on."""

from sqlalchemy import Column, ForeignKey, Table, Text

from app.db.models.metadata import metadata

family_person = Table(
    "family_person",
    metadata,
    Column("family_id", Text, ForeignKey("family.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True, comment="of the column"),
    Column("owner", Text, nullable=False),
    Column("fingerprint", Text, comment="of its values as a multiset, keyed; null: many data share them"),
)
