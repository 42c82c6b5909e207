"""Secrets of owners' data in the database: the same for the same values, sealed, and sealed anew when asked."""

import pytest
from sqlalchemy import text

from app.db.session import Database
from app.errors import SureboxError
from app.secrets.keep import column_secrets, seal_anew
from app.secrets.seal import Sealer

OLD, NEW = b"o" * 40, b"n" * 40
DIGESTS = [b"a" * 32, b"b" * 32, b"a" * 32]


def test_secrets_are_the_values_own_and_outlive_a_change_of_the_services_secret(database_url: str) -> None:
    database = Database(database_url, pool_size=1)
    try:
        made = column_secrets(database, Sealer(OLD), owner="one", digests=DIGESTS)
        assert made[0] == made[2] != made[1]
        assert [len(each) for each in made] == [32] * 3
        assert column_secrets(database, Sealer(OLD), owner="one", digests=DIGESTS) == made
        assert not set(column_secrets(database, Sealer(OLD), owner="two", digests=DIGESTS)) & set(made)
        with database.read() as connection:
            rows = connection.execute(text("SELECT name, sealed FROM secret")).all()
        assert not any(secret in row.sealed for secret in made for row in rows)
        assert not any(digest.hex() in row.name for digest in DIGESTS for row in rows)

        with pytest.raises(SureboxError, match="SUREBOX_PREVIOUS_SERVER_SECRET"):
            column_secrets(database, Sealer(NEW), owner="one", digests=DIGESTS)
        assert column_secrets(database, Sealer(NEW, OLD), owner="one", digests=DIGESTS) == made
        assert seal_anew(database, Sealer(NEW, OLD)) == len(rows) == 6
        assert seal_anew(database, Sealer(NEW, OLD)) == 0
        assert column_secrets(database, Sealer(NEW), owner="one", digests=DIGESTS) == made
        with database.unit_of_work() as unit:
            unit.connection.execute(text("UPDATE secret SET owner = 'three' WHERE owner = 'two'"))
        with pytest.raises(SureboxError, match="not what was written"):
            column_secrets(database, Sealer(NEW), owner="three", digests=DIGESTS)
    finally:
        database.close()
