"""By what the persons that a column of a dataset counts are recognised, next to its own rows."""

from alembic import op
import sqlalchemy as sa

revision = '0109'
down_revision = '0108'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('counted_sketch',
    sa.Column('dataset_id', sa.Text(), nullable=False),
    sa.Column('counted_by', sa.Text(), nullable=False, comment='the column'),
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('sketch', sa.LargeBinary(), nullable=False, comment='keyed hashes, as frames.sketched packs them, sealed'),
    sa.Column('sealed_under', sa.LargeBinary(), nullable=False, comment='which secret of the service'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_counted_sketch_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('dataset_id', 'counted_by', name=op.f('pk_counted_sketch'))
    )
    op.create_index('ix_counted_sketch_family_id', 'counted_sketch', ['family_id'], unique=False)
    op.create_index('ix_counted_sketch_owner', 'counted_sketch', ['owner'], unique=False)


def downgrade() -> None:
    op.drop_index('ix_counted_sketch_owner', table_name='counted_sketch')
    op.drop_index('ix_counted_sketch_family_id', table_name='counted_sketch')
    op.drop_table('counted_sketch')
