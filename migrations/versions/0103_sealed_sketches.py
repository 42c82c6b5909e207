"""Sketches are sealed under the service's secret, as the secrets of owners are."""

from alembic import op
import sqlalchemy as sa

revision = '0103'
down_revision = '0102'
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ('table_sketch', 'person_sketch'):
        comment = 'which secret of the service; null: not sealed yet'
        op.add_column(table, sa.Column('sealed_under', sa.LargeBinary(), nullable=True, comment=comment))
        comment = 'keyed hashes, as frames.sketched packs them, sealed'
        op.alter_column(table, 'sketch', comment=comment, existing_comment='keyed hashes, as frames.sketched packs them')


def downgrade() -> None:
    for table in ('table_sketch', 'person_sketch'):
        op.execute(f'DELETE FROM {table} WHERE sealed_under IS NOT NULL')
        comment = 'keyed hashes, as frames.sketched packs them'
        op.alter_column(table, 'sketch', comment=comment)
        op.drop_column(table, 'sealed_under')
