"""drafts, published and withdrawn releases; families of the same data, their ledger; a log that is only appended to

Additive: what processes of the version before make is published, as it was.
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None

_APPENDED = """
CREATE FUNCTION log_entry_appended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the log is only appended to' USING ERRCODE = 'check_violation';
END $$
"""
_GUARD = """
CREATE TRIGGER log_entry_appended BEFORE UPDATE OR DELETE ON log_entry FOR EACH ROW EXECUTE FUNCTION log_entry_appended()
"""


def upgrade() -> None:
    op.create_table('family',
    sa.Column('id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('apart', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='the keeper said `none`'),
    sa.Column('published', sa.BigInteger(), server_default='0', nullable=False, comment='releases ever published of it'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_family'))
    )
    op.create_index(op.f('ix_family_owner'), 'family', ['owner'], unique=False)
    op.create_table('ledger_file',
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('bytes', sa.BigInteger(), nullable=False),
    sa.Column('kept', sa.Boolean(), server_default=sa.text('false'), nullable=False, comment='it was published'),
    sa.PrimaryKeyConstraint('release_id', name=op.f('pk_ledger_file'))
    )
    op.create_table('log_entry',
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('number', sa.BigInteger(), nullable=False, comment='from 1, without gaps'),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('key_id', sa.Text(), nullable=True, comment='id of the API key; null: the service itself'),
    sa.Column('action', sa.Text(), nullable=False),
    sa.Column('subject', sa.Text(), nullable=False, comment='id of what it was done to'),
    sa.Column('facts', sa.JSON(), nullable=False),
    sa.Column('previous', sa.Text(), nullable=False, comment='hash of the entry before; zeros before the first'),
    sa.Column('hash', sa.Text(), nullable=False),
    sa.PrimaryKeyConstraint('owner', 'number', name=op.f('pk_log_entry'))
    )
    op.create_table('family_column',
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('fingerprint', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_family_column_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('family_id', 'fingerprint', name=op.f('pk_family_column'))
    )
    op.create_index('ix_family_column_owner_fingerprint', 'family_column', ['owner', 'fingerprint'], unique=False)
    op.create_table('family_sketch',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('columns', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='names, sorted'),
    sa.Column('rows', sa.BigInteger(), nullable=False),
    sa.Column('least', sa.LargeBinary(), nullable=False, comment='the smallest keyed hashes, 8 bytes each, ascending'),
    sa.Column('repeats', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='[[how often a row occurs, how many such rows there are], ...]'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_family_sketch_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_family_sketch'))
    )
    op.create_index('ix_family_sketch_family_id', 'family_sketch', ['family_id'], unique=False)
    op.create_index('ix_family_sketch_owner', 'family_sketch', ['owner'], unique=False)
    op.create_table('publication',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('method', sa.Text(), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('base_release_id', sa.Text(), nullable=True, comment='of a series: it tells no more than this one'),
    sa.Column('composed', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='what all up to this one leave together'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_publication_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_publication')),
    sa.UniqueConstraint('release_id', name=op.f('uq_publication_release_id'))
    )
    op.create_index('ix_publication_family_id', 'publication', ['family_id', 'id'], unique=False)
    op.add_column('dataset', sa.Column('same_data_as', sa.Text(), nullable=True, comment="the keeper's word: id of a dataset, or `none`"))
    op.add_column('dataset', sa.Column('family_id', sa.Text(), nullable=True, comment='datasets of the same data'))
    op.create_index('ix_dataset_family_id', 'dataset', ['family_id'], unique=False)
    op.add_column('release', sa.Column('state', sa.Text(), server_default='published', nullable=False))
    op.add_column('release', sa.Column('published_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=True, comment='null: never; it stays'))
    op.add_column('release', sa.Column('withdrawn_at', sa.DateTime(timezone=True), nullable=True))
    op.add_column('release', sa.Column('withdrawn_because', sa.Text(), nullable=True))
    op.add_column('release', sa.Column('made_by', sa.Text(), nullable=True, comment='id of the API key that asked for it; under four eyes another one publishes it'))
    op.add_column('release', sa.Column('readers', postgresql.ARRAY(sa.Text()), server_default='{}', nullable=False, comment='owners beside its own'))
    op.add_column('release', sa.Column('public', sa.Boolean(), server_default=sa.text('false'), nullable=False))
    op.add_column('release', sa.Column('findings', sa.JSON(), server_default='[]', nullable=False, comment='list of contracts.findings.Finding; restricted'))
    op.add_column('release', sa.Column('family_id', sa.Text(), nullable=True, comment='what it was composed with'))
    op.add_column('release', sa.Column('composed', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='what it leaves with all that was published by then; restricted'))
    op.add_column('release', sa.Column('composed_after', sa.BigInteger(), nullable=True, comment='how many were published of the family when it was composed'))
    op.add_column('release', sa.Column('allow_repeat', sa.Boolean(), server_default=sa.text('false'), nullable=False))
    op.add_column('release', sa.Column('base_release_id', sa.Text(), nullable=True, comment='of a series: what it is made from alone'))
    op.create_index('ix_release_family_id', 'release', ['family_id'], unique=False)
    op.create_index('ix_release_readers', 'release', ['readers'], unique=False, postgresql_using='gin')
    op.create_foreign_key(op.f('fk_release_base_release_id_release'), 'release', 'release', ['base_release_id'], ['id'])
    op.add_column('job', sa.Column('findings', sa.JSON(), server_default='[]', nullable=False, comment='of the gate of its release; restricted'))
    op.create_check_constraint(op.f('ck_release_state'), 'release', "state IN ('draft', 'published', 'withdrawn')")
    op.execute('UPDATE release SET published_at = created_at')
    op.execute(_APPENDED)
    op.execute(_GUARD)


def downgrade() -> None:
    op.drop_column('job', 'findings')
    op.drop_constraint(op.f('ck_release_state'), 'release')
    op.drop_constraint(op.f('fk_release_base_release_id_release'), 'release', type_='foreignkey')
    op.drop_index('ix_release_readers', table_name='release', postgresql_using='gin')
    op.drop_index('ix_release_family_id', table_name='release')
    op.drop_column('release', 'base_release_id')
    op.drop_column('release', 'allow_repeat')
    op.drop_column('release', 'composed')
    op.drop_column('release', 'composed_after')
    op.drop_column('release', 'family_id')
    op.drop_column('release', 'findings')
    op.drop_column('release', 'public')
    op.drop_column('release', 'readers')
    op.drop_column('release', 'made_by')
    op.drop_column('release', 'withdrawn_because')
    op.drop_column('release', 'withdrawn_at')
    op.drop_column('release', 'published_at')
    op.drop_column('release', 'state')
    op.drop_index('ix_dataset_family_id', table_name='dataset')
    op.drop_column('dataset', 'family_id')
    op.drop_column('dataset', 'same_data_as')
    op.drop_index('ix_publication_family_id', table_name='publication')
    op.drop_table('publication')
    op.drop_index('ix_family_sketch_owner', table_name='family_sketch')
    op.drop_index('ix_family_sketch_family_id', table_name='family_sketch')
    op.drop_table('family_sketch')
    op.drop_index('ix_family_column_owner_fingerprint', table_name='family_column')
    op.drop_table('family_column')
    op.drop_table('log_entry')
    op.drop_table('ledger_file')
    op.drop_index(op.f('ix_family_owner'), table_name='family')
    op.drop_table('family')
    op.execute('DROP FUNCTION log_entry_appended')
