"""Digests of stored objects, and indexes by storage key: housekeeping asks which of the stored objects a row names."""

from alembic import op
import sqlalchemy as sa

revision = '0104'
down_revision = '0103'
branch_labels = None
depends_on = None

#: Index, table, columns, condition.
_INDEXES = (
    ('ix_release_file_key', 'release_file', ['key'], None),
    ('ix_release_link_key', 'release_link', ['key'], None),
    ('ix_publication_entry_key', 'publication_entry', ['key'], None),
    ('ix_publication_entry_stale', 'publication_entry', ['owner', 'number'], 'stale'),
    ('ix_ledger_file_key', 'ledger_file', ['key'], None),
    ('ix_ledger_file_persons_key', 'ledger_file', ['persons_key'], 'persons_key IS NOT NULL'),
    ('ix_job_checkpoint_key', 'job_checkpoint', ['key'], None),
    ('ix_job_result_key', 'job_result', ['key'], 'key IS NOT NULL'),
    ('ix_dataset_data_key', 'dataset', ['data_key'], 'data_key IS NOT NULL'),
    ('ix_dataset_staged_key', 'dataset', ['staged_key'], 'staged_key IS NOT NULL'),
)


def upgrade() -> None:
    op.create_table('stored_object',
    sa.Column('key', sa.Text(), nullable=False),
    sa.Column('bytes', sa.BigInteger(), nullable=True, comment='null: not known yet'),
    sa.Column('pieces', sa.LargeBinary(), nullable=True, comment='SHA-256 of each mebibyte; null: not known yet'),
    sa.Column('checked_at', sa.DateTime(timezone=True), nullable=True, comment='when it was last read and as written, or found damaged'),
    sa.Column('damaged_at', sa.DateTime(timezone=True), nullable=True, comment='since when it is not as written'),
    sa.PrimaryKeyConstraint('key', name=op.f('pk_stored_object'))
    )
    op.create_index('ix_stored_object_checked_at', 'stored_object', [sa.literal_column('checked_at NULLS FIRST')], unique=False, postgresql_where=sa.text('damaged_at IS NULL'))
    op.create_index('ix_stored_object_damaged', 'stored_object', ['checked_at'], unique=False, postgresql_where=sa.text('damaged_at IS NOT NULL'))
    for name, table, columns, condition in _INDEXES:
        op.create_index(name, table, columns, unique=False, postgresql_where=None if condition is None else sa.text(condition))


def downgrade() -> None:
    for name, table, _, _ in reversed(_INDEXES):
        op.drop_index(name, table_name=table)
    op.drop_table('stored_object')
