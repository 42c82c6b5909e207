"""events of jobs that ended are removed after a time, and found for that"""

from alembic import op
import sqlalchemy as sa

revision = '0022'
down_revision = '0021'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index('ix_job_event_passing', 'job_event', ['at'], unique=False, postgresql_where=sa.text("state IN ('queued', 'running')"))


def downgrade() -> None:
    op.drop_index('ix_job_event_passing', table_name='job_event', postgresql_where=sa.text("state IN ('queued', 'running')"))
