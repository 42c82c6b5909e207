"""Tables of releases, of what publishing writes down, and of certificates."""

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
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from app.db.tables.metadata import Id, metadata

#: Releases: what a succeeded anonymization publishes.
release = Table(
    "release",
    metadata,
    Column("id", Id, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False, server_default="", comment="what the owner calls it"),
    Column("job_id", Id, ForeignKey("job.id"), nullable=False, unique=True),
    Column("dataset_id", Id, ForeignKey("dataset.id"), nullable=False),
    Column("method", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("columns", JSONB, nullable=False),
    Column("flags", ARRAY(Text), nullable=False),
    Column("tags", JSONB, nullable=False, server_default="{}"),
    Column("statistics", JSON, nullable=False, comment="public statistics; JSONB would write long doubles as integers"),
    Column(
        "parameters", JSON, comment="what may be published of its specification; null: only its provenance has that"
    ),
    Column(
        "warnings", JSON, nullable=False, server_default="[]", comment="list of contracts.warnings.JobWarning; public"
    ),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("deleted_at", DateTime(timezone=True)),
    Column("expires_at", DateTime(timezone=True), comment="of a draft: when it is deleted; null: never"),
    Column("state", Text, nullable=False, server_default="published"),
    Column("published_at", DateTime(timezone=True), server_default=func.now(), comment="null: never; it stays"),
    Column("withdrawn_at", DateTime(timezone=True)),
    Column("withdrawn_because", Text),
    Column(
        "made_by", Text, comment="id of the API key that submitted its job; under four eyes another one publishes it"
    ),
    Column("readers", ARRAY(Text), nullable=False, server_default="{}", comment="owners beside its own"),
    Column("public", Boolean, nullable=False, server_default=text("false")),
    Column(
        "findings", JSON, nullable=False, server_default="[]", comment="list of contracts.findings.Finding; restricted"
    ),
    Column("family_id", Id, comment="what it was composed with"),
    Column("composed_after", BigInteger, comment="how many were published of the family when it was composed"),
    Column("composed", JSONB, comment="what it leaves with all that was published by then; restricted"),
    Column("accepts_composition", Boolean, nullable=False, server_default=text("false")),
    Column("base_release_id", Id, ForeignKey("release.id"), comment="of a series: what it is made from alone"),
    Column("previous_release_id", Id, ForeignKey("release.id"), comment="of a new version: whose boxes it has"),
    Column("series_id", Id, comment="the first release that this one goes on"),
    Column("file_bytes", BigInteger, comment="of all its files; null: written by an older process, its files state it"),
    CheckConstraint("state IN ('draft', 'published', 'withdrawn')", name="state"),
    Index("ix_release_family_id", "family_id"),
    Index("ix_release_series_id", "series_id"),
    Index("ix_release_kept", "owner", postgresql_include=["file_bytes"], postgresql_where=text("deleted_at IS NULL")),
    Index("ix_release_unmeasured", "owner", postgresql_where=text("deleted_at IS NULL AND file_bytes IS NULL")),
    Index("ix_release_deleted", "id", postgresql_where=text("deleted_at IS NOT NULL")),
    Index("ix_release_expires_at", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
    Index("ix_release_readers", "readers", postgresql_using="gin"),
    Index("ix_release_owner_created_at", "owner", "created_at", "id"),
)

#: The files of a release; they never change, so their checksum is their ETag.
release_file = Table(
    "release_file",
    metadata,
    Column("release_id", Id, ForeignKey("release.id", ondelete="CASCADE"), primary_key=True),
    Column("format", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("served", Boolean, nullable=False, server_default=text("true"), comment="false: read by audits only"),
    Index("ix_release_file_key", "key"),
)

#: Where it is written which record each row of a release represents. For audits only, never served.
release_link = Table(
    "release_link",
    metadata,
    Column("release_id", Id, ForeignKey("release.id", ondelete="CASCADE"), primary_key=True),
    Column("dataset_id", Id, ForeignKey("dataset.id"), nullable=False, comment="the original; without it, no link"),
    Column("key", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Index("ix_release_link_dataset_id", "dataset_id"),
    Index("ix_release_link_key", "key"),
)

#: The ledger of a family: all its publications. Deleting a release or a dataset takes nothing back.
publication = Table(
    "publication",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("family_id", Id, ForeignKey("family.id", ondelete="CASCADE"), nullable=False),
    Column("owner", Text, nullable=False),
    Column("release_id", Id, nullable=False, unique=True),
    Column("method", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("base_release_id", Id, comment="of a series: it tells no more than this one"),
    Column("previous_release_id", Id, comment="of a new version: whose boxes it has"),
    Column("composed", JSONB, comment="what all up to this one leave together"),
    Index("ix_publication_family_id", "family_id", "id"),
)

#: What each publication has written to storage before it was answered: the index of these objects.
publication_entry = Table(
    "publication_entry",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, comment="from 1, without gaps"),
    Column("release_id", Id, nullable=False, unique=True),
    Column("key", Text, nullable=False, comment="storage key"),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("stale", Boolean, nullable=False, server_default=text("false"), comment="its rows have changed since"),
    Index("ix_publication_entry_key", "key"),
    Index("ix_publication_entry_stale", "owner", "number", postgresql_where=text("stale")),
)

#: Entries that storage gets before the transaction that publishes them: a publication that commits removes its row.
unpublished_entry = Table(
    "unpublished_entry",
    metadata,
    Column("key", Text, primary_key=True, comment="storage key"),
    Column("owner", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("given_up_at", DateTime(timezone=True), comment="it will never be published, whenever its bytes arrive"),
)

#: What composing needs of a release, written with it: bounds, counts, scales, classes of kept columns.
ledger_file = Table(
    "ledger_file",
    metadata,
    Column("release_id", Id, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column(
        "persons_key", Text, comment="storage key of the fingerprints of its records and where each was; restricted"
    ),
    Column("persons_bytes", BigInteger),
    Column("persons_under", Text, comment="name of the secret that the fingerprints are keyed by"),
    Column("kept", Boolean, nullable=False, server_default=text("false"), comment="it was published"),
    Index("ix_ledger_file_key", "key"),
    Index("ix_ledger_file_persons_key", "persons_key", postgresql_where=text("persons_key IS NOT NULL")),
)

#: Certificates of published releases, each naming the one before it of the same owner: a chain.
#:
#: A certificate's place in the chain outlives its release: of a deleted one the envelope goes, the digests stay.
certificate = Table(
    "certificate",
    metadata,
    Column("release_id", Id, ForeignKey("release.id"), primary_key=True),
    Column("owner", Text, nullable=False),
    Column("position", BigInteger, nullable=False, comment="in the owner's chain, from 1; never shown"),
    Column("previous", Text, comment="sha256 of the payload before it"),
    Column("sha256", Text, nullable=False, unique=True, comment="of the payload"),
    Column("envelope", LargeBinary, comment="DSSE as served; null once the release is deleted"),
    Column("issued_at", DateTime(timezone=True), nullable=False),
    Column("timestamp", LargeBinary, comment="RFC 3161 answer about the envelope; goes with it"),
    Column("timestamped_at", DateTime(timezone=True), comment="the time in it"),
    Column("timestamp_asked_at", DateTime(timezone=True), comment="last asked for in vain"),
    UniqueConstraint("owner", "position"),
)

#: The log of an owner: appended to, never changed; each entry contains the hash of the one before.
log_entry = Table(
    "log_entry",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, comment="from 1, without gaps"),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("key_id", Id, comment="id of the API key; null: the service itself"),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False, comment="id of what it was done to"),
    Column("facts", JSON, nullable=False),
    Column("previous", Text, nullable=False, comment="hash of the entry before; zeros before the first"),
    Column("hash", Text, nullable=False),
    Index("ix_log_entry_owner_created_at", "owner", "created_at"),
)
