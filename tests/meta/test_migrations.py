"""The migrations make exactly the tables the models describe."""

import pytest
from alembic.util import CommandError

from app.db import migrate
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
