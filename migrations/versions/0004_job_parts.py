"""jobs that are split into parts"""

from alembic import op
import sqlalchemy as sa

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('job', sa.Column('whole_id', sa.Text(), nullable=True, comment='of a part: the job it is a part of'))
    op.add_column('job', sa.Column('part', sa.Integer(), nullable=True, comment='of a part: which one'))
    op.add_column('job', sa.Column('parts', sa.Integer(), nullable=True, comment='how many parts the work was split into'))
    op.add_column('job', sa.Column('parts_left', sa.Integer(), nullable=True, comment='of a whole: parts that have not ended; nobody else works on it until then'))
    op.create_foreign_key(op.f('fk_job_whole_id_job'), 'job', 'job', ['whole_id'], ['id'], ondelete='CASCADE')
    op.create_index('ix_job_whole_id', 'job', ['whole_id', 'part'], unique=False, postgresql_where=sa.text('whole_id IS NOT NULL'))
    op.add_column('worker', sa.Column('concurrency', sa.Integer(), server_default='1', nullable=False, comment='jobs it runs at a time'))


def downgrade() -> None:
    op.drop_column('worker', 'concurrency')
    op.drop_index('ix_job_whole_id', table_name='job', postgresql_where=sa.text('whole_id IS NOT NULL'))
    op.drop_constraint(op.f('fk_job_whole_id_job'), 'job', type_='foreignkey')
    op.drop_column('job', 'parts_left')
    op.drop_column('job', 'parts')
    op.drop_column('job', 'part')
    op.drop_column('job', 'whole_id')
