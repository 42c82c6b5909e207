"""The keeper's word on what is the same data holds whatever is known of the dataset that it names."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from sqlalchemy import insert, select

from app.contracts.base import new_id
from app.db.repositories import families
from app.db.session import Connection
from app.db.tables.datasets import dataset
from tests.releases.conftest import Releases
from tests.releases.test_publishing import draft
from workers.engine.families import Recognised, join_family


def uploaded(connection: Connection, owner: str, same_data_as_dataset_id: str | None = None) -> Recognised:
    made = new_id("ds")
    values = {"id": made, "owner": owner, "name": "d", "state": "ingesting", "options": {"format": "csv"}, "bytes": 1}
    connection.execute(
        insert(dataset).values(**values, sha256="0" * 64, same_data_as_dataset_id=same_data_as_dataset_id)
    )
    return Recognised(made, owner, {made: 50.0}, ())


def test_a_dataset_that_is_named_before_it_is_read_is_of_the_same_family(published: Releases) -> None:
    with published.processes.database.unit_of_work() as unit:
        first = uploaded(unit.connection, published.owner)
        second = uploaded(unit.connection, published.owner, same_data_as_dataset_id=first.dataset_id)
        other = uploaded(unit.connection, published.owner, same_data_as_dataset_id="none")
        joined = join_family(unit.connection, second)
        assert join_family(unit.connection, first) == joined
        assert join_family(unit.connection, other) != joined
        query = select(dataset.c.family_id).where(dataset.c.id.in_([first.dataset_id, second.dataset_id]))
        assert set(unit.connection.execute(query).scalars()) == {joined}
        assert families.alike(unit.connection, owner=published.owner, fingerprints=[first.dataset_id]) == {
            joined: (frozenset({first.dataset_id}), 2)
        }


def test_publishing_and_joining_families_at_once_end_both(published: Releases) -> None:
    """Both hold what the other one needs, if a publication locks its release before it is known who joins what."""
    processes, owner = published.processes, published.owner
    with processes.database.unit_of_work() as unit:
        made = [uploaded(unit.connection, owner) for _ in range(2)]
        named = sorted(join_family(unit.connection, one) for one in made)
        joins = replace(uploaded(unit.connection, owner), fingerprints={one.dataset_id: 50.0 for one in made})
    release_id = draft(published, family_id=named[1], composed_after=0)

    def join() -> str:
        with processes.database.unit_of_work() as unit:
            return join_family(unit.connection, joins)

    def waiting(number: int) -> None:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with processes.database.read() as connection:
                if connection.exec_driver_sql(query).scalar_one() >= number:
                    return
        raise TimeoutError

    with ThreadPoolExecutor(2) as pool:
        with processes.database.unit_of_work() as unit:
            families.lock(unit.connection, family_id=named[1])
            joining = pool.submit(join)
            waiting(1)
            publishing = pool.submit(published.client.post, f"/v1/releases/{release_id}/publish")
            waiting(2)
        assert joining.result(60) == named[0]
        assert publishing.result(60).status_code == 200
    with processes.database.read() as connection:
        assert [one.release_id for one in families.ledger(connection, owner=owner, family_id=named[0])] == [release_id]
