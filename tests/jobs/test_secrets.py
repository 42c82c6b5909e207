"""Secrets of owners' data in the database: the same for the same values, sealed, and sealed anew when asked."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from app.db.repositories import families, recognition, secrets
from app.db.session import Database
from app.errors import ConflictError, SureboxError
from app.secrets.keep import column_secrets, open_sketch, seal_anew, seal_sketch
from app.secrets.seal import Sealer

OLD, NEW = b"o" * 40, b"n" * 40
DIGESTS = [b"a" * 32, b"b" * 32, b"a" * 32]


def kept(database: Database, sealer: Sealer, owner: str) -> list[bytes]:
    """Secrets of the columns of an owner's one family."""
    with database.unit_of_work() as unit:
        known = families.of_owner(unit.connection, owner=owner, limit=1)
        family_id = known[0] if known else families.create(unit.connection, owner=owner)
    return column_secrets(database, sealer, owner=owner, family_id=family_id, digests=DIGESTS)


def test_secrets_of_columns_are_a_familys_own_and_go_with_it(database_url: str) -> None:
    """The same column has another secret in another family; families that become one keep what the first has."""
    database, sealer = Database(database_url, pool_size=1), Sealer(OLD)
    try:
        with database.unit_of_work() as unit:
            first, second = (families.create(unit.connection, owner="one") for _ in range(2))

        def of(family_id: str, digests: list[bytes]) -> list[bytes]:
            return column_secrets(database, sealer, owner="one", family_id=family_id, digests=digests)

        mine, theirs = of(first, DIGESTS), of(second, [*DIGESTS, b"c" * 32])
        assert not set(mine) & set(theirs)
        with database.unit_of_work() as unit:
            families.merge(unit.connection, family_id=first, others=[second])
        assert of(first, [*DIGESTS, b"c" * 32]) == [*mine, theirs[-1]]
        with pytest.raises(ConflictError):
            of(second, DIGESTS)
        with database.unit_of_work() as unit:
            families.erase(unit.connection, owner="one", family_id=first)
        with database.read() as connection:
            left = connection.execute(text("SELECT name FROM secret WHERE name LIKE 'column:%'")).all()
        assert left == []
    finally:
        database.close()


def test_families_of_before_keep_the_secrets_of_their_owner(database_url: str) -> None:
    database, sealer = Database(database_url, pool_size=1), Sealer(OLD)
    try:
        with database.unit_of_work() as unit:
            older, newer = (families.create(unit.connection, owner="one") for _ in range(2))
        made = column_secrets(database, sealer, owner="one", family_id=older, digests=DIGESTS[:1])
        with database.read() as connection:
            fingerprint = connection.execute(
                text("SELECT fingerprint FROM secret WHERE family_id IS NOT NULL")
            ).scalar()
        before = b"before families had secrets" + b"." * 5
        sealed = sealer.seal(before, owner="one", name=f"column:{fingerprint}")
        with database.unit_of_work() as unit:
            unit.connection.execute(text("DELETE FROM secret WHERE family_id IS NOT NULL"))
            unit.connection.execute(text("UPDATE family SET older_secrets = true WHERE id = :id"), {"id": older})
            secrets.insert_missing(unit.connection, owner="one", made={f"column:{fingerprint}": sealed})
        assert column_secrets(database, sealer, owner="one", family_id=older, digests=DIGESTS[:1]) == [before]
        other = column_secrets(database, sealer, owner="one", family_id=newer, digests=DIGESTS[:1])
        assert before != other[0] != made[0]
    finally:
        database.close()


def test_secrets_are_the_values_own_and_outlive_a_change_of_the_services_secret(database_url: str) -> None:
    database = Database(database_url, pool_size=1)
    try:
        made = kept(database, Sealer(OLD), "one")
        assert made[0] == made[2] != made[1]
        assert [len(each) for each in made] == [32] * 3
        assert kept(database, Sealer(OLD), "one") == made
        assert not set(kept(database, Sealer(OLD), "two")) & set(made)
        with database.read() as connection:
            rows = connection.execute(text("SELECT name, sealed FROM secret")).all()
        assert not any(secret in row.sealed for secret in made for row in rows)
        assert not any(digest.hex() in row.name for digest in DIGESTS for row in rows)

        with pytest.raises(SureboxError, match="SUREBOX_PREVIOUS_SERVER_SECRET"):
            kept(database, Sealer(NEW), "one")
        assert kept(database, Sealer(NEW, OLD), "one") == made
        assert seal_anew(database, Sealer(NEW, OLD)) == len(rows) == 6
        assert seal_anew(database, Sealer(NEW, OLD)) == 0
        assert kept(database, Sealer(NEW), "one") == made
        with database.unit_of_work() as unit:
            for table in ("secret", "family"):
                unit.connection.execute(text(f"UPDATE {table} SET owner = 'three' WHERE owner = 'two'"))
        with pytest.raises(SureboxError, match="not as written"):
            kept(database, Sealer(NEW), "three")
    finally:
        database.close()


def test_sketches_are_sealed_anew_with_the_services_secret_those_of_before_too(database_url: str) -> None:
    """Of two owners: of tables, of persons that a column counts, and of persons; one is not sealed at all."""
    database = Database(database_url, pool_size=1)
    try:
        with database.unit_of_work() as unit:
            for owner in ("one", "two"):
                family_id = families.create(unit.connection, owner=owner)
                for at in range(3):
                    named = {"owner": owner, "dataset_id": f"ds_{owner}_{at}"}
                    sealed = seal_sketch(Sealer(OLD), b"a table", **named)
                    recognition.remember(unit.connection, family_id=family_id, sealed=sealed, **named)
                    sealed = seal_sketch(Sealer(OLD), b"counted", **named, counted_by="n")
                    recognition.remember(
                        unit.connection, family_id=family_id, sealed=sealed, counted_by="n", **named
                    )  # fmt: skip
                    sealed = seal_sketch(Sealer(OLD), b"persons", **named, name="id")
                    recognition.remember_persons(
                        unit.connection, family_id=family_id, name="id", sealed=sealed, **named
                    )  # fmt: skip
            unit.connection.execute(
                text("UPDATE table_sketch SET sealed_under = NULL, sketch = 'bare' WHERE dataset_id = 'ds_one_0'")
            )
            assert recognition.has_unsealed(unit.connection)
        assert seal_anew(database, Sealer(NEW, OLD)) == 18
        assert seal_anew(database, Sealer(NEW, OLD)) == 0
        with database.read() as connection:
            assert not recognition.has_unsealed(connection)
            tables = list(recognition.tables(connection, owner="one", dataset_ids=[f"ds_one_{at}" for at in range(3)]))
            persons = recognition.persons(connection, owner="two", besides="")
        assert [(one.dataset_id, one.counted_by) for one in tables[3:]] == [(f"ds_one_{at}", "n") for at in range(3)]
        opened = [open_sketch(Sealer(NEW), one, owner="one") for one in tables]
        assert opened == [b"bare", b"a table", b"a table", *[b"counted"] * 3]
        assert [open_sketch(Sealer(NEW), one, owner="two") for one in persons] == [b"persons"] * 3
        for moved, owner in ((tables[1], "two"), (replace(tables[1], dataset_id="ds_one_2"), "one")):
            with pytest.raises(SureboxError, match="not as written"):
                open_sketch(Sealer(NEW), moved, owner=owner)
    finally:
        database.close()
