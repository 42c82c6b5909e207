"""A process that is frozen while it holds locks (SIGSTOP, a paused container) holds nobody for long."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import httpx
import numpy as np
import psycopg
import pytest

from app.db.leader import Leadership
from app.db.session import FROZEN_SECONDS, Database
from app.errors import UnavailableError
from app.processes.place import here
from tests.faults.rig import Rig
from tests.methods.asking import ended, succeed, upload
from tests.servers import short_folder, wait_until
from tests.service import Service, serving

#: What a frozen process may hold others up for.
LONGEST = 30.0


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with short_folder() as folder, serving(folder / "data", SUREBOX_HEARTBEAT_TIMEOUT_SECONDS="5") as running:
        yield running


def table(seed: int, rows: int = 400) -> str:
    draw = np.random.default_rng([435, seed])
    pairs = zip(draw.integers(18, 80, rows), draw.integers(5, 60, rows), strict=True)
    return "age,hours\n" + "".join(f"{age},{hours}\n" for age, hours in pairs)


def boxes(dataset_id: str, **more: object) -> dict[str, object]:
    return {
        "method": "boxes",
        "publish": "auto",
        "dataset_id": dataset_id,
        "k": 5,
        "quasi_identifiers": ["age", "hours"],
    } | more


def database_url(service: Service) -> str:
    from app.embedded.folder import DataFolder

    return str(DataFolder(service.folder).running().environment["DATABASE_URL"])


def one(connection: "psycopg.Connection[tuple[object, ...]]", statement: str, *values: object) -> object:
    row = connection.execute(statement, values).fetchone()
    return None if row is None else row[0]


def test_a_worker_frozen_while_it_publishes_holds_its_owner_for_half_a_minute_at_most(service: Service) -> None:
    url = database_url(service)
    with (
        service.client(owner="frozen") as client,
        psycopg.connect(url) as blocking,
        psycopg.connect(url, autocommit=True) as watching,
    ):
        dataset = upload(client, table(1))
        draft = succeed(client, boxes(dataset["id"], k=20, publish="draft"))["release_id"]
        family = client.get(f"/v1/datasets/{dataset['id']}").json()["family_id"]
        blocking.execute("SELECT id FROM family WHERE id = %s FOR UPDATE", [family])
        job = client.post("/v1/anonymizations", json=boxes(dataset["id"], k=7)).json()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
        wait_until(lambda: one(watching, waits, blocking.info.backend_pid))
        worker = int(str(one(watching, "SELECT worker FROM job_attempt WHERE job_id = %s", job["id"])).split(":")[-1])
        os.kill(worker, signal.SIGSTOP)
        try:
            blocking.rollback()
            began = time.monotonic()
            assert upload_is_ready(client, table(2), until=began + LONGEST)
            assert published(client, draft, until=began + LONGEST)
            assert time.monotonic() - began < LONGEST
        finally:
            os.kill(worker, signal.SIGCONT)
        assert ended(client, job)["state"] == "succeeded"
        made = "SELECT count(*) FROM release WHERE job_id = %s"
        assert one(watching, made, job["id"]) == 1
        whole = "SELECT count(*) = count(DISTINCT number) AND count(*) = max(number) FROM publication_entry"
        assert one(watching, f"{whole} WHERE owner = 'frozen'")


def upload_is_ready(client: httpx.Client, body: str, *, until: float) -> bool:
    """Upload as a patient client does, which sends again what was refused with 503."""
    while time.monotonic() < until:
        answer = client.post("/v1/datasets", content=body, headers={"Content-Type": "text/csv", "Prefer": "wait=5"})
        if answer.status_code in {201, 202}:
            break
        time.sleep(0.5)
    else:
        return False
    dataset = answer.json()
    while dataset["state"] == "ingesting" and time.monotonic() < until:
        time.sleep(0.2)
        dataset = client.get(f"/v1/datasets/{dataset['id']}").json()
    return bool(dataset["state"] == "ready")


def published(client: httpx.Client, release_id: str, *, until: float) -> bool:
    while time.monotonic() < until:
        answer = client.post(f"/v1/releases/{release_id}/publish", json={})
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            return answer.status_code in {200, 202}
        time.sleep(0.5)
    return False


def test_a_transaction_that_stands_still_is_ended_and_its_locks_are_free(rig: Rig) -> None:
    job_id = rig.submit()
    lock = "SELECT id FROM job WHERE id = %s FOR UPDATE"
    other = Database(rig.database_url, pool_size=1)
    try:
        with pytest.raises(UnavailableError):
            _hold(rig.database, lock, job_id, meanwhile=lambda: _locked(other, lock, job_id))
    finally:
        other.close()


def _hold(database: Database, statement: str, job_id: str, *, meanwhile: Callable[[], bool]) -> None:
    """Lock a row and do nothing until another has the lock: by then the transaction is no more."""
    with database.unit_of_work() as unit:
        unit.connection.exec_driver_sql(statement, (job_id,))
        began = time.monotonic()
        wait_until(meanwhile, seconds=LONGEST)
        assert FROZEN_SECONDS - 5 < time.monotonic() - began < LONGEST
        unit.connection.exec_driver_sql("SELECT 1")


def _locked(database: Database, statement: str, job_id: str) -> bool:
    try:
        with database.unit_of_work() as unit:
            return unit.connection.exec_driver_sql(statement, (job_id,)).first() is not None
    except UnavailableError:  # the lock was waited for long enough
        return False


def test_another_leads_when_the_leader_is_frozen(rig: Rig) -> None:
    first, second = Leadership(rig.database, idle_seconds=0.5), Leadership(rig.database, idle_seconds=0.5)
    try:
        assert first.hold()
        assert not second.hold()
        wait_until(second.hold, seconds=LONGEST)
        assert not first.hold()
    finally:
        first.release()
        second.release()


def test_a_long_copy_of_the_database_is_not_ended(rig: Rig) -> None:
    with rig.database.snapshot() as connection:
        limit = connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar_one()
    assert limit == "0"
    with rig.database.unit_of_work() as unit:
        shown = unit.connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar_one()
    assert shown == f"{FROZEN_SECONDS:g}s"


def test_the_place_of_a_process_is_that_of_all_threads_and_no_other_container() -> None:
    places: list[str] = []
    thread = threading.Thread(target=lambda: places.append(here()))
    thread.start()
    thread.join()
    assert places == [here()]


def test_without_a_network_all_processes_of_a_container_have_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draws an address of its own then, with the bit of RFC 9562 that no card has."""
    drawn = iter((0x0123_4567_89AB, 0xF123_4567_89AC))
    monkeypatch.setattr("uuid.getnode", lambda: next(drawn))
    assert here() == here()
