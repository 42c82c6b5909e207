"""owners take turns in a queue"""

from alembic import op
import sqlalchemy as sa

revision = '0015'
down_revision = '0014'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'queue_turn',
        sa.Column('queue', sa.Text(), nullable=False),
        sa.Column('owner', sa.Text(), nullable=False),
        sa.Column('claimed_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
        sa.PrimaryKeyConstraint('queue', 'owner', name=op.f('pk_queue_turn')),
    )


def downgrade() -> None:
    op.drop_table('queue_turn')
