"""series of releases, by the first of each"""

from alembic import op
import sqlalchemy as sa

revision = '0019'
down_revision = '0018'
branch_labels = None
depends_on = None

# Each release follows one other at most, which is older: chains end.
_FOLLOW = """
WITH RECURSIVE chain (id, series_id) AS (
    SELECT id, id FROM release WHERE base_release_id IS NULL AND previous_release_id IS NULL
    UNION ALL
    SELECT later.id, chain.series_id FROM release AS later
    JOIN chain ON chain.id = coalesce(later.previous_release_id, later.base_release_id)
)
UPDATE release SET series_id = chain.series_id FROM chain WHERE chain.id = release.id
"""


def upgrade() -> None:
    op.add_column('release', sa.Column('series_id', sa.Text(), nullable=True, comment='the first release that this one goes on; null: written by the version before'))
    op.execute(_FOLLOW)
    op.create_index('ix_release_series_id', 'release', ['series_id'], unique=False)


def downgrade() -> None:
    op.drop_index('ix_release_series_id', table_name='release')
    op.drop_column('release', 'series_id')
