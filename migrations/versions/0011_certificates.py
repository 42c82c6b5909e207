"""certificates of releases, and the public halves of the keys that sign them"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0011'
down_revision = '0010'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('signing_key',
    sa.Column('id', sa.Text(), nullable=False, comment='RFC 7638 thumbprint'),
    sa.Column('jwk', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='the public half'),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('clock_timestamp()'), nullable=False),
    sa.Column('retires_at', sa.DateTime(timezone=True), nullable=True, comment='it signs nothing from then on'),
    sa.Column('revoked_at', sa.DateTime(timezone=True), nullable=True, comment='nothing that it signed is trusted any more'),
    sa.Column('revoked_because', sa.Text(), nullable=True),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_signing_key'))
    )
    op.create_table('certificate',
    sa.Column('release_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('position', sa.BigInteger(), nullable=False, comment="in the owner's chain, from 1; never shown"),
    sa.Column('previous', sa.Text(), nullable=True, comment='sha256 of the payload before it'),
    sa.Column('sha256', sa.Text(), nullable=False, comment='of the payload'),
    sa.Column('envelope', sa.LargeBinary(), nullable=True, comment='DSSE as served; null once the release is deleted'),
    sa.Column('issued_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['release_id'], ['release.id'], name=op.f('fk_certificate_release_id_release')),
    sa.PrimaryKeyConstraint('release_id', name=op.f('pk_certificate')),
    sa.UniqueConstraint('owner', 'position', name=op.f('uq_certificate_owner_position')),
    sa.UniqueConstraint('sha256', name=op.f('uq_certificate_sha256'))
    )


def downgrade() -> None:
    op.drop_table('certificate')
    op.drop_table('signing_key')
