"""what owners may keep, and an audit log of what is not chained"""

from alembic import op
import sqlalchemy as sa

revision = '0021'
down_revision = '0020'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'audit_entry',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column('at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.Column('owner', sa.Text(), nullable=False, comment='whose log it is in; empty: the operator\'s alone'),
        sa.Column('key_id', sa.Text(), nullable=True, comment='id of the API key; null: none, or the service itself'),
        sa.Column('action', sa.Text(), nullable=False),
        sa.Column('subject', sa.Text(), nullable=False, comment='id of what it was done to, or asked of'),
        sa.Column('facts', sa.JSON(), server_default='{}', nullable=False),
        sa.Column('count', sa.BigInteger(), server_default='1', nullable=False),
        sa.Column('bucket', sa.Text(), nullable=True, comment='what is counted together, and in which minute; null: a single entry'),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_audit_entry')),
    )
    op.create_index('ix_audit_entry_at', 'audit_entry', ['at'], unique=False)
    op.create_index('ix_audit_entry_owner_at', 'audit_entry', ['owner', 'at'], unique=False)
    op.create_index('ix_audit_entry_subject', 'audit_entry', ['subject'], unique=False)
    op.create_index('uq_audit_entry_bucket', 'audit_entry', ['bucket'], unique=True, postgresql_where=sa.text('bucket IS NOT NULL'))
    op.create_index('ix_log_entry_owner_at', 'log_entry', ['owner', 'at'], unique=False)
    op.create_table(
        'owner_quota',
        sa.Column('owner', sa.Text(), nullable=False),
        sa.Column('resource', sa.Text(), nullable=False, comment='contracts.usage.Resource'),
        sa.Column('maximum', sa.Double(), nullable=False),
        sa.CheckConstraint('maximum >= 0', name=op.f('ck_owner_quota_maximum')),
        sa.PrimaryKeyConstraint('owner', 'resource', name=op.f('pk_owner_quota')),
    )
    op.add_column('installation', sa.Column('secret_name', sa.LargeBinary(), nullable=True, comment="of the server's secret that the last process has started with"))
    op.add_column('job', sa.Column('result_bytes', sa.BigInteger(), nullable=True, comment='of the whole result, while it is kept'))
    op.execute('ALTER TABLE job DISABLE TRIGGER job_transition')  # finished rows get what is new about them
    op.execute('UPDATE job SET result_bytes = r.bytes FROM job_result r WHERE r.job_id = job.id AND job.listed AND job.erased_at IS NULL')
    op.execute('ALTER TABLE job ENABLE TRIGGER job_transition')
    op.create_index('ix_job_kept', 'job', ['owner'], unique=False, postgresql_include=['result_bytes'], postgresql_where=sa.text('listed AND erased_at IS NULL'))


def downgrade() -> None:
    op.drop_index('ix_job_kept', table_name='job', postgresql_include=['result_bytes'], postgresql_where=sa.text('listed AND erased_at IS NULL'))
    op.drop_column('job', 'result_bytes')
    op.drop_column('installation', 'secret_name')
    op.drop_table('owner_quota')
    op.drop_index('ix_log_entry_owner_at', table_name='log_entry')
    op.drop_table('audit_entry')
