"""Alembic's environment: one advisory lock, a short lock timeout, one transaction a revision.

The advisory lock makes concurrent starts wait for each other; the lock timeout makes a migration that meets a busy
table fail instead of queueing every other query behind it.
"""

from alembic import context
from sqlalchemy import Connection, create_engine, text

from app.db.tables.all import metadata

_ADVISORY = 7_305_114_211


def run() -> None:
    url = context.config.attributes["database_url"].replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(url)
    try:
        with engine.connect() as guard:
            guard.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _ADVISORY})
            with engine.connect() as connection:
                migrate(connection)
            guard.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _ADVISORY})
    finally:
        engine.dispose()


def migrate(connection: Connection) -> None:
    connection.execute(text("SET lock_timeout = '5s'"))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transaction_per_migration=True,
        compare_type=True,
        compare_server_default=False,
    )
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    raise SystemExit("offline migrations are not supported: run surebox migrate against a database")
run()
