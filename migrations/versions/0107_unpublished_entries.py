"""Entries of publications are in storage before the transaction that publishes: which of them wait for one."""

from alembic import op
import sqlalchemy as sa

revision = '0107'
down_revision = '0106'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('unpublished_entry',
    sa.Column('key', sa.Text(), nullable=False, comment='storage key'),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('given_up_at', sa.DateTime(timezone=True), nullable=True, comment='it will never be published, whenever its bytes arrive'),
    sa.PrimaryKeyConstraint('key', name=op.f('pk_unpublished_entry'))
    )


def downgrade() -> None:
    op.drop_table('unpublished_entry')
