"""jobs that wait for storage"""

from alembic import op
import sqlalchemy as sa

revision = '0017'
down_revision = '0016'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('job', sa.Column('not_before', sa.DateTime(timezone=True), nullable=True, comment='a fault of the storage made it wait until then'))
    op.add_column('job', sa.Column('held_seconds', sa.Double(), server_default='0', nullable=False, comment='so long it was made to wait in all'))


def downgrade() -> None:
    op.drop_column('job', 'held_seconds')
    op.drop_column('job', 'not_before')
