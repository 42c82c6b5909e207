"""files of a release that are not served"""

from alembic import op
import sqlalchemy as sa

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('release_file', sa.Column('served', sa.Boolean(), server_default=sa.text('true'), nullable=False, comment='false: read by audits only'))


def downgrade() -> None:
    op.drop_column('release_file', 'served')
