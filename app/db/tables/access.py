"""Tables of owners, keys and secrets, of the installation, and of who did what."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Interval,
    LargeBinary,
    Table,
    Text,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from app.db.tables.metadata import Id, metadata

#: API keys: only their HMAC is stored.
api_key = Table(
    "api_key",
    metadata,
    Column("id", Id, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("revoked_at", DateTime(timezone=True)),
    Column("expires_at", DateTime(timezone=True), comment="it works until then"),
    Column("used_at", DateTime(timezone=True), comment="last use, to the hour"),
    Column("hashed_under", LargeBinary, comment="which of the service's secrets; null: not known"),
    Column("renewable_until", DateTime(timezone=True), comment="renewals end by then; null: it cannot be renewed"),
    Column("lifetime", Interval, comment="of each renewal, up to that day"),
    Column("renewed_from", Id, ForeignKey("api_key.id"), unique=True, comment="the key that this one replaces"),
)

#: What the operator lets an owner have otherwise than all owners.
owner_quota = Table(
    "owner_quota",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("resource", Text, primary_key=True, comment="contracts.usage.LimitedResource"),
    Column("maximum", Double, nullable=False),
    CheckConstraint("maximum >= 0", name="maximum"),
)

#: What an owner has decided for all keys.
owner_setting = Table(
    "owner_setting",
    metadata,
    Column("owner", Text, primary_key=True),
    Column(
        "jobs_publish",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="jobs publish what they make, whoever asked for them",
    ),
)

#: Idempotency keys: unique per owner, written in the transaction of what they guard.
idempotency = Table(
    "idempotency",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("token", Text, nullable=False, comment="who holds the lease"),
    Column("leased_until", DateTime(timezone=True), nullable=False),
    Column(
        "state",
        Text,
        nullable=False,
        server_default="reserved",
        comment="reserved, accepted (what it made is there), answered",
    ),
    Column("resource_id", Id, comment="the dataset or job it made"),
    Column("status", Integer, comment="null while in flight"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now(), index=True),
    CheckConstraint("state IN ('reserved', 'accepted', 'answered')", name="state"),
)

#: Random secrets of owners, sealed by the service's: from them follow random choices that are published.
#:
#: Those of columns are a family's, which outlives its data: the same data, uploaded again, get the same choices.
secret = Table(
    "secret",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True, comment="what it is for; of a column the keyed fingerprint of its values"),
    Column("sealed", LargeBinary, nullable=False),
    Column("sealed_under", LargeBinary, nullable=False, index=True, comment="which of the service's secrets opens it"),
    Column("family_id", Id, ForeignKey("family.id", ondelete="CASCADE"), comment="of a column: whose data it is of"),
    Column("fingerprint", Text, comment="of a column: keyed, of the multiset of its values"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Index("ix_secret_family_id", "family_id", "fingerprint"),
)

#: Public halves of the service's signing keys, with the times in which they sign. Private halves are never here.
signing_key = Table(
    "signing_key",
    metadata,
    Column("id", Id, primary_key=True, comment="RFC 7638 thumbprint"),
    Column("jwk", JSONB, nullable=False, comment="the public half"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("retires_at", DateTime(timezone=True), comment="it signs nothing from then on"),
    Column("revoked_at", DateTime(timezone=True), comment="nothing that it signed is trusted any more"),
    Column("revoked_because", Text),
)

#: The installation that a database belongs to: one row, made with it. Its id is in storage as well.
installation = Table(
    "installation",
    metadata,
    Column("single", Boolean, primary_key=True, server_default=text("true")),
    Column("id", Id, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("storage_marked_at", DateTime(timezone=True), comment="when its id was written to storage"),
    Column("orphans_held", BigInteger, nullable=False, server_default="0", comment="objects without a row, left alone"),
    Column("publishing_held_at", DateTime(timezone=True), comment="nothing is published since then"),
    Column("publishing_held_because", Text),
    Column("secret_name", LargeBinary, comment="of the server's secret that the last process has started with"),
    CheckConstraint("single", name="single"),
)

#: Who did what, besides the chained log of publishing: kept for a time, then removed.
#:
#: An entry is written in the transaction of what it records. Downloads and refusals are counted instead, by key or
#: address and minute, so that requests cannot fill the disk.
audit_entry = Table(
    "audit_entry",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("owner", Text, nullable=False, comment="whose log it is in; empty: the operator's alone"),
    Column("key_id", Id, comment="id of the API key; null: none, or the service itself"),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False, comment="id of what it was done to"),
    Column("facts", JSON, nullable=False, server_default="{}"),
    Column("count", BigInteger, nullable=False, server_default="1"),
    Column("bucket", Text, comment="what is counted together, and in which minute; null: a single entry"),
    Index("ix_audit_entry_created_at", "created_at"),
    Index("ix_audit_entry_owner_created_at", "owner", "created_at"),
    Index("ix_audit_entry_subject", "subject"),
    Index("uq_audit_entry_bucket", "bucket", unique=True, postgresql_where=text("bucket IS NOT NULL")),
)
