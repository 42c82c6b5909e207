"""jobs that can be erased; specification and result with their keys in order; what an Idempotency-Key made, by its id

All of it is additive: processes of the version before go on reading and writing the columns that they know. What they
write of an answer is reduced to the id of what it was about, and what they read of one holds no more.
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None

# A finished row may lose what is restricted of it, and does not change otherwise.
_TRANSITIONS = """
CREATE OR REPLACE FUNCTION job_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'queued' AND NEW.state IN ('running', 'cancelled', 'failed')
    OR OLD.state = 'running' AND NEW.state IN ('queued', 'succeeded', 'failed', 'cancelled') THEN
        RETURN NEW;
    END IF;
    {erasing}
    RAISE EXCEPTION 'job % must not change from % to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'check_violation';
END $$
"""
_ERASING = """
    IF NEW.state = OLD.state AND NEW.finished_at = OLD.finished_at AND NEW.result_erased_at IS NOT NULL
    AND NEW.result IS NULL AND NEW.result_shown IS NULL AND NEW.warnings::text = '[]' AND NEW.spec <@ OLD.spec THEN
        RETURN NEW;
    END IF;
"""

# `body` and `headers` are what the version before reads and writes; with it this trigger goes, and they go.
_ANSWERS = """
CREATE FUNCTION idempotency_answer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status IS NULL THEN
        NEW.state := 'reserved';
        NEW.resource_id := NULL;
        NEW.body := NULL;
        NEW.headers := NULL;
        RETURN NEW;
    END IF;
    IF NEW.body IS NOT NULL AND NEW.body IS DISTINCT FROM OLD.body THEN
        NEW.resource_id := NEW.body::json ->> 'id';
        NEW.state := CASE WHEN NEW.resource_id LIKE 'ds%' AND NEW.status = 202
            AND NOT coalesce(NEW.headers ? 'Retry-After', false) THEN 'accepted' ELSE 'answered' END;
    ELSE
        NEW.headers := jsonb_build_object('Location',
            CASE WHEN NEW.resource_id LIKE 'ds%' THEN '/v1/datasets/' ELSE '/v1/jobs/' END || NEW.resource_id)
            || CASE WHEN NEW.status = 202 AND NEW.state = 'answered' THEN '{"Retry-After": "2"}'::jsonb ELSE '{}' END;
    END IF;
    NEW.body := json_build_object('id', NEW.resource_id)::text;
    RETURN NEW;
END $$
"""
_ANSWERED = """
CREATE TRIGGER idempotency_answer BEFORE UPDATE ON idempotency FOR EACH ROW EXECUTE FUNCTION idempotency_answer()
"""


def upgrade() -> None:
    op.add_column('job', sa.Column('spec_shown', postgresql.JSON(astext_type=sa.Text()), nullable=True, comment='the specification, keys in the order of the contract'))
    op.add_column('job', sa.Column('result_shown', postgresql.JSON(astext_type=sa.Text()), nullable=True, comment='the summary, keys in the order of the contract'))
    op.add_column('job', sa.Column('result_erased_at', sa.DateTime(timezone=True), nullable=True, comment='when its result was erased'))
    op.add_column('job', sa.Column('erased_at', sa.DateTime(timezone=True), nullable=True, comment='when all that is restricted of it was erased: a tombstone'))
    op.execute(_TRANSITIONS.format(erasing=_ERASING))
    op.add_column('release', sa.Column('name', sa.Text(), server_default='', nullable=False, comment='what the owner calls it'))
    op.add_column('idempotency', sa.Column('state', sa.Text(), server_default='reserved', nullable=False, comment='reserved, accepted (what it made is there), answered'))
    op.add_column('idempotency', sa.Column('resource_id', sa.Text(), nullable=True, comment='the dataset or job it made'))
    op.create_check_constraint(op.f('ck_idempotency_state'), 'idempotency', "state IN ('reserved', 'accepted', 'answered')")
    op.execute(_ANSWERS)
    op.execute(_ANSWERED)
    op.execute("UPDATE idempotency SET body = body || ' ' WHERE status IS NOT NULL")  # the trigger takes the answers out


def downgrade() -> None:
    op.execute('DROP TRIGGER idempotency_answer ON idempotency')
    op.execute('DROP FUNCTION idempotency_answer')
    op.drop_constraint(op.f('ck_idempotency_state'), 'idempotency')
    op.drop_column('idempotency', 'resource_id')
    op.drop_column('idempotency', 'state')
    op.execute(_TRANSITIONS.format(erasing=''))
    op.drop_column('release', 'name')
    op.drop_column('job', 'erased_at')
    op.drop_column('job', 'result_erased_at')
    op.drop_column('job', 'result_shown')
    op.drop_column('job', 'spec_shown')
