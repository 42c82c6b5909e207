"""timestamps of certificates by an authority (RFC 3161)"""

from alembic import op
import sqlalchemy as sa

revision = '0013'
down_revision = '0012'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('certificate', sa.Column('timestamp', sa.LargeBinary(), nullable=True, comment='RFC 3161 answer about the envelope; goes with it'))
    op.add_column('certificate', sa.Column('timestamped_at', sa.DateTime(timezone=True), nullable=True, comment='the time in it'))
    op.add_column('certificate', sa.Column('timestamp_asked_at', sa.DateTime(timezone=True), nullable=True, comment='last asked for in vain'))


def downgrade() -> None:
    op.drop_column('certificate', 'timestamp_asked_at')
    op.drop_column('certificate', 'timestamped_at')
    op.drop_column('certificate', 'timestamp')
