"""What owners have decided for all of their keys."""

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.access import owner_setting


def jobs_may_publish(connection: Connection, *, owner: str) -> bool:
    """Whether the owner's jobs publish what they make, for any of its keys; they do not where nothing was said."""
    statement = select(owner_setting.c.jobs_publish).where(owner_setting.c.owner == owner)
    return bool(connection.execute(statement).scalar_one_or_none())


def set_jobs_may_publish(connection: Connection, *, owner: str, value: bool) -> None:
    """State whether they do."""
    statement = insert(owner_setting).values(owner=owner, jobs_publish=value)
    connection.execute(
        statement.on_conflict_do_update(index_elements=[owner_setting.c.owner], set_={"jobs_publish": value})
    )
