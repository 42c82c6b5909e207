"""Keys that their holders renew, until a day that the operator gives; those of before cannot be renewed."""

from alembic import op
import sqlalchemy as sa

revision = '0110'
down_revision = '0109'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('api_key', sa.Column('renewable_until', sa.DateTime(timezone=True), nullable=True, comment='renewals end by then; null: it cannot be renewed'))
    op.add_column('api_key', sa.Column('lifetime', sa.Interval(), nullable=True, comment='of each renewal, up to that day'))
    op.add_column('api_key', sa.Column('renewed_from', sa.Text(), nullable=True, comment='the key that this one replaces'))
    op.create_unique_constraint(op.f('uq_api_key_renewed_from'), 'api_key', ['renewed_from'])
    op.create_foreign_key(op.f('fk_api_key_renewed_from_api_key'), 'api_key', 'api_key', ['renewed_from'], ['id'])


def downgrade() -> None:
    op.drop_constraint(op.f('fk_api_key_renewed_from_api_key'), 'api_key', type_='foreignkey')
    op.drop_constraint(op.f('uq_api_key_renewed_from'), 'api_key', type_='unique')
    op.drop_column('api_key', 'renewed_from')
    op.drop_column('api_key', 'lifetime')
    op.drop_column('api_key', 'renewable_until')
