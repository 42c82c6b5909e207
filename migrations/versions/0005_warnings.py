"""warnings of datasets, jobs and releases"""

from alembic import op
import sqlalchemy as sa

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('dataset', sa.Column('warnings', sa.JSON(), server_default='[]', nullable=False, comment='list of contracts.warnings.Warning'))
    op.add_column('job', sa.Column('warnings', sa.JSON(), server_default='[]', nullable=False, comment='restricted, as the result is'))
    op.add_column('release', sa.Column('warnings', sa.JSON(), server_default='[]', nullable=False, comment='list of contracts.warnings.Warning; public'))


def downgrade() -> None:
    op.drop_column('release', 'warnings')
    op.drop_column('job', 'warnings')
    op.drop_column('dataset', 'warnings')
