"""new versions of data: of which dataset one is a version, and whose boxes a release has"""

from alembic import op
import sqlalchemy as sa

revision = '0012'
down_revision = '0011'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('dataset', sa.Column('version_of', sa.Text(), nullable=True, comment='id of the dataset that it is a new version of'))
    op.add_column('release', sa.Column('previous_release_id', sa.Text(), nullable=True, comment='of a new version: whose boxes it has'))
    op.create_foreign_key(op.f('fk_release_previous_release_id_release'), 'release', 'release', ['previous_release_id'], ['id'])
    op.add_column('publication', sa.Column('previous_release_id', sa.Text(), nullable=True, comment='of a new version: whose boxes it has'))


def downgrade() -> None:
    op.drop_column('publication', 'previous_release_id')
    op.drop_constraint(op.f('fk_release_previous_release_id_release'), 'release', type_='foreignkey')
    op.drop_column('release', 'previous_release_id')
    op.drop_column('dataset', 'version_of')
