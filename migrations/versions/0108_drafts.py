"""Drafts that no one has requested to be published expire; those of before stay."""

from alembic import op
import sqlalchemy as sa

revision = '0108'
down_revision = '0107'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('release', sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True, comment='of a draft: when it is deleted; null: never'))
    op.create_index('ix_release_expires_at', 'release', ['expires_at'], unique=False, postgresql_where=sa.text('expires_at IS NOT NULL'))


def downgrade() -> None:
    op.drop_index('ix_release_expires_at', table_name='release', postgresql_where=sa.text('expires_at IS NOT NULL'))
    op.drop_column('release', 'expires_at')
