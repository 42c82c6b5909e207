"""who was where in what was published, by keyed fingerprints; the person columns of a family"""

from alembic import op
import sqlalchemy as sa

revision = '0014'
down_revision = '0013'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('ledger_file', sa.Column('persons_key', sa.Text(), nullable=True, comment='storage key of the fingerprints of its records and where each was; restricted'))
    op.add_column('ledger_file', sa.Column('persons_bytes', sa.BigInteger(), nullable=True))
    op.add_column('ledger_file', sa.Column('persons_under', sa.Text(), nullable=True, comment='name of the secret that the fingerprints are keyed by'))
    op.create_table('family_person',
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False, comment='of the column'),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('fingerprint', sa.Text(), nullable=True, comment='of its values as a multiset, keyed; null: many data share them'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_family_person_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('family_id', 'name', name=op.f('pk_family_person'))
    )


def downgrade() -> None:
    op.drop_table('family_person')
    op.drop_column('ledger_file', 'persons_under')
    op.drop_column('ledger_file', 'persons_bytes')
    op.drop_column('ledger_file', 'persons_key')
