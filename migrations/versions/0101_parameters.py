"""Public parameters of a release, beside its statistics: until now only its provenance had them."""

from alembic import op
import sqlalchemy as sa

revision = '0101'
down_revision = '0100'
branch_labels = None
depends_on = None

_FILL = """
UPDATE release SET parameters = (
    provenance.public #>> ARRAY['activity', 'surebox:' || release.job_id, 'surebox:parameters']
)::json
FROM provenance WHERE provenance.job_id = release.job_id AND release.deleted_at IS NULL
"""


def upgrade() -> None:
    comment = 'what may be published of its specification; null: only its provenance has that'
    op.add_column('release', sa.Column('parameters', sa.JSON(), nullable=True, comment=comment))
    op.execute(_FILL)


def downgrade() -> None:
    op.drop_column('release', 'parameters')
