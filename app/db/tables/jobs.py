"""Tables of jobs, of what they work on and compute, and of the workers that run them."""

from typing import Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Sequence,
    SmallInteger,
    Table,
    Text,
    and_,
    cast,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.metadata import Id, metadata

#: Jobs. The row is the truth; `attempt` is the fence that every write of a worker carries.
job = Table(
    "job",
    metadata,
    Column("id", Id, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("kind", Text, nullable=False, comment="anonymization, audit, or the internal ingest"),
    Column("method", Text, nullable=False),
    Column(
        "spec_version",
        Integer,
        nullable=False,
        server_default="1",
        comment="of the method's specification: workers that do not know it leave the job to others",
    ),
    Column("queue", Text, nullable=False),
    Column("listed", Boolean, nullable=False, server_default=text("true")),
    Column("state", Text, nullable=False),
    Column("tags", JSONB, nullable=False, server_default="{}"),
    Column("spec", JSONB, nullable=False, comment="as submitted, defaults filled in; seed only as 'given' or null"),
    Column("seed", BigInteger, comment="given seed of a test run; never shown"),
    Column(
        "draw",
        Integer,
        nullable=False,
        server_default="1",
        comment="which random draw from the same data, for methods whose draws add up",
    ),
    Column(
        "whole_id",
        Text,
        ForeignKey("job.id", ondelete="CASCADE"),
        key="parent_id",
        comment="of a part: the job it is a part of",
    ),
    Column("part", Integer, comment="of a part: which one"),
    Column("parts", Integer, comment="how many parts the work was split into"),
    Column("parts_left", Integer, comment="of a whole: parts that have not ended; no other worker has it until then"),
    Column("requested_by", Text, comment="id of the API key that submitted it"),
    Column("result", JSONB, comment="the summary"),
    # `spec` and `result` once more: JSONB sorts keys, and answers have them in the order of the contract.
    Column("spec_shown", JSON, comment="the specification, keys in the order of the contract"),
    Column("result_shown", JSON, comment="the summary, keys in the order of the contract"),
    Column(
        "warnings",
        JSON,
        nullable=False,
        server_default="[]",
        comment="restricted, as the result is",
    ),
    Column("release_id", Id),
    Column("findings", JSON, nullable=False, server_default="[]", comment="of the gate of its release; restricted"),
    Column("error", JSONB, comment="RFC 9457 members"),
    Column("attempt", Integer, nullable=False, server_default="0", comment="fence: claims so far"),
    Column("given_back", Integer, nullable=False, server_default="0", comment="claims that do not count as attempts"),
    Column("estimated_seconds", Double, comment="of CPU, when it was accepted"),
    Column("estimated_bytes", BigInteger, comment="of memory, when it was accepted"),
    Column("estimated_release_bytes", BigInteger, comment="of the files of its release, when it was accepted"),
    Column("estimated_scratch_bytes", BigInteger, comment="of temporary files, when it was accepted"),
    Column("result_bytes", BigInteger, comment="of the whole result, while it is kept"),
    Column("not_before", DateTime(timezone=True), comment="a fault of the storage made it wait until then"),
    Column("held_seconds", Double, nullable=False, server_default="0", comment="so long it was made to wait in all"),
    Column("cancel_requested_at", DateTime(timezone=True)),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("queued_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("enqueued_at", DateTime(timezone=True), comment="last time the id was sent to the broker"),
    Column("started_at", DateTime(timezone=True)),
    Column("finished_at", DateTime(timezone=True)),
    Column("expires_at", DateTime(timezone=True)),
    Column("result_erased_at", DateTime(timezone=True), comment="when its result was erased"),
    Column("erased_at", DateTime(timezone=True), comment="when all that is restricted of it was erased: a tombstone"),
    CheckConstraint("state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name="state"),
    CheckConstraint("(finished_at IS NULL) = (state IN ('queued', 'running'))", name="finished"),
    Index("ix_job_owner_created_at", "owner", "created_at", "id"),
    Index("ix_job_unfinished", "state", "queue", postgresql_where=text("finished_at IS NULL")),
    Index("ix_job_unfinished_owner", "owner", postgresql_where=text("finished_at IS NULL")),
    Index("ix_job_estimated", "owner", "created_at", postgresql_where=text("estimated_seconds IS NOT NULL")),
    Index(
        "ix_job_kept",
        "owner",
        postgresql_include=["result_bytes"],
        postgresql_where=text("listed AND erased_at IS NULL"),
    ),
    Index("ix_job_finished_at", "finished_at", postgresql_where=text("finished_at IS NOT NULL")),
    Index("ix_job_whole_id", "parent_id", "part", postgresql_where=text("whole_id IS NOT NULL")),
    Index("ix_job_erased", "id", postgresql_where=text("erased_at IS NOT NULL")),
    Index("ix_job_expires_at", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
)

#: Jobs that wait for a worker. The second condition follows from the first; the index of unfinished jobs needs it.
is_queued: Final = and_(job.c.state == "queued", job.c.finished_at.is_(None))

#: A specification with its numbers as they were sent: JSONB writes long doubles as whole numbers. Of an erased job only
#: a part of `spec` is left.
spec_as_sent: Final = func.coalesce(job.c.spec_shown, cast(job.c.spec, JSON)).label("spec")

#: What jobs work on: one row for each field of a specification that names a dataset, a release or an earlier job.
job_input = Table(
    "job_input",
    metadata,
    Column("job_id", Id, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("role", Text, primary_key=True, comment="the specification's field"),
    Column("position", SmallInteger, nullable=False, comment="the first dataset is what a release is made from"),
    Column("dataset_id", Id, ForeignKey("dataset.id")),
    Column("release_id", Id, ForeignKey("release.id")),
    Column("source_job_id", Id, ForeignKey("job.id"), comment="an earlier job whose result is used"),
    CheckConstraint("num_nonnulls(dataset_id, release_id, source_job_id) = 1", name="one_object"),
    Index("ix_job_input_dataset_id", "dataset_id", postgresql_where=text("dataset_id IS NOT NULL")),
    Index("ix_job_input_release_id", "release_id", postgresql_where=text("release_id IS NOT NULL")),
    Index("ix_job_input_source_job_id", "source_job_id", postgresql_where=text("source_job_id IS NOT NULL")),
)

#: Numbers events and progress alike, so that the ids of an event stream increase.
change = Sequence("job_change", metadata=metadata)

#: Append-only log of the changes of a job's state.
job_event = Table(
    "job_event",
    metadata,
    Column("id", BigInteger, change, primary_key=True, server_default=change.next_value()),
    Column("job_id", Id, ForeignKey("job.id", ondelete="CASCADE"), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Index("ix_job_event_job_id", "job_id", "id"),
    Index("ix_job_event_passing", "at", postgresql_where=text("state IN ('queued', 'running')")),
)

#: Attempts of a job and how each ended.
job_attempt = Table(
    "job_attempt",
    metadata,
    Column("job_id", Id, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("ended_at", DateTime(timezone=True)),
    Column("outcome", Text, comment="succeeded, failed, cancelled, lost, given back, time limit"),
)

#: Progress and heartbeat: a narrow row next to the job, because it is written twice a second.
job_progress = Table(
    "job_progress",
    metadata,
    Column("job_id", Id, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("fraction", Double, nullable=False, server_default="0"),
    Column("stage", Text, nullable=False, server_default="queued"),
    Column("version", BigInteger, change, nullable=False, server_default=change.next_value()),
    Column("beat_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    postgresql_with={"fillfactor": 70},
)

#: Where the last checkpoint of an unfinished job is; it contains generator state and is deleted at the end.
job_checkpoint = Table(
    "job_checkpoint",
    metadata,
    Column("job_id", Id, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("steps", BigInteger, nullable=False, comment="steps completed when it was taken"),
    Column("key", Text, nullable=False),
    Column("taken_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Index("ix_job_checkpoint_key", "key"),
)

#: The whole result of a job, as the bytes that are served (or the storage key of larger ones).
job_result = Table(
    "job_result",
    metadata,
    Column("job_id", Id, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("body", LargeBinary, comment="JSON; null when it lies in storage"),
    Column("key", Text),
    Column("bytes", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Index("ix_job_result_key", "key", postgresql_where=text("key IS NOT NULL")),
)

#: Provenance, written in the transaction that makes a job succeed.
provenance = Table(
    "provenance",
    metadata,
    Column("job_id", Id, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("owner", Text, nullable=False),
    Column("requested_by", Text, comment="id of the API key"),
    Column("requested_at", DateTime(timezone=True), nullable=False),
    Column("finished_at", DateTime(timezone=True), nullable=False),
    Column("seconds", Double, nullable=False, comment="of the attempt that succeeded"),
    Column("dataset_id", Id, ForeignKey("dataset.id")),
    Column("dataset_sha256", Text),
    Column("spec", JSONB, nullable=False),
    Column("versions", JSONB, nullable=False, comment="code, Python and dependencies"),
    Column("attempts", JSONB, nullable=False),
    Column("release_id", Id),
    Column("release_sha256", JSONB, comment="by format"),
    Column("public", JSONB, nullable=False, comment="W3C PROV-JSON without restricted facts"),
    Column("restricted", JSONB, nullable=False, comment="W3C PROV-JSON, whole"),
)

#: When an owner last had a worker of a queue: owners take turns.
queue_turn = Table(
    "queue_turn",
    metadata,
    Column("queue", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("claimed_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
)

#: Worker processes and when each was last seen: what readiness and the memory metric are read from.
worker = Table(
    "worker",
    metadata,
    Column("id", Id, primary_key=True),
    Column("queue", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("rss_bytes", BigInteger, nullable=False),
    Column("concurrency", Integer, nullable=False, server_default="1", comment="jobs it runs at a time"),
    Column("knows", JSONB, comment="[method, version] pairs it claims; null: it claims anything"),
    Column("memory_bytes", BigInteger, comment="that each of its jobs may take; null: it does not say"),
    Column("scratch_bytes", BigInteger, comment="of temporary files that each of its jobs has room for; null: unknown"),
    Column("started_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("seen_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
)
