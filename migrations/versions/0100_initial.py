"""All tables, as of the first release."""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0100'
down_revision = None
branch_labels = None
depends_on = None

_TRANSITIONS = """
CREATE FUNCTION job_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'queued' AND NEW.state IN ('running', 'cancelled', 'failed')
    OR OLD.state = 'running' AND NEW.state IN ('queued', 'succeeded', 'failed', 'cancelled') THEN
        RETURN NEW;
    END IF;
    IF NEW.state = OLD.state AND NEW.finished_at = OLD.finished_at AND NEW.result_erased_at IS NOT NULL
    AND NEW.result IS NULL AND NEW.result_shown IS NULL AND NEW.warnings::text = '[]' AND NEW.spec <@ OLD.spec THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'job % must not change from % to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'check_violation';
END $$
"""
_GUARD = """
CREATE TRIGGER job_transition BEFORE UPDATE ON job FOR EACH ROW
WHEN (OLD.state IS DISTINCT FROM NEW.state OR OLD.finished_at IS NOT NULL) EXECUTE FUNCTION job_transition()
"""
_APPENDED = """
CREATE FUNCTION log_entry_appended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the log is only appended to' USING ERRCODE = 'check_violation';
END $$
"""
_LOG_GUARD = """
CREATE TRIGGER log_entry_appended BEFORE UPDATE OR DELETE ON log_entry FOR EACH ROW EXECUTE FUNCTION log_entry_appended()
"""


def upgrade() -> None:
    op.execute(sa.schema.CreateSequence(sa.Sequence('job_change')))
    op.create_table('api_key',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('digest', sa.LargeBinary(), nullable=False),
    sa.Column('scopes', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True, comment='it works until then'),
    sa.Column('used_at', sa.DateTime(timezone=True), nullable=True, comment='last use, to the hour'),
    sa.Column('hashed_under', sa.LargeBinary(), nullable=True, comment="which of the service's secrets; null: not known"),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_api_key')),
    sa.UniqueConstraint('digest', name=op.f('uq_api_key_digest'))
    )
    op.create_index(op.f('ix_api_key_owner'), 'api_key', ['owner'], unique=False)
    op.create_table('audit_entry',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False, comment="whose log it is in; empty: the operator's alone"),
    sa.Column('key_id', sa.Text(), nullable=True, comment='id of the API key; null: none, or the service itself'),
    sa.Column('action', sa.Text(), nullable=False),
    sa.Column('subject', sa.Text(), nullable=False, comment='id of what it was done to'),
    sa.Column('facts', sa.JSON(), server_default='{}', nullable=False),
    sa.Column('count', sa.BigInteger(), server_default='1', nullable=False),
    sa.Column('bucket', sa.Text(), nullable=True, comment='what is counted together, and in which minute; null: a single entry'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_audit_entry'))
    )
    op.create_index('ix_audit_entry_created_at', 'audit_entry', ['created_at'], unique=False)
    op.create_index('ix_audit_entry_owner_created_at', 'audit_entry', ['owner', 'created_at'], unique=False)
    op.create_index('ix_audit_entry_subject', 'audit_entry', ['subject'], unique=False)
    op.create_index('uq_audit_entry_bucket', 'audit_entry', ['bucket'], unique=True, postgresql_where=sa.text('bucket IS NOT NULL'))
    op.create_table('dataset',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('state', sa.Text(), nullable=False),
    sa.Column('tags', postgresql.JSONB(astext_type=sa.Text()), server_default='{}', nullable=False),
    sa.Column('options', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='ReadOptions of the upload'),
    sa.Column('bytes', sa.BigInteger(), nullable=False, comment='of the decoded body'),
    sa.Column('sha256', sa.Text(), nullable=False, comment='of the decoded body'),
    sa.Column('rows', sa.BigInteger(), nullable=True),
    sa.Column('columns', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='list of contracts.datasets.DatasetColumn'),
    sa.Column('numeric', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='NumericSummary by column; restricted'),
    sa.Column('ingest_job_id', sa.Text(), nullable=True, comment='the unlisted job that reads the upload'),
    sa.Column('staged_key', sa.Text(), nullable=True, comment='storage key of the upload until it is read'),
    sa.Column('data_key', sa.Text(), nullable=True, comment='storage key of the typed Parquet copy'),
    sa.Column('data_bytes', sa.BigInteger(), nullable=True),
    sa.Column('error', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='problem of a failed ingest'),
    sa.Column('warnings', sa.JSON(), server_default='[]', nullable=False, comment='list of contracts.warnings.JobWarning'),
    sa.Column('same_data_as_dataset_id', sa.Text(), nullable=True, comment="the keeper's word: id of a dataset, or `none`"),
    sa.Column('version_of_dataset_id', sa.Text(), nullable=True, comment='id of the dataset that it is a new version of'),
    sa.Column('family_id', sa.Text(), nullable=True, comment='datasets of the same data'),
    sa.Column('joined_by', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='why it is of its family, as releases.families.reason reads it'),
    sa.Column('by_keeper', sa.Boolean(), server_default=sa.text('true'), nullable=False, comment='by a key with jobs:read'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('deleted_at', sa.DateTime(timezone=True), nullable=True),
    sa.CheckConstraint("state IN ('ingesting', 'ready', 'failed', 'deleted')", name=op.f('ck_dataset_state')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_dataset'))
    )
    op.create_index('ix_dataset_family_id', 'dataset', ['family_id'], unique=False)
    op.create_index('ix_dataset_owner_created_at', 'dataset', ['owner', 'created_at', 'id'], unique=False)
    op.create_table('family',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('apart', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='the keeper said `new_family`'),
    sa.Column('published', sa.BigInteger(), server_default='0', nullable=False, comment='releases ever published of it'),
    sa.Column('confirmed', sa.Boolean(), server_default=sa.text('true'), nullable=False, comment='by a keeper; false: its data came by a lesser key, and it is compared with nothing'),
    sa.Column('joined', sa.Boolean(), server_default=sa.text('true'), nullable=False, comment='false: confirmed, not compared yet'),
    sa.Column('older_secrets', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment="of before secrets were a family's own: it has those of the owner"),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_family'))
    )
    op.create_index(op.f('ix_family_owner'), 'family', ['owner'], unique=False)
    op.create_table('idempotency',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('fingerprint', sa.Text(), nullable=False),
    sa.Column('token', sa.Text(), nullable=False, comment='who holds the lease'),
    sa.Column('leased_until', sa.DateTime(timezone=True), nullable=False),
    sa.Column('state', sa.Text(), server_default='reserved', nullable=False, comment='reserved, accepted (what it made is there), answered'),
    sa.Column('resource_id', sa.Text(), nullable=True, comment='the dataset or job it made'),
    sa.Column('status', sa.Integer(), nullable=True, comment='null while in flight'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint("state IN ('reserved', 'accepted', 'answered')", name=op.f('ck_idempotency_state')),
    sa.PrimaryKeyConstraint('owner', 'key', name=op.f('pk_idempotency'))
    )
    op.create_index(op.f('ix_idempotency_created_at'), 'idempotency', ['created_at'], unique=False)
    op.create_table('installation',
    sa.Column('single', sa.Boolean(), server_default=sa.text('true'), nullable=False),
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('storage_marked_at', sa.DateTime(timezone=True), nullable=True, comment='when its id was written to storage'),
    sa.Column('orphans_held', sa.BigInteger(), server_default='0', nullable=False, comment='objects without a row, left alone'),
    sa.Column('publishing_held_at', sa.DateTime(timezone=True), nullable=True, comment='nothing is published since then'),
    sa.Column('publishing_held_because', sa.Text(), nullable=True),
    sa.Column('secret_name', sa.LargeBinary(), nullable=True, comment="of the server's secret that the last process has started with"),
    sa.CheckConstraint('single', name=op.f('ck_installation_single')),
    sa.PrimaryKeyConstraint('single', name=op.f('pk_installation'))
    )
    op.create_table('job',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False, comment='anonymization, audit, or the internal ingest'),
    sa.Column('method', sa.Text(), nullable=False),
    sa.Column('spec_version', sa.Integer(), server_default='1', nullable=False, comment="of the method's specification: workers that do not know it leave the job to others"),
    sa.Column('queue', sa.Text(), nullable=False),
    sa.Column('listed', sa.Boolean(), server_default=sa.text('true'), nullable=False),
    sa.Column('state', sa.Text(), nullable=False),
    sa.Column('tags', postgresql.JSONB(astext_type=sa.Text()), server_default='{}', nullable=False),
    sa.Column('spec', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment="as submitted, defaults filled in; seed only as 'given' or null"),
    sa.Column('seed', sa.BigInteger(), nullable=True, comment='given seed of a test run; never shown'),
    sa.Column('draw', sa.Integer(), server_default='1', nullable=False, comment='which random draw from the same data, for methods whose draws add up'),
    sa.Column('whole_id', sa.Text(), nullable=True, comment='of a part: the job it is a part of'),
    sa.Column('part', sa.Integer(), nullable=True, comment='of a part: which one'),
    sa.Column('parts', sa.Integer(), nullable=True, comment='how many parts the work was split into'),
    sa.Column('parts_left', sa.Integer(), nullable=True, comment='of a whole: parts that have not ended; no other worker has it until then'),
    sa.Column('requested_by', sa.Text(), nullable=True, comment='id of the API key that submitted it'),
    sa.Column('result', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='the summary'),
    sa.Column('spec_shown', sa.JSON(), nullable=True, comment='the specification, keys in the order of the contract'),
    sa.Column('result_shown', sa.JSON(), nullable=True, comment='the summary, keys in the order of the contract'),
    sa.Column('warnings', sa.JSON(), server_default='[]', nullable=False, comment='restricted, as the result is'),
    sa.Column('release_id', sa.Text(), nullable=True),
    sa.Column('findings', sa.JSON(), server_default='[]', nullable=False, comment='of the gate of its release; restricted'),
    sa.Column('error', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='RFC 9457 members'),
    sa.Column('attempt', sa.Integer(), server_default='0', nullable=False, comment='fence: claims so far'),
    sa.Column('given_back', sa.Integer(), server_default='0', nullable=False, comment='claims that do not count as attempts'),
    sa.Column('estimated_seconds', sa.Double(), nullable=True, comment='of CPU, when it was accepted'),
    sa.Column('estimated_bytes', sa.BigInteger(), nullable=True, comment='of memory, when it was accepted'),
    sa.Column('result_bytes', sa.BigInteger(), nullable=True, comment='of the whole result, while it is kept'),
    sa.Column('not_before', sa.DateTime(timezone=True), nullable=True, comment='a fault of the storage made it wait until then'),
    sa.Column('held_seconds', sa.Double(), server_default='0', nullable=False, comment='so long it was made to wait in all'),
    sa.Column('cancel_requested_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('queued_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('enqueued_at', sa.DateTime(timezone=True), nullable=True, comment='last time the id was sent to the broker'),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('result_erased_at', sa.DateTime(timezone=True), nullable=True, comment='when its result was erased'),
    sa.Column('erased_at', sa.DateTime(timezone=True), nullable=True, comment='when all that is restricted of it was erased: a tombstone'),
    sa.CheckConstraint("(finished_at IS NULL) = (state IN ('queued', 'running'))", name=op.f('ck_job_finished')),
    sa.CheckConstraint("state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name=op.f('ck_job_state')),
    sa.ForeignKeyConstraint(['whole_id'], ['job.id'], name=op.f('fk_job_whole_id_job'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_job'))
    )
    op.create_index('ix_job_estimated', 'job', ['owner', 'created_at'], unique=False, postgresql_where=sa.text('estimated_seconds IS NOT NULL'))
    op.create_index('ix_job_expires_at', 'job', ['expires_at'], unique=False, postgresql_where=sa.text('expires_at IS NOT NULL'))
    op.create_index('ix_job_finished_at', 'job', ['finished_at'], unique=False, postgresql_where=sa.text('finished_at IS NOT NULL'))
    op.create_index('ix_job_kept', 'job', ['owner'], unique=False, postgresql_include=['result_bytes'], postgresql_where=sa.text('listed AND erased_at IS NULL'))
    op.create_index('ix_job_owner_created_at', 'job', ['owner', 'created_at', 'id'], unique=False)
    op.create_index('ix_job_unfinished', 'job', ['state', 'queue'], unique=False, postgresql_where=sa.text('finished_at IS NULL'))
    op.create_index('ix_job_unfinished_owner', 'job', ['owner'], unique=False, postgresql_where=sa.text('finished_at IS NULL'))
    op.create_index('ix_job_whole_id', 'job', ['whole_id', 'part'], unique=False, postgresql_where=sa.text('whole_id IS NOT NULL'))
    op.create_table('ledger_file',
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('bytes', sa.BigInteger(), nullable=False),
    sa.Column('persons_key', sa.Text(), nullable=True, comment='storage key of the fingerprints of its records and where each was; restricted'),
    sa.Column('persons_bytes', sa.BigInteger(), nullable=True),
    sa.Column('persons_under', sa.Text(), nullable=True, comment='name of the secret that the fingerprints are keyed by'),
    sa.Column('kept', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='it was published'),
    sa.PrimaryKeyConstraint('release_id', name=op.f('pk_ledger_file'))
    )
    op.create_table('log_entry',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('sequence', sa.BigInteger(), nullable=False, comment='from 1, without gaps'),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('key_id', sa.Text(), nullable=True, comment='id of the API key; null: the service itself'),
    sa.Column('action', sa.Text(), nullable=False),
    sa.Column('subject', sa.Text(), nullable=False, comment='id of what it was done to'),
    sa.Column('facts', sa.JSON(), nullable=False),
    sa.Column('previous', sa.Text(), nullable=False, comment='hash of the entry before; zeros before the first'),
    sa.Column('hash', sa.Text(), nullable=False),
    sa.PrimaryKeyConstraint('owner', 'sequence', name=op.f('pk_log_entry'))
    )
    op.create_index('ix_log_entry_owner_created_at', 'log_entry', ['owner', 'created_at'], unique=False)
    op.create_table('owner_quota',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('resource', sa.Text(), nullable=False, comment='contracts.usage.LimitedResource'),
    sa.Column('maximum', sa.Double(), nullable=False),
    sa.CheckConstraint('maximum >= 0', name=op.f('ck_owner_quota_maximum')),
    sa.PrimaryKeyConstraint('owner', 'resource', name=op.f('pk_owner_quota'))
    )
    op.create_table('owner_setting',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('jobs_publish', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='jobs publish what they make, whoever asked for them'),
    sa.PrimaryKeyConstraint('owner', name=op.f('pk_owner_setting'))
    )
    op.create_table('publication_entry',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('number', sa.BigInteger(), nullable=False, comment='from 1, without gaps'),
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False, comment='storage key'),
    sa.Column('at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('stale', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='its rows have changed since'),
    sa.PrimaryKeyConstraint('owner', 'number', name=op.f('pk_publication_entry')),
    sa.UniqueConstraint('release_id', name=op.f('uq_publication_entry_release_id'))
    )
    op.create_table('queue_turn',
    sa.Column('queue', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('claimed_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.PrimaryKeyConstraint('queue', 'owner', name=op.f('pk_queue_turn'))
    )
    op.create_table('signing_key',
    sa.Column('id', sa.Text(), nullable=False, comment='RFC 7638 thumbprint'),
    sa.Column('jwk', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='the public half'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('retires_at', sa.DateTime(timezone=True), nullable=True, comment='it signs nothing from then on'),
    sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True, comment='nothing that it signed is trusted any more'),
    sa.Column('revoked_because', sa.Text(), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_signing_key'))
    )
    op.create_table('worker',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('queue', sa.Text(), nullable=False),
    sa.Column('host', sa.Text(), nullable=False),
    sa.Column('pid', sa.Integer(), nullable=False),
    sa.Column('rss_bytes', sa.BigInteger(), nullable=False),
    sa.Column('concurrency', sa.Integer(), server_default='1', nullable=False, comment='jobs it runs at a time'),
    sa.Column('knows', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='[method, version] pairs it claims; null: it claims anything'),
    sa.Column('memory_bytes', sa.BigInteger(), nullable=True, comment='that each of its jobs may take; null: it does not say'),
    sa.Column('started_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('seen_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_worker'))
    )
    op.create_table('family_column',
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('fingerprint', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_family_column_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('family_id', 'fingerprint', name=op.f('pk_family_column'))
    )
    op.create_index('ix_family_column_owner_fingerprint', 'family_column', ['owner', 'fingerprint'], unique=False)
    op.create_table('family_person',
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False, comment='of the column'),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('fingerprint', sa.Text(), nullable=True, comment='of its values as a multiset, keyed; null: many data share them'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_family_person_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('family_id', 'name', name=op.f('pk_family_person'))
    )
    op.create_table('family_sketch',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('columns', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='names, sorted'),
    sa.Column('dataset_id', sa.Text(), nullable=True, comment='whose rows they are; null: not known'),
    sa.Column('rows', sa.BigInteger(), nullable=False),
    sa.Column('least', sa.LargeBinary(), nullable=False, comment='the smallest keyed hashes, 8 bytes each, ascending'),
    sa.Column('repeats', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='[[how often a row occurs, how many such rows there are], ...]'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_family_sketch_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_family_sketch'))
    )
    op.create_index('ix_family_sketch_family_id', 'family_sketch', ['family_id'], unique=False)
    op.create_index('ix_family_sketch_owner', 'family_sketch', ['owner'], unique=False)
    op.create_table('job_attempt',
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('attempt', sa.Integer(), nullable=False),
    sa.Column('worker', sa.Text(), nullable=False),
    sa.Column('started_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('outcome', sa.Text(), nullable=True, comment='succeeded, failed, cancelled, lost, given back, time limit'),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_job_attempt_job_id_job'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('job_id', 'attempt', name=op.f('pk_job_attempt'))
    )
    op.create_table('job_checkpoint',
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('attempt', sa.Integer(), nullable=False),
    sa.Column('steps', sa.BigInteger(), nullable=False, comment='steps completed when it was taken'),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('taken_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_job_checkpoint_job_id_job'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('job_id', name=op.f('pk_job_checkpoint'))
    )
    op.create_table('job_event',
    sa.Column('id', sa.BigInteger(), server_default=sa.text("nextval('job_change')"), nullable=False),
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('state', sa.Text(), nullable=False),
    sa.Column('attempt', sa.Integer(), nullable=False),
    sa.Column('reason', sa.Text(), server_default='', nullable=False),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_job_event_job_id_job'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_job_event'))
    )
    op.create_index('ix_job_event_job_id', 'job_event', ['job_id', 'id'], unique=False)
    op.create_index('ix_job_event_passing', 'job_event', ['at'], unique=False, postgresql_where=sa.text("state IN ('queued', 'running')"))
    op.create_table('job_progress',
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('fraction', sa.Double(), server_default='0', nullable=False),
    sa.Column('stage', sa.Text(), server_default='queued', nullable=False),
    sa.Column('version', sa.BigInteger(), server_default=sa.text("nextval('job_change')"), nullable=False),
    sa.Column('beat_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_job_progress_job_id_job'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('job_id', name=op.f('pk_job_progress')),
    postgresql_with={'fillfactor': 70}
    )
    op.create_table('job_result',
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('body', sa.LargeBinary(), nullable=True, comment='JSON; null when it lies in storage'),
    sa.Column('key', sa.Text(), nullable=True),
    sa.Column('bytes', sa.BigInteger(), nullable=False),
    sa.Column('sha256', sa.Text(), nullable=False),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_job_result_job_id_job'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('job_id', name=op.f('pk_job_result'))
    )
    op.create_table('provenance',
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('requested_by', sa.Text(), nullable=True, comment='id of the API key'),
    sa.Column('requested_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('finished_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('seconds', sa.Double(), nullable=False, comment='of the attempt that succeeded'),
    sa.Column('dataset_id', sa.Text(), nullable=True),
    sa.Column('dataset_sha256', sa.Text(), nullable=True),
    sa.Column('spec', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('versions', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='code, Python and dependencies'),
    sa.Column('attempts', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('release_id', sa.Text(), nullable=True),
    sa.Column('release_sha256', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='by format'),
    sa.Column('public', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='W3C PROV-JSON without restricted facts'),
    sa.Column('restricted', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='W3C PROV-JSON, whole'),
    sa.ForeignKeyConstraint(['dataset_id'], ['dataset.id'], name=op.f('fk_provenance_dataset_id_dataset')),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_provenance_job_id_job'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('job_id', name=op.f('pk_provenance'))
    )
    op.create_table('publication',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('method', sa.Text(), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('base_release_id', sa.Text(), nullable=True, comment='of a series: it tells no more than this one'),
    sa.Column('previous_release_id', sa.Text(), nullable=True, comment='of a new version: whose boxes it has'),
    sa.Column('composed', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='what all up to this one leave together'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_publication_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_publication')),
    sa.UniqueConstraint('release_id', name=op.f('uq_publication_release_id'))
    )
    op.create_index('ix_publication_family_id', 'publication', ['family_id', 'id'], unique=False)
    op.create_table('release',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), server_default='', nullable=False, comment='what the owner calls it'),
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('dataset_id', sa.Text(), nullable=False),
    sa.Column('method', sa.Text(), nullable=False),
    sa.Column('rows', sa.BigInteger(), nullable=False),
    sa.Column('columns', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('flags', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('tags', postgresql.JSONB(astext_type=sa.Text()), server_default='{}', nullable=False),
    sa.Column('statistics', sa.JSON(), nullable=False, comment='public statistics; JSONB would write long doubles as integers'),
    sa.Column('warnings', sa.JSON(), server_default='[]', nullable=False, comment='list of contracts.warnings.JobWarning; public'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('deleted_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('state', sa.Text(), server_default='published', nullable=False),
    sa.Column('published_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=True, comment='null: never; it stays'),
    sa.Column('withdrawn_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('withdrawn_because', sa.Text(), nullable=True),
    sa.Column('made_by', sa.Text(), nullable=True, comment='id of the API key that submitted its job; under four eyes another one publishes it'),
    sa.Column('readers', postgresql.ARRAY(sa.Text()), server_default='{}', nullable=False, comment='owners beside its own'),
    sa.Column('public', sa.Boolean(), server_default=sa.text('false'), nullable=False),
    sa.Column('findings', sa.JSON(), server_default='[]', nullable=False, comment='list of contracts.findings.Finding; restricted'),
    sa.Column('family_id', sa.Text(), nullable=True, comment='what it was composed with'),
    sa.Column('composed_after', sa.BigInteger(), nullable=True, comment='how many were published of the family when it was composed'),
    sa.Column('composed', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='what it leaves with all that was published by then; restricted'),
    sa.Column('accepts_composition', sa.Boolean(), server_default=sa.text('false'), nullable=False),
    sa.Column('base_release_id', sa.Text(), nullable=True, comment='of a series: what it is made from alone'),
    sa.Column('previous_release_id', sa.Text(), nullable=True, comment='of a new version: whose boxes it has'),
    sa.Column('series_id', sa.Text(), nullable=True, comment='the first release that this one goes on'),
    sa.CheckConstraint("state IN ('draft', 'published', 'withdrawn')", name=op.f('ck_release_state')),
    sa.ForeignKeyConstraint(['base_release_id'], ['release.id'], name=op.f('fk_release_base_release_id_release')),
    sa.ForeignKeyConstraint(['dataset_id'], ['dataset.id'], name=op.f('fk_release_dataset_id_dataset')),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_release_job_id_job')),
    sa.ForeignKeyConstraint(['previous_release_id'], ['release.id'], name=op.f('fk_release_previous_release_id_release')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_release')),
    sa.UniqueConstraint('job_id', name=op.f('uq_release_job_id'))
    )
    op.create_index('ix_release_family_id', 'release', ['family_id'], unique=False)
    op.create_index('ix_release_owner_created_at', 'release', ['owner', 'created_at', 'id'], unique=False)
    op.create_index('ix_release_readers', 'release', ['readers'], unique=False, postgresql_using='gin')
    op.create_index('ix_release_series_id', 'release', ['series_id'], unique=False)
    op.create_table('secret',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False, comment='what it is for; of a column the keyed fingerprint of its values'),
    sa.Column('sealed', sa.LargeBinary(), nullable=False),
    sa.Column('sealed_under', sa.LargeBinary(), nullable=False, comment="which of the service's secrets opens it"),
    sa.Column('family_id', sa.Text(), nullable=True, comment='of a column: whose data it is of'),
    sa.Column('fingerprint', sa.Text(), nullable=True, comment='of a column: keyed, of the multiset of its values'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_secret_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('owner', 'name', name=op.f('pk_secret'))
    )
    op.create_index('ix_secret_family_id', 'secret', ['family_id', 'fingerprint'], unique=False)
    op.create_index(op.f('ix_secret_sealed_under'), 'secret', ['sealed_under'], unique=False)
    op.create_table('certificate',
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('position', sa.BigInteger(), nullable=False, comment="in the owner's chain, from 1; never shown"),
    sa.Column('previous', sa.Text(), nullable=True, comment='sha256 of the payload before it'),
    sa.Column('sha256', sa.Text(), nullable=False, comment='of the payload'),
    sa.Column('envelope', sa.LargeBinary(), nullable=True, comment='DSSE as served; null once the release is deleted'),
    sa.Column('issued_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('timestamp', sa.LargeBinary(), nullable=True, comment='RFC 3161 answer about the envelope; goes with it'),
    sa.Column('timestamped_at', sa.DateTime(timezone=True), nullable=True, comment='the time in it'),
    sa.Column('timestamp_asked_at', sa.DateTime(timezone=True), nullable=True, comment='last asked for in vain'),
    sa.ForeignKeyConstraint(['release_id'], ['release.id'], name=op.f('fk_certificate_release_id_release')),
    sa.PrimaryKeyConstraint('release_id', name=op.f('pk_certificate')),
    sa.UniqueConstraint('owner', 'position', name=op.f('uq_certificate_owner_position')),
    sa.UniqueConstraint('sha256', name=op.f('uq_certificate_sha256'))
    )
    op.create_table('job_input',
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('role', sa.Text(), nullable=False, comment="the specification's field"),
    sa.Column('position', sa.SmallInteger(), nullable=False, comment='the first dataset is what a release is made from'),
    sa.Column('dataset_id', sa.Text(), nullable=True),
    sa.Column('release_id', sa.Text(), nullable=True),
    sa.Column('source_job_id', sa.Text(), nullable=True, comment='an earlier job whose result is used'),
    sa.CheckConstraint('num_nonnulls(dataset_id, release_id, source_job_id) = 1', name=op.f('ck_job_input_one_object')),
    sa.ForeignKeyConstraint(['dataset_id'], ['dataset.id'], name=op.f('fk_job_input_dataset_id_dataset')),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_job_input_job_id_job'), ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['release_id'], ['release.id'], name=op.f('fk_job_input_release_id_release')),
    sa.ForeignKeyConstraint(['source_job_id'], ['job.id'], name=op.f('fk_job_input_source_job_id_job')),
    sa.PrimaryKeyConstraint('job_id', 'role', name=op.f('pk_job_input'))
    )
    op.create_index('ix_job_input_dataset_id', 'job_input', ['dataset_id'], unique=False, postgresql_where=sa.text('dataset_id IS NOT NULL'))
    op.create_index('ix_job_input_release_id', 'job_input', ['release_id'], unique=False, postgresql_where=sa.text('release_id IS NOT NULL'))
    op.create_index('ix_job_input_source_job_id', 'job_input', ['source_job_id'], unique=False, postgresql_where=sa.text('source_job_id IS NOT NULL'))
    op.create_table('release_file',
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('format', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('sha256', sa.Text(), nullable=False),
    sa.Column('bytes', sa.BigInteger(), nullable=False),
    sa.Column('served', sa.Boolean(), server_default=sa.text('true'), nullable=False, comment='false: read by audits only'),
    sa.ForeignKeyConstraint(['release_id'], ['release.id'], name=op.f('fk_release_file_release_id_release'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('release_id', 'format', name=op.f('pk_release_file'))
    )
    op.create_table('release_link',
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('dataset_id', sa.Text(), nullable=False, comment='the original; without it, no link'),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('bytes', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['dataset_id'], ['dataset.id'], name=op.f('fk_release_link_dataset_id_dataset')),
    sa.ForeignKeyConstraint(['release_id'], ['release.id'], name=op.f('fk_release_link_release_id_release'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('release_id', name=op.f('pk_release_link'))
    )
    op.create_index('ix_release_link_dataset_id', 'release_link', ['dataset_id'], unique=False)
    op.execute(_TRANSITIONS)
    op.execute(_GUARD)
    op.execute(_APPENDED)
    op.execute(_LOG_GUARD)
    op.execute("INSERT INTO installation (id) VALUES ('ins_' || replace(gen_random_uuid()::text, '-', ''))")


def downgrade() -> None:
    op.execute('DROP TRIGGER log_entry_appended ON log_entry')
    op.execute('DROP FUNCTION log_entry_appended')
    op.execute('DROP TRIGGER job_transition ON job')
    op.execute('DROP FUNCTION job_transition')
    op.drop_index('ix_release_link_dataset_id', table_name='release_link')
    op.drop_table('release_link')
    op.drop_table('release_file')
    op.drop_index('ix_job_input_source_job_id', table_name='job_input', postgresql_where=sa.text('source_job_id IS NOT NULL'))
    op.drop_index('ix_job_input_release_id', table_name='job_input', postgresql_where=sa.text('release_id IS NOT NULL'))
    op.drop_index('ix_job_input_dataset_id', table_name='job_input', postgresql_where=sa.text('dataset_id IS NOT NULL'))
    op.drop_table('job_input')
    op.drop_table('certificate')
    op.drop_index(op.f('ix_secret_sealed_under'), table_name='secret')
    op.drop_index('ix_secret_family_id', table_name='secret')
    op.drop_table('secret')
    op.drop_index('ix_release_series_id', table_name='release')
    op.drop_index('ix_release_readers', table_name='release', postgresql_using='gin')
    op.drop_index('ix_release_owner_created_at', table_name='release')
    op.drop_index('ix_release_family_id', table_name='release')
    op.drop_table('release')
    op.drop_index('ix_publication_family_id', table_name='publication')
    op.drop_table('publication')
    op.drop_table('provenance')
    op.drop_table('job_result')
    op.drop_table('job_progress')
    op.drop_index('ix_job_event_passing', table_name='job_event', postgresql_where=sa.text("state IN ('queued', 'running')"))
    op.drop_index('ix_job_event_job_id', table_name='job_event')
    op.drop_table('job_event')
    op.drop_table('job_checkpoint')
    op.drop_table('job_attempt')
    op.drop_index('ix_family_sketch_owner', table_name='family_sketch')
    op.drop_index('ix_family_sketch_family_id', table_name='family_sketch')
    op.drop_table('family_sketch')
    op.drop_table('family_person')
    op.drop_index('ix_family_column_owner_fingerprint', table_name='family_column')
    op.drop_table('family_column')
    op.drop_table('worker')
    op.drop_table('signing_key')
    op.drop_table('queue_turn')
    op.drop_table('publication_entry')
    op.drop_table('owner_setting')
    op.drop_table('owner_quota')
    op.drop_index('ix_log_entry_owner_created_at', table_name='log_entry')
    op.drop_table('log_entry')
    op.drop_table('ledger_file')
    op.drop_index('ix_job_whole_id', table_name='job', postgresql_where=sa.text('whole_id IS NOT NULL'))
    op.drop_index('ix_job_unfinished_owner', table_name='job', postgresql_where=sa.text('finished_at IS NULL'))
    op.drop_index('ix_job_unfinished', table_name='job', postgresql_where=sa.text('finished_at IS NULL'))
    op.drop_index('ix_job_owner_created_at', table_name='job')
    op.drop_index('ix_job_kept', table_name='job', postgresql_include=['result_bytes'], postgresql_where=sa.text('listed AND erased_at IS NULL'))
    op.drop_index('ix_job_finished_at', table_name='job', postgresql_where=sa.text('finished_at IS NOT NULL'))
    op.drop_index('ix_job_expires_at', table_name='job', postgresql_where=sa.text('expires_at IS NOT NULL'))
    op.drop_index('ix_job_estimated', table_name='job', postgresql_where=sa.text('estimated_seconds IS NOT NULL'))
    op.drop_table('job')
    op.drop_table('installation')
    op.drop_index(op.f('ix_idempotency_created_at'), table_name='idempotency')
    op.drop_table('idempotency')
    op.drop_index(op.f('ix_family_owner'), table_name='family')
    op.drop_table('family')
    op.drop_index('ix_dataset_owner_created_at', table_name='dataset')
    op.drop_index('ix_dataset_family_id', table_name='dataset')
    op.drop_table('dataset')
    op.drop_index('uq_audit_entry_bucket', table_name='audit_entry', postgresql_where=sa.text('bucket IS NOT NULL'))
    op.drop_index('ix_audit_entry_subject', table_name='audit_entry')
    op.drop_index('ix_audit_entry_owner_created_at', table_name='audit_entry')
    op.drop_index('ix_audit_entry_created_at', table_name='audit_entry')
    op.drop_table('audit_entry')
    op.drop_index(op.f('ix_api_key_owner'), table_name='api_key')
    op.drop_table('api_key')
    op.execute(sa.schema.DropSequence(sa.Sequence('job_change')))
