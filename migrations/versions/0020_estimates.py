"""what jobs are expected to need, and what workers have"""

from alembic import op
import sqlalchemy as sa

revision = '0020'
down_revision = '0019'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('job', sa.Column('estimated_seconds', sa.Double(), nullable=True, comment='of CPU, when it was accepted'))
    op.add_column('job', sa.Column('estimated_bytes', sa.BigInteger(), nullable=True, comment='of memory, when it was accepted'))
    op.create_index('ix_job_estimated', 'job', ['owner', 'created_at'], unique=False, postgresql_where=sa.text('estimated_seconds IS NOT NULL'))
    op.add_column('worker', sa.Column('memory_bytes', sa.BigInteger(), nullable=True, comment='that each of its jobs may take; null: it does not say'))


def downgrade() -> None:
    op.drop_column('worker', 'memory_bytes')
    op.drop_index('ix_job_estimated', table_name='job', postgresql_where=sa.text('estimated_seconds IS NOT NULL'))
    op.drop_column('job', 'estimated_bytes')
    op.drop_column('job', 'estimated_seconds')
