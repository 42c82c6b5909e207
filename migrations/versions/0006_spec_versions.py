"""versions of specifications, and which of them a worker knows"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('job', sa.Column('spec_version', sa.Integer(), server_default='1', nullable=False, comment="of the method's specification: workers that do not know it leave the job to others"))
    op.add_column('worker', sa.Column('knows', postgresql.JSONB(astext_type=sa.Text()), nullable=True, comment='[method, version] pairs it claims; null: one of before, which claims anything'))


def downgrade() -> None:
    op.drop_column('worker', 'knows')
    op.drop_column('job', 'spec_version')
