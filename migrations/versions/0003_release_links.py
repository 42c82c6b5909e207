"""which record each row of a release stands for, for audits"""

from alembic import op
import sqlalchemy as sa

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('release_link',
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('dataset_id', sa.Text(), nullable=False, comment='the original; without it, no link'),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('bytes', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['dataset_id'], ['dataset.id'], name=op.f('fk_release_link_dataset_id_dataset')),
    sa.ForeignKeyConstraint(['release_id'], ['release.id'], name=op.f('fk_release_link_release_id_release'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('release_id', name=op.f('pk_release_link'))
    )
    op.create_index('ix_release_link_dataset_id', 'release_link', ['dataset_id'], unique=False)


def downgrade() -> None:
    op.drop_table('release_link')
