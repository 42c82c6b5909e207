"""The bytes of a release beside it: what an owner keeps is counted from an index; indexes of what was deleted."""

from alembic import op
import sqlalchemy as sa

revision = '0105'
down_revision = '0104'
branch_labels = None
depends_on = None

_FILL = """
UPDATE release SET file_bytes = sizes.bytes
FROM (SELECT release_id, sum(bytes) AS bytes FROM release_file GROUP BY release_id) sizes
WHERE sizes.release_id = release.id
"""


def upgrade() -> None:
    op.add_column('release', sa.Column('file_bytes', sa.BigInteger(), nullable=True, comment='of all its files; null: written by an older process, its files state it'))
    op.execute(_FILL)
    op.create_index('ix_release_kept', 'release', ['owner'], unique=False, postgresql_include=['file_bytes'], postgresql_where=sa.text('deleted_at IS NULL'))
    op.create_index('ix_release_unmeasured', 'release', ['owner'], unique=False, postgresql_where=sa.text('deleted_at IS NULL AND file_bytes IS NULL'))
    op.create_index('ix_release_deleted', 'release', ['id'], unique=False, postgresql_where=sa.text('deleted_at IS NOT NULL'))
    op.create_index('ix_job_erased', 'job', ['id'], unique=False, postgresql_where=sa.text('erased_at IS NOT NULL'))


def downgrade() -> None:
    op.drop_index('ix_job_erased', table_name='job')
    op.drop_index('ix_release_deleted', table_name='release')
    op.drop_index('ix_release_unmeasured', table_name='release')
    op.drop_index('ix_release_kept', table_name='release')
    op.drop_column('release', 'file_bytes')
