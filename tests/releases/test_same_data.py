"""The keeper's word on what is the same data holds whatever is known of the dataset that it names."""

from sqlalchemy import insert, select

from app.contracts.base import new_id
from app.db.models.dataset import dataset
from app.db.repositories import families
from app.db.session import Connection
from tests.releases.conftest import Releases
from workers.engine.families import Recognised, join_family


def uploaded(connection: Connection, owner: str, same_data_as: str | None = None) -> Recognised:
    made = new_id("ds")
    values = {"id": made, "owner": owner, "name": "d", "state": "ingesting", "options": {"format": "csv"}, "bytes": 1}
    connection.execute(insert(dataset).values(**values, sha256="0" * 64, same_data_as=same_data_as))
    return Recognised(made, owner, frozenset({made}), ())


def test_a_dataset_that_is_named_before_it_is_read_is_of_the_same_family(published: Releases) -> None:
    with published.processes.database.unit_of_work() as unit:
        first = uploaded(unit.connection, published.owner)
        second = uploaded(unit.connection, published.owner, same_data_as=first.dataset_id)
        other = uploaded(unit.connection, published.owner, same_data_as="none")
        joined = join_family(unit.connection, second)
        assert join_family(unit.connection, first) == joined
        assert join_family(unit.connection, other) != joined
        found = select(dataset.c.family_id).where(dataset.c.id.in_([first.dataset_id, second.dataset_id]))
        assert set(unit.connection.execute(found).scalars()) == {joined}
        assert families.alike(unit.connection, owner=published.owner, fingerprints=[first.dataset_id]) == {
            joined: (1, 2)
        }
