"""Keyed sketches of the rows of a family's data over a set of columns, and of each column's values."""

from sqlalchemy import BigInteger, Column, ForeignKey, Identity, Index, LargeBinary, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from app.db.models.metadata import metadata

family_sketch = Table(
    "family_sketch",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("family_id", Text, ForeignKey("family.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("columns", JSONB, nullable=False, comment="names, sorted"),
    Column("dataset_id", Text, comment="whose rows they are; null: not known"),
    Column("rows", BigInteger, nullable=False),
    Column("least", LargeBinary, nullable=False, comment="the smallest keyed hashes, 8 bytes each, ascending"),
    Column("repeats", JSONB, nullable=False, comment="[[how often a row occurs, how many such rows there are], ...]"),
    Index("ix_family_sketch_owner", "owner"),
    Index("ix_family_sketch_family_id", "family_id"),
)
