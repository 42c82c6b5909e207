"""secrets of owners, sealed, that random choices which are published follow from"""

from alembic import op
import sqlalchemy as sa

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('secret',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False, comment='what it is for; of a column the keyed fingerprint of its values'),
    sa.Column('sealed', sa.LargeBinary(), nullable=False),
    sa.Column('sealed_under', sa.LargeBinary(), nullable=False, comment="which of the service's secrets opens it"),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('owner', 'name', name=op.f('pk_secret'))
    )
    op.create_index(op.f('ix_secret_sealed_under'), 'secret', ['sealed_under'], unique=False)


def downgrade() -> None:
    op.drop_table('secret')
