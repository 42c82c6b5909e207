"""initial"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0001'
down_revision = None
branch_labels = None
depends_on = None

# The table of app.contracts.jobs.TRANSITIONS; a test compares the two pair by pair. A finished row never changes.
_TRANSITIONS = """
CREATE FUNCTION job_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'queued' AND NEW.state IN ('running', 'cancelled', 'failed')
    OR OLD.state = 'running' AND NEW.state IN ('queued', 'succeeded', 'failed', 'cancelled') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'job % must not change from % to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'check_violation';
END $$
"""
_GUARD = """
CREATE TRIGGER job_transition BEFORE UPDATE ON job FOR EACH ROW
WHEN (OLD.state IS DISTINCT FROM NEW.state OR OLD.finished_at IS NOT NULL) EXECUTE FUNCTION job_transition()
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
    sa.PrimaryKeyConstraint('id', name=op.f('pk_api_key')),
    sa.UniqueConstraint('digest', name=op.f('uq_api_key_digest'))
    )
    op.create_index(op.f('ix_api_key_owner'), 'api_key', ['owner'], unique=False)
    op.create_table('dataset',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False),
    sa.Column('state', sa.Text(), nullable=False),
    sa.Column('labels', postgresql.JSONB(astext_type=sa.Text()), server_default='{}', nullable=False),
    sa.Column('options', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='ReadOptions of the upload'),
    sa.Column('bytes', sa.BigInteger(), nullable=False, comment='of the decoded body'),
    sa.Column('sha256', sa.Text(), nullable=False, comment='of the decoded body'),
    sa.Column('rows', sa.BigInteger(), nullable=True),
    sa.Column('columns', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='list of contracts.datasets.Column'),
    sa.Column('numeric', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='NumericSummary by column; restricted'),
    sa.Column('ingest_job_id', sa.Text(), nullable=True, comment='the unlisted job that reads the upload'),
    sa.Column('staged_key', sa.Text(), nullable=True, comment='storage key of the upload until it is read'),
    sa.Column('data_key', sa.Text(), nullable=True, comment='storage key of the typed Parquet copy'),
    sa.Column('data_bytes', sa.BigInteger(), nullable=True),
    sa.Column('error', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='problem of a failed ingest'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('deleted_at', sa.DateTime(timezone=True), nullable=True),
    sa.CheckConstraint("state IN ('ingesting', 'ready', 'failed', 'deleted')", name=op.f('ck_dataset_state')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_dataset'))
    )
    op.create_index('ix_dataset_owner_created_at', 'dataset', ['owner', 'created_at', 'id'], unique=False)
    op.create_table('idempotency',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('fingerprint', sa.Text(), nullable=False),
    sa.Column('token', sa.Text(), nullable=False, comment='who holds the lease'),
    sa.Column('leased_until', sa.DateTime(timezone=True), nullable=False),
    sa.Column('status', sa.Integer(), nullable=True, comment='null while in flight'),
    sa.Column('headers', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
    sa.Column('body', sa.Text(), nullable=True, comment='JSON as it was sent: a replay is the same bytes'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('owner', 'key', name=op.f('pk_idempotency'))
    )
    op.create_index(op.f('ix_idempotency_created_at'), 'idempotency', ['created_at'], unique=False)
    op.create_table('job',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('kind', sa.Text(), nullable=False, comment='anonymization, audit, or the internal ingest'),
    sa.Column('method', sa.Text(), nullable=False),
    sa.Column('queue', sa.Text(), nullable=False),
    sa.Column('listed', sa.Boolean(), server_default=sa.text('true'), nullable=False),
    sa.Column('state', sa.Text(), nullable=False),
    sa.Column('labels', postgresql.JSONB(astext_type=sa.Text()), server_default='{}', nullable=False),
    sa.Column('spec', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment="as asked, defaults filled in; seed only as 'given' or null"),
    sa.Column('seed', sa.BigInteger(), nullable=True, comment='given seed of a test run; never shown'),
    sa.Column('dataset_id', sa.Text(), nullable=True),
    sa.Column('requested_by', sa.Text(), nullable=True, comment='id of the API key that asked'),
    sa.Column('result', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='the summary'),
    sa.Column('release_id', sa.Text(), nullable=True),
    sa.Column('error', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='RFC 9457 members'),
    sa.Column('attempt', sa.Integer(), server_default='0', nullable=False, comment='fence: claims so far'),
    sa.Column('given_back', sa.Integer(), server_default='0', nullable=False, comment='claims that do not count as attempts'),
    sa.Column('cancel_requested_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('queued_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('enqueued_at', sa.DateTime(timezone=True), nullable=True, comment='last time the id was sent to the broker'),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.CheckConstraint("(finished_at IS NULL) = (state IN ('queued', 'running'))", name=op.f('ck_job_finished')),
    sa.CheckConstraint("state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name=op.f('ck_job_state')),
    sa.ForeignKeyConstraint(['dataset_id'], ['dataset.id'], name=op.f('fk_job_dataset_id_dataset')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_job'))
    )
    op.create_index('ix_job_dataset_id', 'job', ['dataset_id'], unique=False)
    op.create_index('ix_job_expires_at', 'job', ['expires_at'], unique=False, postgresql_where=sa.text('expires_at IS NOT NULL'))
    op.create_index('ix_job_finished_at', 'job', ['finished_at'], unique=False, postgresql_where=sa.text('finished_at IS NOT NULL'))
    op.create_index('ix_job_owner_created_at', 'job', ['owner', 'created_at', 'id'], unique=False)
    op.create_index('ix_job_unfinished', 'job', ['state', 'queue'], unique=False, postgresql_where=sa.text('finished_at IS NULL'))
    op.create_index('ix_job_unfinished_owner', 'job', ['owner'], unique=False, postgresql_where=sa.text('finished_at IS NULL'))
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
    op.create_table('release',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('job_id', sa.Text(), nullable=False),
    sa.Column('dataset_id', sa.Text(), nullable=False),
    sa.Column('method', sa.Text(), nullable=False),
    sa.Column('rows', sa.BigInteger(), nullable=False),
    sa.Column('columns', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('flags', postgresql.ARRAY(sa.Text()), nullable=False),
    sa.Column('labels', postgresql.JSONB(astext_type=sa.Text()), server_default='{}', nullable=False),
    sa.Column('statistics', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='public statistics'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('deleted_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['dataset_id'], ['dataset.id'], name=op.f('fk_release_dataset_id_dataset')),
    sa.ForeignKeyConstraint(['job_id'], ['job.id'], name=op.f('fk_release_job_id_job')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_release')),
    sa.UniqueConstraint('job_id', name=op.f('uq_release_job_id'))
    )
    op.create_index('ix_release_owner_created_at', 'release', ['owner', 'created_at', 'id'], unique=False)
    op.create_table('release_file',
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('format', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('sha256', sa.Text(), nullable=False),
    sa.Column('bytes', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['release_id'], ['release.id'], name=op.f('fk_release_file_release_id_release'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('release_id', 'format', name=op.f('pk_release_file'))
    )
    op.create_table('worker',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('queue', sa.Text(), nullable=False),
    sa.Column('host', sa.Text(), nullable=False),
    sa.Column('pid', sa.Integer(), nullable=False),
    sa.Column('rss_bytes', sa.BigInteger(), nullable=False),
    sa.Column('started_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('seen_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_worker'))
    )
    op.execute(_TRANSITIONS)
    op.execute(_GUARD)


def downgrade() -> None:
    op.execute('DROP TRIGGER job_transition ON job')
    op.execute('DROP FUNCTION job_transition')
    op.drop_table('worker')
    op.drop_table('release_file')
    op.drop_index('ix_release_owner_created_at', table_name='release')
    op.drop_table('release')
    op.drop_table('provenance')
    op.drop_table('job_result')
    op.drop_table('job_progress')
    op.drop_index('ix_job_event_job_id', table_name='job_event')
    op.drop_table('job_event')
    op.drop_table('job_checkpoint')
    op.drop_table('job_attempt')
    op.drop_index('ix_job_unfinished_owner', table_name='job', postgresql_where=sa.text('finished_at IS NULL'))
    op.drop_index('ix_job_unfinished', table_name='job', postgresql_where=sa.text('finished_at IS NULL'))
    op.drop_index('ix_job_finished_at', table_name='job', postgresql_where=sa.text('finished_at IS NOT NULL'))
    op.drop_index('ix_job_owner_created_at', table_name='job')
    op.drop_index('ix_job_expires_at', table_name='job', postgresql_where=sa.text('expires_at IS NOT NULL'))
    op.drop_index('ix_job_dataset_id', table_name='job')
    op.drop_table('job')
    op.drop_index(op.f('ix_idempotency_created_at'), table_name='idempotency')
    op.drop_table('idempotency')
    op.drop_index('ix_dataset_owner_created_at', table_name='dataset')
    op.drop_table('dataset')
    op.drop_index(op.f('ix_api_key_owner'), table_name='api_key')
    op.drop_table('api_key')
    op.execute(sa.schema.DropSequence(sa.Sequence('job_change')))
