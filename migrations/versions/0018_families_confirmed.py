"""families that a keeper has confirmed, and their own secrets; whose rows a sketch is of; settings of owners"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0018'
down_revision = '0017'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('family', sa.Column('confirmed', sa.Boolean(), server_default=sa.text('true'), nullable=False, comment='by a keeper; false: its data came by a lesser key, and it is compared with nothing'))
    op.add_column('family', sa.Column('joined', sa.Boolean(), server_default=sa.text('true'), nullable=False, comment='false: confirmed, not compared yet'))
    op.add_column('family', sa.Column('older_secrets', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment="of before secrets were a family's own: it has those of the owner"))
    op.execute('UPDATE family SET older_secrets = true')
    op.add_column('family_sketch', sa.Column('dataset_id', sa.Text(), nullable=True, comment='whose rows they are; null: of before that was kept'))
    op.add_column('dataset', sa.Column('joined_by', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='why it is of its family: contracts.families.Reason'))
    op.add_column('dataset', sa.Column('by_keeper', sa.Boolean(), server_default=sa.text('true'), nullable=False, comment='by a key with jobs:read'))
    op.add_column('secret', sa.Column('family_id', sa.Text(), nullable=True, comment='of a column: whose data it is of'))
    op.add_column('secret', sa.Column('fingerprint', sa.Text(), nullable=True, comment='of a column: keyed, of the multiset of its values'))
    op.create_foreign_key(op.f('fk_secret_family_id_family'), 'secret', 'family', ['family_id'], ['id'], ondelete='CASCADE')
    op.create_index('ix_secret_family_id', 'secret', ['family_id', 'fingerprint'], unique=False)
    op.create_table('owner_setting',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('jobs_publish', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='jobs publish what they make, whoever asked for them'),
    sa.PrimaryKeyConstraint('owner', name=op.f('pk_owner_setting'))
    )


def downgrade() -> None:
    op.drop_table('owner_setting')
    op.drop_index('ix_secret_family_id', table_name='secret')
    op.drop_constraint(op.f('fk_secret_family_id_family'), 'secret', type_='foreignkey')
    op.drop_column('secret', 'fingerprint')
    op.drop_column('secret', 'family_id')
    op.drop_column('dataset', 'by_keeper')
    op.drop_column('dataset', 'joined_by')
    op.drop_column('family_sketch', 'dataset_id')
    op.drop_column('family', 'older_secrets')
    op.drop_column('family', 'joined')
    op.drop_column('family', 'confirmed')
