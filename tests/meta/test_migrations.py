"""The migrations make exactly the tables the models describe."""

import psycopg
import pytest
from alembic import command
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


def test_jobs_from_before_keep_their_datasets(databases: Databases) -> None:
    url = databases.empty()
    dataset = "INSERT INTO dataset (id, owner, name, state, options, bytes, sha256) VALUES "
    insert = "INSERT INTO job (id, owner, kind, method, queue, state, spec, dataset_id, finished_at) VALUES "
    asked = [
        dataset + "('ds_1', 'ada', '', 'ready', '{}', 1, 'x'), ('ds_2', 'ada', '', 'deleted', '{}', 1, 'x')",
        insert + "('job_1', 'ada', 'anonymization', 'boxes', 'batch', 'queued', '{}', 'ds_1', NULL)",
        insert + "('job_2', 'ada', 'ingest', 'ingest', 'interactive', 'succeeded', '{}', 'ds_2', now())",
        insert + "('job_3', 'ada', 'anonymization', 'probe', 'batch', 'failed', '{}', NULL, now())",
    ]
    expected = [("job_1", "dataset_id", "ds_1"), ("job_2", "dataset_id", "ds_2")]
    try:
        command.upgrade(migrate.config(url), "0001")
        with psycopg.connect(url) as connection:
            for statement in asked:
                connection.execute(statement)
        migrate.upgrade(url)
        with psycopg.connect(url) as connection:
            rows = connection.execute("SELECT job_id, role, dataset_id FROM job_input ORDER BY job_id").fetchall()
            draws = connection.execute("SELECT DISTINCT draw FROM job").fetchall()
        assert (rows, draws) == (expected, [(1,)])
        command.downgrade(migrate.config(url), "0001")
        with psycopg.connect(url) as connection:
            rows = connection.execute("SELECT id, dataset_id FROM job ORDER BY id").fetchall()
        assert rows == [("job_1", "ds_1"), ("job_2", "ds_2"), ("job_3", None)]
    finally:
        databases.drop(url)


def test_finished_jobs_from_before_have_the_size_of_their_results(databases: Databases) -> None:
    url = databases.empty()
    insert = "INSERT INTO job (id, owner, kind, method, queue, state, spec, finished_at) VALUES "
    before = [
        insert + "('job_1', 'ada', 'audit', 'table', 'batch', 'succeeded', '{}', now())",
        insert + "('job_2', 'ada', 'audit', 'table', 'batch', 'failed', '{}', now())",
        "INSERT INTO job_result (job_id, body, bytes, sha256) VALUES ('job_1', '\\x7b7d', 2, 'x')",
    ]
    try:
        command.upgrade(migrate.config(url), "0020")
        with psycopg.connect(url) as connection:
            for statement in before:
                connection.execute(statement)
        migrate.upgrade(url)
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT result_bytes FROM job ORDER BY id").fetchall() == [(2,), (None,)]
        with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("UPDATE job SET result_bytes = 3")
    finally:
        databases.drop(url)
