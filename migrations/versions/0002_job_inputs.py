"""jobs with several inputs"""

from alembic import op
import sqlalchemy as sa

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
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
    # Until now a job had one input, its dataset.
    op.execute("INSERT INTO job_input (job_id, role, position, dataset_id)"
               " SELECT id, 'dataset_id', 0, dataset_id FROM job WHERE dataset_id IS NOT NULL")
    op.create_index('ix_job_input_dataset_id', 'job_input', ['dataset_id'], unique=False, postgresql_where=sa.text('dataset_id IS NOT NULL'))
    op.create_index('ix_job_input_release_id', 'job_input', ['release_id'], unique=False, postgresql_where=sa.text('release_id IS NOT NULL'))
    op.create_index('ix_job_input_source_job_id', 'job_input', ['source_job_id'], unique=False, postgresql_where=sa.text('source_job_id IS NOT NULL'))
    op.drop_index('ix_job_dataset_id', table_name='job')
    op.drop_constraint('fk_job_dataset_id_dataset', 'job', type_='foreignkey')
    op.drop_column('job', 'dataset_id')
    op.add_column('job', sa.Column('draw', sa.Integer(), server_default='1', nullable=False, comment='which random draw from the same data, for methods whose draws add up'))


def downgrade() -> None:
    op.drop_column('job', 'draw')
    op.add_column('job', sa.Column('dataset_id', sa.Text(), nullable=True))
    op.execute("ALTER TABLE job DISABLE TRIGGER job_transition")  # finished rows get their dataset back
    op.execute("UPDATE job SET dataset_id = job_input.dataset_id FROM job_input"
               " WHERE job_input.job_id = job.id AND job_input.role = 'dataset_id'")
    op.execute("ALTER TABLE job ENABLE TRIGGER job_transition")
    op.create_foreign_key('fk_job_dataset_id_dataset', 'job', 'dataset', ['dataset_id'], ['id'])
    op.create_index('ix_job_dataset_id', 'job', ['dataset_id'], unique=False)
    op.drop_index('ix_job_input_source_job_id', table_name='job_input', postgresql_where=sa.text('source_job_id IS NOT NULL'))
    op.drop_index('ix_job_input_release_id', table_name='job_input', postgresql_where=sa.text('release_id IS NOT NULL'))
    op.drop_index('ix_job_input_dataset_id', table_name='job_input', postgresql_where=sa.text('dataset_id IS NOT NULL'))
    op.drop_table('job_input')
