"""the installation, what publications write to storage, expiry and last use of keys"""

from alembic import op
import sqlalchemy as sa

revision = '0016'
down_revision = '0015'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('installation',
    sa.Column('single', sa.Boolean(), server_default=sa.text('true'), nullable=False),
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('storage_marked_at', sa.DateTime(timezone=True), nullable=True, comment='when its id was written to storage'),
    sa.Column('orphans_held', sa.BigInteger(), server_default='0', nullable=False, comment='objects without a row, left alone'),
    sa.Column('publishing_held_at', sa.DateTime(timezone=True), nullable=True, comment='nothing is published since then'),
    sa.Column('publishing_held_because', sa.Text(), nullable=True),
    sa.CheckConstraint('single', name=op.f('ck_installation_single')),
    sa.PrimaryKeyConstraint('single', name=op.f('pk_installation'))
    )
    op.execute("INSERT INTO installation (id) VALUES ('ins_' || replace(gen_random_uuid()::text, '-', ''))")
    op.create_table('publication_entry',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('number', sa.BigInteger(), nullable=False, comment='from 1, without gaps'),
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False, comment='storage key'),
    sa.Column('at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('stale', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='its rows have changed since'),
    sa.PrimaryKeyConstraint('owner', 'number', name=op.f('pk_publication_entry')),
    sa.UniqueConstraint('release_id', name=op.f('uq_publication_entry_release_id'))
    )
    op.add_column('api_key', sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True, comment='it works until then'))
    op.add_column('api_key', sa.Column('used_at', sa.DateTime(timezone=True), nullable=True, comment='last use, to the hour'))
    op.add_column('api_key', sa.Column('hashed_under', sa.LargeBinary(), nullable=True, comment='which of the service\'s secrets; null: not known'))


def downgrade() -> None:
    for name in ('hashed_under', 'used_at', 'expires_at'):
        op.drop_column('api_key', name)
    op.drop_table('publication_entry')
    op.drop_table('installation')
