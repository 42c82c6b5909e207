"""Where it is written which record each row of a release stands for. For audits only, never served."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table, Text

from app.db.models.metadata import metadata

release_link = Table(
    "release_link",
    metadata,
    Column("release_id", Text, ForeignKey("release.id", ondelete="CASCADE"), primary_key=True),
    Column("dataset_id", Text, ForeignKey("dataset.id"), nullable=False, comment="the original; without it, no link"),
    Column("key", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Index("ix_release_link_dataset_id", "dataset_id"),
)
