"""Bytes that a job is expected to write and to lay out on its worker's disk, and the room that a worker has there."""

from alembic import op
import sqlalchemy as sa

revision = '0106'
down_revision = '0105'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('job', sa.Column('estimated_release_bytes', sa.BigInteger(), nullable=True, comment='of the files of its release, when it was accepted'))
    op.add_column('job', sa.Column('estimated_scratch_bytes', sa.BigInteger(), nullable=True, comment='of temporary files, when it was accepted'))
    op.add_column('worker', sa.Column('scratch_bytes', sa.BigInteger(), nullable=True, comment='of temporary files that each of its jobs has room for; null: unknown'))


def downgrade() -> None:
    op.drop_column('worker', 'scratch_bytes')
    op.drop_column('job', 'estimated_scratch_bytes')
    op.drop_column('job', 'estimated_release_bytes')
