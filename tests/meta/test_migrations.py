"""The migrations make exactly the tables the models describe."""

import psycopg
import pytest
from alembic.util import CommandError

from app.db import migrate
from app.errors import CannotStartError
from tests.servers import Databases


def test_models_and_migrations_agree(database_url: str) -> None:
    migrate.check(database_url)


def test_a_difference_is_noticed(databases: Databases) -> None:
    url = databases.empty()
    try:
        with pytest.raises(CommandError):
            migrate.check(url)
    finally:
        databases.drop(url)


def test_a_database_of_before_the_first_release_is_refused_in_one_sentence(databases: Databases) -> None:
    url = databases.empty("of_before")
    try:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)")
            connection.execute("INSERT INTO alembic_version VALUES ('0021')")
        with pytest.raises(CannotStartError, match=r"'of_before' was made by an unreleased version .* upload the data"):
            migrate.upgrade(url)
        with psycopg.connect(url) as connection:
            there = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        assert there == (1,), "nothing was changed"
    finally:
        databases.drop(url)
