"""What jobs work on: one row for each field of a specification that names a dataset, a release or an earlier job."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, SmallInteger, Table, Text, text

from app.db.models.metadata import metadata

job_input = Table(
    "job_input",
    metadata,
    Column("job_id", Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("role", Text, primary_key=True, comment="the specification's field"),
    Column("position", SmallInteger, nullable=False, comment="the first dataset is what a release is made from"),
    Column("dataset_id", Text, ForeignKey("dataset.id")),
    Column("release_id", Text, ForeignKey("release.id")),
    Column("source_job_id", Text, ForeignKey("job.id"), comment="an earlier job whose result is used"),
    CheckConstraint("num_nonnulls(dataset_id, release_id, source_job_id) = 1", name="one_object"),
    Index("ix_job_input_dataset_id", "dataset_id", postgresql_where=text("dataset_id IS NOT NULL")),
    Index("ix_job_input_release_id", "release_id", postgresql_where=text("release_id IS NOT NULL")),
    Index("ix_job_input_source_job_id", "source_job_id", postgresql_where=text("source_job_id IS NOT NULL")),
)
