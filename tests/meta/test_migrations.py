"""The migrations make exactly the tables the models describe."""

import ast
import json
from pathlib import Path

import psycopg
import pytest
from alembic import command
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


@pytest.mark.parametrize("revision", ["9f3c2a1b7d10", "0030", "1"])
def test_a_database_that_another_program_has_migrated_is_refused_in_one_sentence(
    databases: Databases, revision: str
) -> None:
    url = databases.empty("of_others")
    try:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)")
            connection.execute("INSERT INTO alembic_version VALUES (%s)", (revision,))
            connection.execute("CREATE TABLE job (id integer)")
        with pytest.raises(
            CannotStartError, match=r"no version of Surebox has made: it has no table `\w+`\. Name a data"
        ):
            migrate.upgrade(url)
    finally:
        databases.drop(url)


def test_releases_of_before_the_column_of_parameters_get_them_from_their_provenance(databases: Databases) -> None:
    """Numbers stay as they were written, deleted releases get nothing, and one step back loses nothing else."""
    url, parameters = databases.empty("parameters"), '{"domains": {"income": [0, 1e+300]}, "k": 5}'
    public = {"activity": {"surebox:job_1": {"surebox:parameters": parameters}}}
    made = (
        "INSERT INTO release (id, owner, job_id, dataset_id, method, rows, columns, flags, statistics, deleted_at) "
        "VALUES (%s, 'ann', %s, 'ds_1', 'boxes', 1, '[]', '{}', '[]', %s)"
    )
    document = (
        "INSERT INTO provenance (job_id, owner, requested_at, finished_at, seconds, spec, versions, attempts, public, "
        "restricted) VALUES (%s, 'ann', now(), now(), 1, '{}', '{}', '[]', %s, '{}')"
    )
    read = "SELECT id, parameters::text FROM release ORDER BY id"
    try:
        migrate.upgrade(url, revision="0100")
        with psycopg.connect(url) as connection:
            connection.execute("SET session_replication_role = replica")  # neither jobs nor datasets are needed
            for number, deleted in (("1", None), ("2", "now")):
                connection.execute(made, (f"rel_{number}", f"job_{number}", deleted))
                connection.execute(document, (f"job_{number}", json.dumps(public).replace("job_1", f"job_{number}")))
        migrate.upgrade(url)
        with psycopg.connect(url) as connection:
            assert connection.execute(read).fetchall() == [("rel_1", parameters), ("rel_2", None)]
        command.downgrade(migrate.config(url), "0100")
        migrate.upgrade(url)
        with psycopg.connect(url) as connection:
            assert connection.execute(read).fetchall() == [("rel_1", parameters), ("rel_2", None)]
    finally:
        databases.drop(url)


def test_migrations_only_add() -> None:
    """Processes of before go on with the database of a newer version until they are restarted."""
    paths = sorted(Path(migrate.config("").get_main_option("script_location") or "").glob("versions/*.py"))
    assert paths
    for path in paths:
        upgrade = next(x for x in ast.parse(path.read_text()).body if getattr(x, "name", "") == "upgrade")
        calls = [
            x.func.attr for x in ast.walk(upgrade) if isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute)
        ]
        assert [one for one in calls if one.startswith("drop_")] == [], path.name
