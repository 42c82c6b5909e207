"""Tables of datasets and of their families: the same data of one owner."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    LargeBinary,
    Table,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.metadata import Id, metadata

#: Datasets: the profile is public to the owner, `numeric` (extremes) is for validation only.
dataset = Table(
    "dataset",
    metadata,
    Column("id", Id, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("tags", JSONB, nullable=False, server_default="{}"),
    Column("options", JSONB, nullable=False, comment="ReadOptions of the upload"),
    Column("bytes", BigInteger, nullable=False, comment="of the decoded body"),
    Column("sha256", Text, nullable=False, comment="of the decoded body"),
    Column("rows", BigInteger),
    Column("columns", JSONB, comment="list of contracts.datasets.DatasetColumn"),
    Column("numeric", JSONB, comment="NumericSummary by column; restricted"),
    Column("ingest_job_id", Id, comment="the unlisted job that reads the upload"),
    Column("staged_key", Text, comment="storage key of the upload until it is read"),
    Column("data_key", Text, comment="storage key of the typed Parquet copy"),
    Column("data_bytes", BigInteger),
    Column("error", JSONB, comment="problem of a failed ingest"),
    Column("warnings", JSON, nullable=False, server_default="[]", comment="list of contracts.warnings.JobWarning"),
    Column("same_data_as_dataset_id", Id, comment="the keeper's word: id of a dataset, or `none`"),
    Column("version_of_dataset_id", Id, comment="id of the dataset that it is a new version of"),
    Column("family_id", Id, comment="datasets of the same data"),
    Column("joined_by", JSONB, comment="why it is of its family, as releases.families.reason reads it"),
    Column("by_keeper", Boolean, nullable=False, server_default=text("true"), comment="by a key with jobs:read"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", DateTime(timezone=True)),
    Column("deleted_at", DateTime(timezone=True)),
    CheckConstraint("state IN ('ingesting', 'ready', 'failed', 'deleted')", name="state"),
    Index("ix_dataset_family_id", "family_id"),
    Index("ix_dataset_owner_created_at", "owner", "created_at", "id"),
    Index("ix_dataset_owner_sha256", "owner", "sha256"),
    Index("ix_dataset_data_key", "data_key", postgresql_where=text("data_key IS NOT NULL")),
    Index("ix_dataset_staged_key", "staged_key", postgresql_where=text("staged_key IS NOT NULL")),
)

#: Families: the same data of one owner, however often they were uploaded.
family = Table(
    "family",
    metadata,
    Column("id", Id, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("apart", Boolean, nullable=False, server_default=text("false"), comment="the keeper said `new_family`"),
    Column("published", BigInteger, nullable=False, server_default="0", comment="releases ever published of it"),
    Column(
        "confirmed",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="by a keeper; false: its data came by a lesser key, and it is compared with nothing",
    ),
    Column(
        "joined", Boolean, nullable=False, server_default=text("true"), comment="false: confirmed, not compared yet"
    ),
    Column(
        "older_secrets",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="of before secrets were a family's own: it has those of the owner",
    ),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)

#: Columns that state whose record one of a family's is: named once, and counted by from then on.
family_person = Table(
    "family_person",
    metadata,
    Column("family_id", Id, ForeignKey("family.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True, comment="of the column"),
    Column("owner", Text, nullable=False),
    Column("fingerprint", Text, comment="of its values as a multiset, keyed; null: many data share them"),
)

#: By what families were recognised before: not read any more, but processes of before may still write it.
family_column = Table(
    "family_column",
    metadata,
    Column("family_id", Id, ForeignKey("family.id", ondelete="CASCADE"), primary_key=True),
    Column("fingerprint", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Index("ix_family_column_owner_fingerprint", "owner", "fingerprint"),
)
family_sketch = Table(
    "family_sketch",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("family_id", Id, ForeignKey("family.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("columns", JSONB, nullable=False, comment="names, sorted"),
    Column("dataset_id", Id, comment="whose rows they are; null: not known"),
    Column("rows", BigInteger, nullable=False),
    Column("least", LargeBinary, nullable=False, comment="the smallest keyed hashes, 8 bytes each, ascending"),
    Column("repeats", JSONB, nullable=False, comment="[[how often a row occurs, how many such rows there are], ...]"),
    Index("ix_family_sketch_owner", "owner"),
    Index("ix_family_sketch_family_id", "family_id"),
)

#: By what a dataset is recognised, whether it is still there or not: keyed hashes of some of its values and rows.
table_sketch = Table(
    "table_sketch",
    metadata,
    Column("dataset_id", Id, primary_key=True, comment="whose rows they are"),
    Column("family_id", Id, ForeignKey("family.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("sketch", LargeBinary, nullable=False, comment="keyed hashes, as frames.sketched packs them, sealed"),
    Column("sealed_under", LargeBinary, comment="which secret of the service; null: not sealed yet"),
    Index("ix_table_sketch_family_id", "family_id"),
    Index("ix_table_sketch_owner", "owner"),
)

#: By what the table with a row for each person that a column of a dataset counts is recognised.
counted_sketch = Table(
    "counted_sketch",
    metadata,
    Column("dataset_id", Id, primary_key=True),
    Column("counted_by", Text, primary_key=True, comment="the column"),
    Column("family_id", Id, ForeignKey("family.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("sketch", LargeBinary, nullable=False, comment="keyed hashes, as frames.sketched packs them, sealed"),
    Column("sealed_under", LargeBinary, nullable=False, comment="which secret of the service"),
    Index("ix_counted_sketch_family_id", "family_id"),
    Index("ix_counted_sketch_owner", "owner"),
)

#: By what the persons of a dataset are recognised, whose releases count them by a column.
person_sketch = Table(
    "person_sketch",
    metadata,
    Column("dataset_id", Id, primary_key=True),
    Column("name", Text, primary_key=True, comment="of the column"),
    Column("family_id", Id, ForeignKey("family.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("sketch", LargeBinary, nullable=False, comment="keyed hashes, as frames.sketched packs them, sealed"),
    Column("sealed_under", LargeBinary, comment="which secret of the service; null: not sealed yet"),
    Index("ix_person_sketch_family_id", "family_id"),
    Index("ix_person_sketch_owner", "owner"),
)

#: Datasets of which the evidence does not decide whether they are of the same people, and what their keeper answers.
family_question = Table(
    "family_question",
    metadata,
    Column("dataset_id", Id, primary_key=True, comment="the lesser of both ids"),
    Column("other_dataset_id", Id, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("evidence", JSONB, nullable=False, comment="columns that agree, the share that does, and what chance gives"),
    Column("people", Text, comment="same or other; null: not answered"),
    Column("answered_by", Id, comment="a key; null: the operator, or not answered"),
    Column("answered_at", DateTime(timezone=True)),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("people IN ('same', 'other')", name="people"),
    Index("ix_family_question_owner", "owner"),
    Index("ix_family_question_other_dataset_id", "other_dataset_id"),
)
