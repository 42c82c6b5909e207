"""By what data are recognised: one sketch a dataset, and questions where the evidence does not decide."""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0102'
down_revision = '0101'
branch_labels = None
depends_on = None

# What is there is compared anew when it is used: sketches of before are of other hashes.
_COMPARE_AGAIN = "UPDATE family SET joined = false WHERE confirmed AND NOT apart"


def upgrade() -> None:
    op.create_table('table_sketch',
    sa.Column('dataset_id', sa.Text(), nullable=False, comment='whose rows they are'),
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('sketch', sa.LargeBinary(), nullable=False, comment='keyed hashes, as frames.sketched packs them'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_table_sketch_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('dataset_id', name=op.f('pk_table_sketch'))
    )
    op.create_index('ix_table_sketch_family_id', 'table_sketch', ['family_id'], unique=False)
    op.create_index('ix_table_sketch_owner', 'table_sketch', ['owner'], unique=False)
    op.create_table('person_sketch',
    sa.Column('dataset_id', sa.Text(), nullable=False),
    sa.Column('name', sa.Text(), nullable=False, comment='of the column'),
    sa.Column('family_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('sketch', sa.LargeBinary(), nullable=False, comment='keyed hashes, as frames.sketched packs them'),
    sa.ForeignKeyConstraint(['family_id'], ['family.id'], name=op.f('fk_person_sketch_family_id_family'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('dataset_id', 'name', name=op.f('pk_person_sketch'))
    )
    op.create_index('ix_person_sketch_family_id', 'person_sketch', ['family_id'], unique=False)
    op.create_index('ix_person_sketch_owner', 'person_sketch', ['owner'], unique=False)
    op.create_table('family_question',
    sa.Column('dataset_id', sa.Text(), nullable=False, comment='the lesser of both ids'),
    sa.Column('other_dataset_id', sa.Text(), nullable=False),
    sa.Column('owner', sa.Text(), nullable=False),
    sa.Column('evidence', postgresql.JSONB(astext_type=sa.Text()), nullable=False, comment='columns that agree, the share that does, and what chance gives'),
    sa.Column('people', sa.Text(), nullable=True, comment='same or other; null: not answered'),
    sa.Column('answered_by', sa.Text(), nullable=True, comment='a key; null: the operator, or not answered'),
    sa.Column('answered_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('created_at', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint("people IN ('same', 'other')", name=op.f('ck_family_question_people')),
    sa.PrimaryKeyConstraint('dataset_id', 'other_dataset_id', name=op.f('pk_family_question'))
    )
    op.create_index('ix_family_question_owner', 'family_question', ['owner'], unique=False)
    op.create_index('ix_family_question_other_dataset_id', 'family_question', ['other_dataset_id'], unique=False)
    op.create_index('ix_dataset_owner_sha256', 'dataset', ['owner', 'sha256'], unique=False)
    op.execute(_COMPARE_AGAIN)


def downgrade() -> None:
    op.drop_index('ix_dataset_owner_sha256', table_name='dataset')
    op.drop_table('family_question')
    op.drop_table('person_sketch')
    op.drop_table('table_sketch')
